from django.urls import path

from webapp.whatif import views

app_name = "whatif"
urlpatterns = [
    path("what-if/", views.runs, name="list"),
    path("what-if/start/", views.start, name="start"),
    path("what-if/<int:run_id>/", views.run, name="run"),
    path("what-if/<int:run_id>/cancel/", views.cancel, name="cancel"),
]
