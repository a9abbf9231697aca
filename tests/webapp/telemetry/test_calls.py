"""Lists, single calls and traces."""

import secrets
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils.timezone import now

from tests.webapp.ingest.sending import send, span
from webapp.domain.pricing import PricedCall
from webapp.telemetry.models import Span
from webapp.telemetry.queries import (
    Scope,
    filter_options,
    get_call,
    get_trace,
    last_record_at,
    list_calls,
    recorded_calls,
    summarise,
    trace_totals,
)
from webapp.telemetry.repricing import NewPrice, adjust_costs
from webapp.telemetry.retention import keep_partitions


def scope(project, **rest):
    at = now()
    return Scope(project.pk, at - timedelta(days=2), at + timedelta(hours=1), **rest)


def some_calls(count=25):
    at = now().replace(microsecond=0) - timedelta(hours=1)
    return [
        span(
            started_at=at + timedelta(seconds=n // 3),
            duration_us=None if n % 7 == 0 else 1000 * (n % 5),
            ttft_us=None if n % 4 == 0 else n,
            input_tokens=n,
            request_model=("gpt-4o", "nobody-knows")[n % 2],
            status="error" if n % 6 == 0 else "ok",
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("sort", ["started_at", "duration", "ttft", "cost", "tokens"])
@pytest.mark.parametrize("direction", ["", "-"])
def test_pages_in_any_order_hold_every_call_once(project, ingest_key, sort, direction):
    send(ingest_key, some_calls())
    seen, cursor = [], None
    while True:
        page = list_calls(scope(project), sort=direction + sort, limit=4, cursor=cursor)
        seen += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len({call.id for call in seen}) == len(seen) == 25
    values = [getattr(call, FIELDS[sort]) for call in seen] if sort in FIELDS else []
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=bool(direction))
    assert values[: len(known)] == known  # what has no value comes last


FIELDS = {
    "started_at": "started_at",
    "duration": "duration_us",
    "ttft": "ttft_us",
    "cost": "cost_usd",
}


def test_filters_narrow(project, ingest_key):
    calls = some_calls()
    send(ingest_key, calls)
    found = list_calls(scope(project, model="gpt-4o"), status="error").items
    assert {call.span_id for call in found} == {
        c.span_id for n, c in enumerate(calls) if n % 2 == 0 and n % 6 == 0
    }
    one = list_calls(scope(project), trace_id=calls[3].trace_id).items
    assert [call.span_id for call in one] == [calls[3].span_id]
    assert list_calls(scope(project), trace_id="no such").items == []


@pytest.mark.parametrize("cursor", ["x", "bm8", "e30", "", "W10"])
def test_cursor_that_is_none_is_refused_in_words(project, cursor):
    if not cursor:
        assert list_calls(scope(project), cursor=cursor).items == []
        return
    with pytest.raises(ValueError, match="start again"):
        list_calls(scope(project), cursor=cursor)


def test_unknown_call_is_none_however_it_is_written(project):
    for call_id in ("", "-", "x-y", "0" * 32 + "-" + "1" * 16, "é" * 32 + "-" + "1" * 16):
        assert get_call(project.pk, call_id) is None


def test_trace_counts_a_wrapped_call_once(project, ingest_key):
    trace = secrets.token_hex(16)
    agent = span(trace_id=trace, kind="agent", request_model=None, input_tokens=None)
    outer = span(trace_id=trace, parent_span_id=agent.span_id, source="gateway")
    inner = span(trace_id=trace, parent_span_id=outer.span_id)
    lost = span(trace_id=trace, parent_span_id="00000000000000aa")
    send(ingest_key, [agent, outer, inner, lost])
    spans = get_trace(project.pk, trace)
    totals = trace_totals(spans)
    assert (len(spans), totals.calls, totals.input_tokens) == (4, 2, 40)
    missing = {one.span_id: one.parent_missing for one in spans}
    assert missing == {
        agent.span_id: False, outer.span_id: False, inner.span_id: False, lost.span_id: True
    }  # fmt: skip


def test_new_price_moves_the_rollups_by_the_difference(project, ingest_key):
    one, other = span(), span()
    send(ingest_key, [one, other])
    stored = Span.objects.get(trace_id=one.trace_id)
    price = PricedCall(
        "priced", Decimal("0.5"), Decimal("0.2"), Decimal(0), Decimal(0), Decimal("0.3"),
        basis="custom_price", version="custom",
    )  # fmt: skip
    new = NewPrice(stored.trace_id, stored.span_id, stored.started_at, price)
    assert adjust_costs(project.pk, [new]) == 1
    assert adjust_costs(project.pk, [new]) == 0
    row = summarise(scope(project))[0]
    assert row.cost_usd == Decimal("0.5") + Decimal("0.00009")
    assert (row.calls, row.observed("cost_usd"), row.priced_calls) == (2, 2, 2)
    assert row.percentile("cost_usd", 1) == pytest.approx(0.5, rel=0.01)
    unknown = PricedCall("unpriced", reason="gone")
    adjust_costs(project.pk, [NewPrice(new.trace_id, new.span_id, new.started_at, unknown)])
    row = summarise(scope(project))[0]
    assert (row.cost_usd, row.unpriced_calls) == (Decimal("0.00009"), 1)
    assert row.observed("cost_usd") == 1


def test_options_and_recorded_calls(project, ingest_key):
    calls = some_calls(6)
    send(ingest_key, calls)
    options = filter_options(project.pk)
    assert options.models == ["gpt-4o", "nobody-knows"]
    assert options.providers == ["openai"]
    assert last_record_at(project.pk) is not None
    recorded = recorded_calls(scope(project))
    times = [call.started_at for call in recorded]
    assert times == sorted(times)
    assert {call.input_tokens for call in recorded} == {call.input_tokens for call in calls}


def test_old_days_are_dropped_and_coming_ones_made(project, ingest_key, settings):
    send(ingest_key, [span(started_at=now() - timedelta(days=9)), span()])
    settings.INFEROMETER = {**settings.INFEROMETER, "SPAN_RETENTION_DAYS": 5}
    kept = keep_partitions()
    assert len(kept.partitions_dropped) == 1
    assert kept.partitions_made >= 3
    assert Span.objects.count() == 1
    at = now()
    assert summarise(Scope(project.pk, at - timedelta(days=20), at))[0].calls == 2
