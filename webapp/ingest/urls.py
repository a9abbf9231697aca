from django.urls import path

from webapp.ingest import views

app_name = "ingest"
urlpatterns = [
    path("traces", views.traces, name="traces"),
    path("metrics", views.metrics, name="metrics"),
    path("logs", views.logs, name="logs"),
]
