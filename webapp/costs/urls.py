from django.urls import path

from webapp.costs import views

app_name = "costs"
urlpatterns = [
    path("costs/", views.overview, name="overview"),
    path("costs/prices/", views.add_price, name="add-price"),
    path("costs/prices/<int:price_id>/remove/", views.remove_price, name="remove-price"),
]
