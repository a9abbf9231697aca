from django.urls import path

from webapp.servers import views

app_name = "servers"
urlpatterns = [
    path("servers/", views.servers, name="list"),
    path("servers/add/", views.add_server, name="add"),
    path("servers/<slug:name>/", views.server_detail, name="detail"),
    path("servers/<slug:name>/change/", views.change_server, name="change"),
    path("servers/<slug:name>/price/", views.price_server, name="price"),
    path("servers/<slug:name>/key/", views.issue_server_key, name="key"),
    path("servers/<slug:name>/archive/", views.archive_server, name="archive"),
]
