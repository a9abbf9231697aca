import uuid
from datetime import UTC, datetime, timedelta

import pytest

from webapp.domain.token_timeline import encode
from webapp.telemetry.models import Span
from webapp.telemetry.rows import detail_of
from webapp.telemetry.strip import strip_of
from webapp.telemetry.waterfall import waterfall_of

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def detail(span_id=1, parent=None, start_ms=0, **given):
    values = {
        "trace_id": uuid.UUID(int=7),
        "span_id": span_id,
        "parent_span_id": parent,
        "started_at": START + timedelta(milliseconds=start_ms),
        "project_id": 1,
        "name": "chat",
        "kind": "llm",
        "source": "engine",
        "tokens_source": "reported",
        "status": "ok",
        "cost_state": "unpriced",
        "ingested_at": START,
        **given,
    }
    return detail_of(Span(**values), {})


def test_ticks_are_tokens_and_not_events():
    strip = strip_of(
        detail(duration_us=1000, token_timeline=encode([(100, 3), (200, 0), (300, 1)]))
    )
    assert [tick.index for tick in strip.ticks] == [1, 2, 3, 4, 5]
    assert [tick.offset_us for tick in strip.ticks] == [100, 100, 100, 200, 300]
    assert strip.events == 3
    assert strip.tokens is None  # one event did not say how many it held


def test_a_gap_of_more_than_five_medians_is_a_stall():
    offsets = [100, 200, 300, 400, 901, 1001]
    strip = strip_of(
        detail(duration_us=1100, token_timeline=encode([(offset, 1) for offset in offsets]))
    )
    assert [(stall.before_token, stall.at_us, stall.gap_us) for stall in strip.stalls] == [
        (5, 400, 501)
    ]
    assert strip.longest_gap_us == 501
    assert [tick.is_stall for tick in strip.ticks] == [False] * 4 + [True, False]


def test_phases_fill_the_call_and_preemption_is_not_counted_twice():
    strip = strip_of(
        detail(duration_us=1000, queue_us=100, prefill_us=200, decode_us=650, preempted_us=150)
    )
    parts = {phase.key: phase.micros for phase in strip.phases}
    assert parts == {"queue": 100, "prefill": 200, "decode": 500, "preempted": 150, "other": 50}
    assert sum(phase.width for phase in strip.phases) == pytest.approx(100, abs=0.01)


def test_a_call_seen_from_outside_has_waiting_and_streaming():
    strip = strip_of(detail(duration_us=1000, client_ttft_us=400))
    assert [(phase.label, phase.micros) for phase in strip.phases] == [
        ("Until first token", 400),
        ("Streaming", 600),
    ]


def test_nothing_known_draws_nothing():
    strip = strip_of(detail())
    assert (strip.phases, strip.ticks, strip.ttft_us) == ([], [], None)


def test_a_broken_timeline_is_said_and_not_fatal():
    strip = strip_of(detail(duration_us=10, token_timeline=b"\x09\x01"))
    assert "version 9" in strip.problem
    assert strip.ticks == []


def test_waterfall_nests_and_keeps_orphans_and_circles():
    spans = [
        detail(1, None, 0, duration_us=100_000),
        detail(2, 1, 10, duration_us=20_000),
        detail(3, 99, 20, duration_us=5_000),
        detail(4, 5, 30, duration_us=5_000),
        detail(5, 4, 31, duration_us=None),
    ]
    waterfall = waterfall_of(spans)
    placed = {row.span.span_id[-1]: row.depth for row in waterfall.rows}
    assert placed == {"1": 0, "2": 1, "3": 0, "4": 0, "5": 0}
    assert waterfall.span_us == 100_000
    assert all(row.x + row.width <= 100 for row in waterfall.rows)
