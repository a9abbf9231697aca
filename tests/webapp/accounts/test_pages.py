"""Signing in, and who may change what under Settings."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.conftest import PASSWORD
from webapp.accounts import throttle
from webapp.accounts.keys import key_for_token
from webapp.accounts.models import ApiKey, AuditEntry, Member, User


@pytest.fixture(autouse=True)
def _no_failures_before():
    throttle._broker().flushdb()


def page(project, name="settings", *args):
    return reverse(f"accounts:{name}", args=[project.slug, *args])


def sign_in(client, username, password, **rest):
    return client.post("/sign-in/", {"username": username, "password": password, **rest})


def test_right_password_signs_in_and_goes_where_it_was_wanted(owner):
    client = Client()
    answer = sign_in(client, "owner", PASSWORD, next="/p/search/costs/")
    assert (answer.status_code, answer["Location"]) == (302, "/p/search/costs/")
    assert client.post("/sign-out/")["Location"] == "/sign-in/"
    assert client.get("/")["Location"] == "/sign-in/?next=/"


def test_wrong_password_says_nothing_of_which_part_was_wrong(owner):
    known = sign_in(Client(), "owner", "wrong")
    unknown = sign_in(Client(), "nobody", "wrong")
    assert known.status_code == unknown.status_code == 400
    assert b"do not belong together" in known.content
    assert b"do not belong together" in unknown.content


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:x"])
def test_sign_in_never_leads_to_another_site(owner, target):
    assert sign_in(Client(), "owner", PASSWORD, next=target)["Location"] == "/"


def test_guessing_is_paused_even_with_the_right_password(owner):
    for _ in range(throttle.MOST_FAILURES):
        sign_in(Client(), "owner", "wrong")
    answer = sign_in(Client(), "owner", PASSWORD)
    assert answer.status_code == 400
    assert b"five minutes" in answer.content


def test_sign_out_needs_a_post(owner_client):
    assert owner_client.get("/sign-out/").status_code == 405


def test_stranger_does_not_find_it_viewer_reads_owner_changes(
    project, stranger_client, viewer_client, owner_client
):
    url, save = page(project), page(project, "project")
    assert stranger_client.get(url).status_code == 404
    assert stranger_client.post(save).status_code == 404
    seen = viewer_client.get(url)
    assert seen.status_code == 200
    assert b"Save project" not in seen.content
    assert viewer_client.post(save, {"name": "x"}).status_code == 403
    assert owner_client.post(save, {"name": "New name"}).status_code == 302
    project.refresh_from_db()
    assert project.name == "New name"


def test_time_zone_must_be_one(project, owner_client):
    bad = owner_client.post(
        page(project, "organisation"), {"name": "A", "timezone": "Mars/Base", "currency": "USD"}
    )
    assert bad.status_code == 400
    assert b"is no time zone" in bad.content
    good = {"name": "A", "timezone": "Asia/Kolkata", "currency": "usd"}
    assert owner_client.post(page(project, "organisation"), good).status_code == 302
    project.organisation.refresh_from_db()
    assert (project.organisation.timezone, project.organisation.currency) == (
        "Asia/Kolkata",
        "USD",
    )


def test_key_is_shown_once_works_and_can_be_revoked(project, owner_client):
    answer = owner_client.post(
        page(project, "create-key"), {"name": "ci", "scopes": ["read", "ingest"]}
    )
    key, secret = answer.context["issued"]
    assert secret.encode() in answer.content
    assert secret.encode() not in owner_client.get(page(project)).content
    assert key_for_token(secret, ApiKey.Scope.READ) == key
    owner_client.post(page(project, "revoke-key", key.pk))
    assert key_for_token(secret, ApiKey.Scope.READ) is None
    actions = AuditEntry.objects.values_list("action", flat=True)
    assert set(actions) == {"key.issued", "key.revoked"}


def test_key_without_scope_is_refused(project, owner_client):
    assert owner_client.post(page(project, "create-key"), {"name": "x"}).status_code == 400
    assert not ApiKey.objects.exists()


def test_members_are_added_changed_and_removed(project, owner_client, stranger):
    add = page(project, "add-member")
    assert owner_client.post(add, {"username": "new", "role": "viewer"}).status_code == 400
    owner_client.post(add, {"username": "new", "role": "viewer", "password": "long and odd 7"})
    owner_client.post(add, {"username": "stranger", "role": "engineer"})
    assert User.objects.get(username="new").check_password("long and odd 7")
    member = Member.objects.get(project=project, user=stranger)
    assert member.role == "engineer"
    owner_client.post(page(project, "member", member.pk), {"role": "finops"})
    member.refresh_from_db()
    assert member.role == "finops"
    owner_client.post(page(project, "member", member.pk), {"role": "remove"})
    assert not Member.objects.filter(project=project, user=stranger).exists()


@pytest.mark.parametrize("role", ["viewer", "remove"])
def test_last_administrator_stays_one(project, owner, owner_client, role):
    member = Member.objects.get(project=project, user=owner)
    answer = owner_client.post(page(project, "member", member.pk), {"role": role}, follow=True)
    assert b"needs an administrator" in answer.content
    member.refresh_from_db()
    assert member.role == Member.Role.ADMIN


def test_password_needs_the_one_before(project, viewer, viewer_client):
    url = page(project, "password")
    assert viewer_client.post(url, {"current": "x", "new": "long and odd 7"}).status_code == 400
    assert viewer_client.post(url, {"current": PASSWORD, "new": "12345678"}).status_code == 400
    assert (
        viewer_client.post(url, {"current": PASSWORD, "new": "long and odd 7"}).status_code == 302
    )
    viewer.refresh_from_db()
    assert viewer.check_password("long and odd 7")
    assert viewer_client.get(page(project)).status_code == 200
