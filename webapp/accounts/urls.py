from django.urls import path

from webapp.accounts import views

app_name = "accounts"
urlpatterns = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("p/<slug:slug>/settings/", views.settings_page, name="settings"),
    path("p/<slug:slug>/settings/organisation/", views.save_organisation, name="organisation"),
    path("p/<slug:slug>/settings/project/", views.save_project, name="project"),
    path("p/<slug:slug>/settings/members/", views.add_member, name="add-member"),
    path("p/<slug:slug>/settings/members/<int:member_id>/", views.change_member, name="member"),
    path("p/<slug:slug>/settings/keys/", views.create_key, name="create-key"),
    path("p/<slug:slug>/settings/keys/<int:key_id>/revoke/", views.delete_key, name="revoke-key"),
    path("p/<slug:slug>/settings/password/", views.change_password, name="password"),
]
