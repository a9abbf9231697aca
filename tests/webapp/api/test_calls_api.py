"""Calls, traces and summaries over REST."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils.timezone import now

from tests.webapp.ingest.sending import send, span
from webapp.accounts.keys import issue_key


def get(secret, path, **query):
    return Client().get(f"/api/v1/{path}", query, headers={"Authorization": f"Bearer {secret}"})


def test_call_is_answered_with_every_token(project, ingest_key, api_key):
    one = span()
    send(ingest_key, [one])
    found = get(api_key, f"calls/{one.trace_id}-{one.span_id}").json()
    assert found["token_timeline"] == [[100_000, 1], [120_000, 1], [140_000, 1], [160_000, 1]]
    assert (found["cost_usd"], found["cost_state"]) == ("0.00009", "priced")
    assert (found["input_tokens"], found["ttft_us"]) == (20, 100_000)


def test_pages_of_calls_hold_each_once(project, ingest_key, api_key):
    send(ingest_key, [span() for _ in range(7)])
    first = get(api_key, "calls", limit=4).json()
    rest = get(api_key, "calls", limit=4, cursor=first["next_cursor"]).json()
    ids = [item["id"] for item in first["items"] + rest["items"]]
    assert len(set(ids)) == len(ids) == 7
    assert rest["next_cursor"] is None


def test_summary_has_sums_and_percentiles(project, ingest_key, api_key):
    send(ingest_key, [span(team=team) for team in ("a", "b", "b")])
    (row,) = get(api_key, "summary").json()["rows"]
    assert (row["calls"], row["output_tokens"], row["cost_usd"]) == (3, 12, "0.00027")
    assert row["p50"]["ttft_s"] == pytest.approx(0.1, rel=0.01)
    assert row["p99.9"]["cost_usd"] == pytest.approx(0.00009, rel=0.01)
    assert row["itl_s"]["count"] == 9
    rows = get(api_key, "summary", group_by="team", bucket="hour").json()["rows"]
    assert {row["key"]: row["calls"] for row in rows} == {"a": 1, "b": 2}


def test_trace_is_answered_whole(project, ingest_key, api_key):
    outer = span(kind="agent")
    inner = span(trace_id=outer.trace_id, parent_span_id=outer.span_id)
    send(ingest_key, [outer, inner])
    found = get(api_key, f"traces/{outer.trace_id}").json()
    assert {one["span_id"] for one in found["spans"]} == {outer.span_id, inner.span_id}


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("calls", {"limit": 0}, 422),
        ("calls", {"sort": "colour"}, 422),
        ("calls", {"cursor": "x"}, 422),
        ("calls", {"from": "yesterday"}, 422),
        ("calls", {"from": "2026-11-30T00:00"}, 422),
        ("summary", {"from": "2026-11-30T00:00Z", "to": "2026-11-29T00:00Z"}, 422),
        ("summary", {"tz": "Mars/Base"}, 422),
        ("summary", {"group_by": "colour"}, 422),
        ("calls/none", {}, 404),
        ("traces/none", {}, 404),
    ],
)
def test_bad_question_is_answered_in_words(project, api_key, path, query, status):
    answer = get(api_key, path, **query)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["detail"]


def test_range_is_half_open(project, ingest_key, api_key):
    at = now().replace(microsecond=0) - timedelta(minutes=30)
    send(ingest_key, [span(started_at=at), span(started_at=at + timedelta(minutes=1))])
    window = {"from": at.isoformat(), "to": (at + timedelta(minutes=1)).isoformat()}
    assert len(get(api_key, "calls", **window).json()["items"]) == 1
    assert get(api_key, "summary", **window).json()["rows"][0]["calls"] == 1


def test_other_projects_see_nothing(project, ingest_key, stranger):
    one = span()
    send(ingest_key, [one])
    _, secret = issue_key(stranger.memberships.get().project, "k", ["read"])
    assert get(secret, "calls").json()["items"] == []
    assert get(secret, f"calls/{one.trace_id}-{one.span_id}").status_code == 404
    assert get(secret, f"traces/{one.trace_id}").status_code == 404


def test_signed_in_person_may_read_the_own_project_only(project, viewer_client, stranger_client):
    assert viewer_client.get("/api/v1/calls", {"project": project.slug}).status_code == 200
    assert stranger_client.get("/api/v1/calls", {"project": project.slug}).status_code == 404
    assert viewer_client.get("/api/v1/calls").status_code == 401


def test_openapi_describes_every_route():
    found = Client().get("/api/v1/openapi.json").json()
    assert {"/api/v1/calls", "/api/v1/summary", "/api/v1/servers"} <= found["paths"].keys()
