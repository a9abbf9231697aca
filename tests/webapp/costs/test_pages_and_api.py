"""The costs page, prices of one's own, and money over the API."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from tests.webapp.ingest.sending import send, span
from webapp.accounts.models import AuditEntry
from webapp.costs.models import CustomPrice
from webapp.costs.repricing import reprice_calls
from webapp.telemetry.models import Span
from webapp.telemetry.queries import Scope, summarise

LLAMA = {"request_model": "our-llama", "provider": "together", "input_tokens": 1_000_000}


def page(project, name="overview", *args):
    return reverse(f"costs:{name}", args=[project.slug, *args])


def given(**changes):
    since = (now() - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M")
    return {"model": "our-llama", "input_per_million": "0.20", "valid_from": since} | changes


def whole(project):
    return summarise(Scope(project.pk, now() - timedelta(days=1), now() + timedelta(hours=1)))[0]


def api(key, path, body=None):
    headers = {"Authorization": f"Bearer {key}"}
    if body is None:
        return Client().get(f"/api/v1/{path}", headers=headers)
    return Client().post(f"/api/v1/{path}", body, content_type="application/json", headers=headers)


def test_who_may_see_and_who_may_price(
    project, stranger_client, viewer_client, engineer_client, finops_client
):
    assert Client().get(page(project)).status_code == 302
    assert stranger_client.get(page(project)).status_code == 404
    assert viewer_client.get(page(project)).status_code == 200
    for client, status in (
        (stranger_client, 404),
        (viewer_client, 403),
        (engineer_client, 403),
        (finops_client, 302),
    ):
        assert client.post(page(project, "add-price"), given()).status_code == status
    row = CustomPrice.objects.get()
    remove = page(project, "remove-price", row.pk)
    assert viewer_client.post(remove).status_code == 403
    assert stranger_client.post(remove).status_code == 404
    assert finops_client.post(remove).status_code == 302
    actions = AuditEntry.objects.values_list("action", flat=True)
    assert {"price.set", "price.removed"} <= set(actions)


def test_buttons_are_for_those_who_may(project, viewer_client, finops_client):
    assert b"Set price" not in viewer_client.get(page(project)).content
    assert b"Set price" in finops_client.get(page(project)).content


def test_calls_without_price_are_named_and_a_price_prices_them(
    project, ingest_key, finops_client, django_capture_on_commit_callbacks
):
    send(ingest_key, [span(**LLAMA), span(**LLAMA)])
    assert "our-llama" in finops_client.get(page(project)).content.decode()
    assert whole(project).unpriced_calls == 2
    finops_client.post(page(project, "add-price"), given())
    assert reprice_calls(project.pk, now() - timedelta(hours=1), model="our-llama") == 2
    total = whole(project)
    assert total.cost_usd == Decimal("0.40")
    assert (total.partial_calls, total.unpriced_calls) == (2, 0)
    finops_client.post(page(project, "add-price"), given(output_per_million="1"))
    assert reprice_calls(project.pk, now() - timedelta(hours=1)) == 2
    assert whole(project).cost_usd == Decimal("0.400008")
    assert whole(project).priced_calls == 2
    assert whole(project).percentile("cost_usd", 0.5) == pytest.approx(0.200004, rel=0.01)
    assert reprice_calls(project.pk, now() - timedelta(hours=1)) == 0


def test_price_from_a_date_leaves_earlier_calls_alone(project, ingest_key, finops_client):
    send(ingest_key, [span(**LLAMA, started_at=now() - timedelta(hours=5)), span(**LLAMA)])
    finops_client.post(page(project, "add-price"), given())
    assert reprice_calls(project.pk, now() - timedelta(hours=1)) == 1
    states = Span.objects.order_by("started_at").values_list("cost_state", flat=True)
    assert list(states) == ["unpriced", "partial"]


def test_wrong_price_is_said_on_the_form(project, finops_client):
    answer = finops_client.post(page(project, "add-price"), given(input_per_million="-1"))
    assert answer.status_code == 400
    answer = finops_client.post(page(project, "add-price"), given(input_per_million=""))
    assert "at least one price" in answer.content.decode()


def test_price_of_a_usage_is_exact(api_key):
    answer = api(
        api_key,
        "price",
        {
            "provider": "openai",
            "model": "gpt-4o",
            "at": "2026-11-01T00:00:00Z",
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100},
        },
    )
    found = answer.json()
    assert (found["state"], found["cost_usd"]) == ("priced", "0.0035")
    assert sum(Decimal(line["cost_usd"]) for line in found["lines"]) == Decimal("0.0035")
    assert found["price_book_version"]


def test_unknown_model_is_unpriced_and_never_zero(api_key):
    body = {"provider": "nobody", "model": "no-such", "usage": {"prompt_tokens": 5}}
    found = api(api_key, "price", body).json()
    assert (found["state"], found["cost_usd"]) == ("unpriced", None)
    assert found["reason"]


@pytest.mark.parametrize(
    "changes",
    [
        {"usage": {"prompt_tokens": -1}},
        {"at": "2026-11-01T00:00:00"},
        {"usage": {"prompt_tokens": "x"}},
    ],
)
def test_bad_question_is_refused_with_a_sentence(api_key, changes):
    body = {"provider": "openai", "model": "gpt-4o", "usage": {"prompt_tokens": 1}} | changes
    answer = api(api_key, "price", body)
    assert answer.status_code == 422, answer.content
    assert answer.json()["detail"]


def test_money_over_the_api_needs_a_key(api_key):
    assert api("nonsense", "ledger").status_code == 401
    assert api(api_key, "ledger").json() == {"rows": []}
    assert api(api_key, "ledger?from=2026-01-02T00:00Z&to=2026-01-01T00:00Z").status_code == 422
