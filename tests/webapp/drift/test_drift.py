"""The drift page and its API over recorded calls."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from collectors.timeline import pack_timeline
from tests.webapp.ingest.sending import send, span

NOW = datetime(2026, 11, 12, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def calls(start, count, *, ttft_us=100_000, seed=1, **given):
    generator = np.random.default_rng(seed)
    records = []
    for place in range(count):
        first = int(ttft_us * generator.lognormal(0, 0.3))
        gaps = [first + 20_000 * n for n in range(4)]
        records.append(
            span(
                started_at=start + HOUR * place / count,
                ttft_us=first,
                duration_us=gaps[-1] + 1000,
                token_timeline=pack_timeline([(at, 1) for at in gaps]),
                **given,
            )
        )
    return records


@pytest.fixture
def slower(server_key):
    """gpt-4o waits 50 % longer for its first token since noon; gpt-4o-mini is as it was."""
    for model, factor in (("gpt-4o", 1.5), ("gpt-4o-mini", 1.0)):
        send(server_key, calls(NOW - HOUR, 120, request_model=model))
        after = calls(NOW, 120, request_model=model, ttft_us=int(100_000 * factor), seed=2)
        assert send(server_key, after).status_code == 200


def asked(key, **query):
    given = {"from": NOW.isoformat(), "to": (NOW + HOUR).isoformat()} | query
    return Client().get("/api/v1/drift", given, headers={"Authorization": f"Bearer {key}"})


def test_slower_model_is_found_and_only_that(slower, api_key):
    answer = asked(api_key).json()
    assert answer["reference"]["end"] == answer["current"]["start"]
    changed = [one for one in answer["findings"] if one["state"] == "changed"]
    assert [(one["server"], one["model"], one["metric"]) for one in changed] == [
        ("engine", "gpt-4o", "ttft_s")
    ]
    median = next(one for one in changed[0]["changes"] if one["effect"] == "p50")
    assert median["change"] == pytest.approx(0.5, abs=0.15)
    assert median["reference"] == pytest.approx(0.1, rel=0.1)
    assert median["p_adjusted"] <= answer["alpha"]
    assert {one["metric"] for one in answer["findings"]} >= {"ttft_s", "itl_s", "output_tokens"}


def test_reference_can_be_given(slower, api_key):
    answer = asked(api_key, ref_from=NOW.isoformat(), ref_to=(NOW + HOUR).isoformat()).json()
    assert all(one["state"] != "changed" for one in answer["findings"])


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"ref_from": "2026-11-12T00:00:00"}, "offset"),
        ({"ref_from": "2026-11-12T05:00:00Z", "ref_to": "2026-11-12T04:00:00Z"}, "before"),
        ({"ref_from": "2020-01-01T00:00:00Z"}, "400 days"),
    ],
)
def test_reference_that_makes_no_sense_is_refused(api_key, query, said):
    answer = asked(api_key, **query)
    assert answer.status_code == 422
    assert said in answer.json()["detail"]


def page(project, **query):
    given = {"from": NOW.isoformat(), "to": (NOW + HOUR).isoformat()} | query
    return reverse("drift:overview", args=[project.slug]), given


def test_page_says_what_changed(project, slower, viewer_client):
    content = viewer_client.get(*page(project)).content.decode()
    assert "higher" in content
    assert "1 changed" in content
    assert "TTFT of gpt-4o on engine" in content


def test_page_draws_the_chosen_metric(project, slower, viewer_client):
    url, query = page(project, at_server="engine", at_model="gpt-4o-mini", metric="itl_s")
    assert "ITL of gpt-4o-mini on engine" in viewer_client.get(url, query).content.decode()


def test_page_without_calls_says_so(project, viewer_client):
    assert "No call has arrived yet" in viewer_client.get(*page(project)).content.decode()


def test_page_with_too_few_says_how_many_it_needs(project, server_key, viewer_client):
    send(server_key, calls(NOW, 5))
    content = viewer_client.get(*page(project)).content.decode()
    assert "Too few calls to compare yet" in content


def test_week_before_and_wrong_reference(project, slower, viewer_client):
    url, query = page(project, reference="week")
    assert "too few calls" in viewer_client.get(url, query).content.decode()
    url, query = page(project, reference="moon")
    assert viewer_client.get(url, query).status_code == 400


def test_stranger_gets_404_and_anonymous_the_sign_in(project, slower, stranger_client):
    url, query = page(project)
    assert stranger_client.get(url, query).status_code == 404
    assert Client().get(url, query).status_code == 302
    assert Client().get("/api/v1/drift").status_code == 401
