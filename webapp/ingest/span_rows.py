"""Span records as rows of `span`: checked, completed by the server's registration, priced."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb

from collectors.record import Rejection, SpanRecord
from webapp.accounts.models import ApiKey
from webapp.costs.pricer import Pricer
from webapp.domain.pricing import PricedCall, usage_of_counts
from webapp.domain.token_timeline import Timeline, Timelines, decode_many
from webapp.ingest.origin import Origin
from webapp.telemetry.cell import CLOCK_SKEW
from webapp.telemetry.repricing import cost_columns

# An end may lie this far behind the last token before the clocks are thought to disagree.
_SKEW_US = 1_000_000
_FUTURE = timedelta(days=1)
_EXTRA_BYTES = 16_384
_SMALLINT, _INT32 = 2**15 - 1, 2**31 - 1
# Columns taken over from the record under the same name.
_SAME = (
    "name", "kind", "session_id", "user_id", "team", "feature", "environment", "provider",
    "request_model", "response_model", "source", "started_at", "duration_us", "queue_us",
    "prefill_us", "decode_us", "preempted_us", "ttft_us", "client_ttft_us", "input_tokens",
    "cached_input_tokens", "cache_write_tokens", "cache_write_1h_tokens", "output_tokens",
    "reasoning_tokens", "audio_input_tokens", "audio_output_tokens", "image_input_tokens",
    "image_output_tokens", "tokens_source", "token_timeline", "status", "status_message",
    "finish_reason", "error_type", "busy_us", "batch_mean", "drafted_tokens", "accepted_tokens",
    "prefix_hashes", "mean_logprob", "mean_entropy", "repetition", "refusal", "service_tier",
    "processing", "region",
)  # fmt: skip
_SMALL = ("http_status", "attempts", "preemptions")

Row = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """Rows to insert, their timelines decoded, and what was not taken."""

    rows: list[Row]
    timelines: Timelines
    rejected: list[Rejection]


@dataclass(frozen=True)
class Taking:
    """What a batch is taken under: whose it is, when, since which day spans are kept."""

    key: ApiKey
    origin: Origin
    pricer: Pricer
    oldest: date
    now: datetime


def rows_of(records: Sequence[SpanRecord], taking: Taking) -> Rows:
    """Rows of the records that can be stored, one refusal in words for each that cannot."""
    rejected: list[Rejection] = []
    kept: list[SpanRecord] = []
    for record in records:
        why = _refusal(record, taking)
        if why:
            rejected.append(Rejection("span", f"{record.name or 'span'} {record.span_id}: {why}"))
        else:
            kept.append(record)
    timelines = decode_many([record.token_timeline or b"" for record in kept])
    rows = []
    for index, record in enumerate(kept):
        readable = bool(timelines.readable[index]) or not record.token_timeline
        rows.append(_row(record, timelines[index], taking, readable=readable))
    return Rows(rows, timelines, rejected)


def _refusal(record: SpanRecord, taking: Taking) -> str:
    if record.started_at > taking.now + _FUTURE:
        return "it starts more than a day in the future; check the sender's clock"
    if record.started_at.astimezone(UTC).date() < taking.oldest:
        return f"it started before {taking.oldest}, and older spans are not kept"
    return ""


def _row(record: SpanRecord, timeline: Timeline, taking: Taking, *, readable: bool) -> Row:
    server = taking.origin.server_of(record.server, record.service_name)
    if record.is_call and record.model is None and server is not None:
        record.request_model = server.model or None
    if record.is_call and record.provider is None and server is not None:
        record.provider = server.provider or None
    _label(record, taking.key)
    flags = set(record.flags)
    if not readable:
        record.token_timeline = None
        flags.add("timeline_unreadable")
    if _contradicts(record, timeline):
        flags.add(CLOCK_SKEW)
    if record.ttft_us is None and record.source == "engine":
        record.ttft_us = timeline.ttft_us
    server_id = None if server is None else server.pk
    row: Row = {name: getattr(record, name) for name in _SAME}
    row |= {name: _small(getattr(record, name)) for name in _SMALL}
    row |= {
        "project_id": taking.key.project_id,
        "server_id": server_id,
        "trace_id": uuid.UUID(hex=record.trace_id),
        "span_id": _signed(record.span_id),
        "parent_span_id": record.parent_span_id and _signed(record.parent_span_id),
        "ingested_at": taking.now,
        "tpot_us": _tpot(record, timeline),
        "flags": sorted(flags) or None,
        "tags": Jsonb(record.tags) if record.tags else None,
        "content": _content(record, taking.key),
        "extra": _extra(record.extra),
    }
    return row | cost_columns(_price(record, server_id, taking.pricer))


def _label(record: SpanRecord, key: ApiKey) -> None:
    """What a key is issued for stands where the call does not say."""
    record.team = record.team or key.team or None
    record.feature = record.feature or key.feature or None


def _price(record: SpanRecord, server_id: int | None, pricer: Pricer) -> PricedCall | None:
    if not record.is_call:
        return None
    return pricer.price(
        provider=record.provider,
        model=record.model,
        at=record.started_at,
        usage=usage_of_counts(record),
        status=record.status,
        server_id=server_id,
        busy_us=record.busy_us,
        service_tier=record.service_tier,
        processing=record.processing,
        region=record.region,
    )


def _contradicts(record: SpanRecord, timeline: Timeline) -> bool:
    """Whether a token came well after the call had ended."""
    last = timeline.last_us
    return (
        last is not None and record.duration_us is not None and last > record.duration_us + _SKEW_US
    )


def _tpot(record: SpanRecord, timeline: Timeline) -> int | None:
    """Per token after the first: from the timeline, else from the server's decode phase."""
    found = timeline.tpot_us(record.output_tokens)
    if found is None and record.decode_us is not None and (record.output_tokens or 0) > 1:
        found = record.decode_us / ((record.output_tokens or 0) - 1)
    return None if found is None else round(found)


def _content(record: SpanRecord, key: ApiKey) -> Jsonb | None:
    """What people wrote is dropped unless the project asked for it."""
    if not record.content or not key.project.captures_content:
        return None
    return Jsonb(record.content)


def _extra(extra: dict[str, Any]) -> Jsonb | None:
    """Attributes nobody understood, as far as they fit."""
    if not extra:
        return None
    kept: dict[str, Any] = {}
    room = _EXTRA_BYTES
    for name, value in extra.items():
        room -= len(name) + len(json.dumps(value))
        if room < 0:
            kept["inferometer.extra_truncated"] = True
            break
        kept[name] = value
    return Jsonb(kept)


def _signed(span_id: str) -> int:
    return int.from_bytes(bytes.fromhex(span_id), "big", signed=True)


def _small(value: int | None) -> int | None:
    return None if value is None else min(value, _SMALLINT)
