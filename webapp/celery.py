"""The Celery application. Beat's schedule is in settings."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

app = Celery("inferometer")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
