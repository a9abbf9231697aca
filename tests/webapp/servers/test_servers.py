"""The inventory on pages and over the API."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from tests.webapp.ingest.sending import post, send, span
from webapp.accounts.keys import issue_key
from webapp.accounts.models import AuditEntry
from webapp.servers.models import Server, ServerRate
from webapp.servers.pricing import BadPrice, price_at, set_price

GIVEN = {"kind": "vllm", "hardware_count": "1"}


def page(project, name="list", *args):
    return reverse(f"servers:{name}", args=[project.slug, *args])


def api(secret, method="get", path="servers", body=None):
    call = getattr(Client(), method)
    rest = {} if body is None else {"data": body, "content_type": "application/json"}
    return call(f"/api/v1/{path}", headers={"Authorization": f"Bearer {secret}"}, **rest)


def test_stranger_viewer_engineer_and_finops(
    project, server, stranger_client, viewer_client, engineer_client, finops_client
):
    for url in (page(project), page(project, "detail", server.name)):
        assert stranger_client.get(url).status_code == 404
        assert viewer_client.get(url).status_code == 200
    add, price = page(project, "add"), page(project, "price", server.name)
    assert stranger_client.post(add, GIVEN).status_code == 404
    assert viewer_client.post(add, GIVEN).status_code == 403
    assert engineer_client.post(add, {**GIVEN, "name": "gpu-1"}).status_code == 302
    given = {"price_per_hour": "1.86", "currency": "USD", "valid_from": "2026-11-01T00:00"}
    assert engineer_client.post(price, given).status_code == 403
    assert finops_client.post(price, given).status_code == 302
    assert server.rates.get().price_per_hour == Decimal("1.86")


def test_list_tells_what_each_server_sends(project, server, server_key, viewer_client):
    send(server_key, [span(), span()])
    Server.objects.create(project=project, name="silent", kind="tgi")
    content = viewer_client.get(page(project)).content.decode()
    assert "every token" in content
    assert "nothing" in content


def test_empty_inventory_says_so(project, viewer_client):
    assert b"No server is registered" in viewer_client.get(page(project)).content


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": "engine"}, "already exists"),
        ({"name": "not a slug"}, "slug"),
        ({"name": "x", "kind": "mainframe"}, "kind"),
        ({"name": "x", "base_url": "file:///etc/passwd"}, "http://"),
        ({"name": "x", "base_url": "ftp://h/"}, "http"),
    ],
)
def test_wrong_server_is_refused_the_same_on_page_and_api(
    project, server, engineer_client, api_key, values, said
):
    given = {"kind": "vllm", **values}
    answer = api(api_key, "post", body=given)
    assert answer.status_code == 422
    assert said.lower() in answer.json()["detail"].lower()
    assert engineer_client.post(page(project, "add"), {**GIVEN, **values}).status_code == 400
    assert Server.objects.count() == 1


def test_replaced_key_is_refused_at_once(project, server, server_key, owner_client):
    answer = owner_client.post(page(project, "key", server.name))
    secret = answer.context["secret"]
    assert send(secret, [span()]).status_code == 200
    assert send(server_key, [span()]).status_code == 401


def test_archived_server_keeps_its_calls_and_loses_its_key(
    project, server, server_key, owner_client
):
    send(server_key, [span()])
    owner_client.post(page(project, "archive", server.name))
    assert post(server_key, b"").status_code == 401
    assert b"Archived (1)" in owner_client.get(page(project)).content
    assert owner_client.post(page(project, "change", server.name), GIVEN).status_code == 404


def test_prices_follow_each_other_without_gap_or_overlap(server):
    start = now() - timedelta(days=10)
    set_price(server, "me", Decimal(1), start)
    set_price(server, "me", Decimal(2), start + timedelta(days=5))
    set_price(server, "me", Decimal(3), start + timedelta(days=3))
    found = [
        (rate.price_per_hour, rate.valid_to)
        for rate in ServerRate.objects.filter(server=server).order_by("valid_from")
    ]
    assert found == [(Decimal(1), start + timedelta(days=3)), (Decimal(3), None)]
    assert price_at(server, start + timedelta(days=3)).price_per_hour == 3
    assert price_at(server, start - timedelta(seconds=1)) is None
    assert AuditEntry.objects.filter(action="server.price_set").count() == 3
    with pytest.raises(BadPrice, match="at least 0"):
        set_price(server, "me", Decimal(-1), start)


def test_api_lists_adds_and_changes(project, server, api_key):
    added = api(
        api_key,
        "post",
        body={"name": "gpu-1", "kind": "vllm", "base_url": "http://h:8000", "price_per_hour": 2.5},
    )
    assert added.status_code == 201
    assert added.json()["price_per_hour"] == "2.5"
    changed = api(api_key, "patch", "servers/gpu-1", {"location": "Paris"})
    assert changed.json()["location"] == "Paris"
    names = [item["name"] for item in api(api_key).json()["items"]]
    assert names == ["engine", "gpu-1"]
    assert api(api_key, "patch", "servers/none", {"model": "m"}).status_code == 404
    assert api(api_key, "patch", "servers/gpu-1", {"colour": "red"}).status_code == 422


def test_api_needs_the_right_key(project, server, ingest_key, stranger):
    assert api("nothing").status_code == 401
    assert api(ingest_key).status_code == 403
    _, reader = issue_key(project, "reader", ["read"])
    assert api(reader).status_code == 200
    assert api(reader, "post", body={"name": "x", "kind": "vllm"}).status_code == 403
    other = stranger.memberships.get().project
    _, theirs = issue_key(other, "theirs", ["read", "write"])
    assert api(theirs).json()["items"] == []
    assert api(theirs, "patch", f"servers/{server.name}", {"model": "m"}).status_code == 404
