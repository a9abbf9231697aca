from django.urls import path
from django.views.generic import RedirectView

from webapp.ui import pages, views

app_name = "ui"
urlpatterns = [
    path("", views.home, name="home"),
    path("theme/", views.theme, name="theme"),
    path("p/<slug:slug>/", RedirectView.as_view(pattern_name="ui:overview"), name="project"),
    path("p/<slug:slug>/overview/", pages.overview, name="overview"),
    path("p/<slug:slug>/latency/", pages.latency, name="latency"),
]
