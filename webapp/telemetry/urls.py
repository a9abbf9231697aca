from django.urls import path

from webapp.telemetry import views

app_name = "telemetry"
urlpatterns = [
    path("calls/", views.calls, name="calls"),
    path("calls/open/", views.open_id, name="open"),
    path("calls/<str:call_id>/", views.call_detail, name="call-detail"),
    path("traces/<str:trace_id>/", views.trace, name="trace"),
]
