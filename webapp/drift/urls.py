from django.urls import path

from webapp.drift import views

app_name = "drift"
urlpatterns = [path("drift/", views.overview, name="overview")]
