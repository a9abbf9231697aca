from django.apps import AppConfig


class DriftConfig(AppConfig):
    name = "webapp.drift"
    label = "drift"
