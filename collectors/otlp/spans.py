"""One OTLP span, whatever conventions it follows, as a `SpanRecord`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast, get_args

from collectors.otlp import dictionary as names
from collectors.otlp import values
from collectors.otlp.raw import Attributes, RawSpan
from collectors.record import Source, SpanKind, SpanRecord, Status, TokensSource
from collectors.timeline import pack_timeline

_HEX32, _HEX16 = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{16}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Nobody traced a model call before this; such a clock was never set.
_EARLIEST_NS = 1_420_070_400 * 10**9  # 2015
_LATEST_NS = 4_102_444_800 * 10**9  # 2100
_CHUNKS = ("gen_ai.content.completion.chunk", "llm.content.completion.chunk")
_FIRST_TOKEN = "First Token Stream Event"
_VERCEL_CALLS = (".doGenerate", ".doStream")
_STATUSES: frozenset[str] = frozenset(get_args(Status))
_SOURCES: frozenset[str] = frozenset(get_args(Source))
_TOKEN_SOURCES: frozenset[str] = frozenset(get_args(TokensSource))
_INT32 = 2**31 - 1


class BadSpan(ValueError):
    """This span cannot be taken; the message says why."""


def record_of(span: RawSpan, resource: Attributes) -> SpanRecord:
    """Translate a span; raises BadSpan where its identity or its time is unusable."""
    _check(span)
    found = span.attributes
    record = SpanRecord(
        trace_id=span.trace_id,
        span_id=span.span_id,
        started_at=_time(span.start_ns),
        parent_span_id=_parent(span),
        name=values.text(span.name) or "",
        kind=kind_of(found),
        service_name=values.text(resource.get("service.name")),
        status_message=values.text(span.message),
    )
    _read_end(record, span)
    _read_fields(record, found)
    _read_resource(record, resource)
    _read_special(record, found)
    _read_events(record, span)
    _settle_tokens(record, found)
    _settle_status(record, found, failed=span.failed)
    _keep_rest(record, found)
    return record


def kind_of(found: Mapping[str, Any]) -> SpanKind:
    """What a span is, from whichever attribute tells it."""
    vercel = values.text(found.get("ai.operationId")) or ""
    if vercel.endswith(_VERCEL_CALLS):
        return "llm"
    if vercel.endswith(".doEmbed"):
        return "embedding"
    if vercel.startswith("ai.toolCall"):
        return "tool"
    if vercel:
        return "agent"  # it wraps the calls, and repeats their usage
    operation = values.text(values.first(found, names.TEXT["operation"]))
    if operation:
        return cast(SpanKind, names.OPERATION_KINDS.get(operation.lower(), "other"))
    for name in ("openinference.span.kind", "traceloop.span.kind"):
        kind = values.text(found.get(name))
        if kind:
            return cast(SpanKind, names.SPAN_KINDS.get(kind.lower(), "other"))
    return "llm" if _looks_like_a_call(found) else "other"


def _looks_like_a_call(found: Mapping[str, Any]) -> bool:
    """vLLM and SGLang name no operation: usage beside a latency, or beside a model, tells."""
    usage = values.first(found, names.COUNTS["input_tokens"]) is not None
    usage = usage or values.first(found, names.COUNTS["output_tokens"]) is not None
    named = values.first(found, names.TEXT["request_model"] + names.TEXT["response_model"])
    return usage and (named is not None or "gen_ai.latency.e2e" in found or _has_latency(found))


def _has_latency(found: Mapping[str, Any]) -> bool:
    return values.first(found, names.SECONDS["ttft_us"] + names.SECONDS["queue_us"]) is not None


def _check(span: RawSpan) -> None:
    if not _HEX32.fullmatch(span.trace_id) or not int(span.trace_id, 16):
        raise BadSpan("its trace id is not 16 bytes, or all zero")
    if not _HEX16.fullmatch(span.span_id) or not int(span.span_id, 16):
        raise BadSpan("its span id is not 8 bytes, or all zero")
    if not span.start_ns:
        raise BadSpan("it has no start time")
    if not _EARLIEST_NS <= span.start_ns < _LATEST_NS:
        raise BadSpan("its start time is not between 2015 and 2100")


def _parent(span: RawSpan) -> str | None:
    parent = span.parent_span_id
    usable = _HEX16.fullmatch(parent) and int(parent, 16) and parent != span.span_id
    return parent if usable else None


def _time(at_ns: int) -> datetime:
    return _EPOCH + timedelta(microseconds=at_ns // 1000)


def _read_end(record: SpanRecord, span: RawSpan) -> None:
    if not span.end_ns:
        return
    if span.end_ns < span.start_ns or span.end_ns >= _LATEST_NS:
        record.flags |= {"clock_skew"}
        return
    # Both ends are cut to whole microseconds first, so that times add up as they are shown.
    record.duration_us = span.end_ns // 1000 - span.start_ns // 1000


def _read_fields(record: SpanRecord, found: Attributes) -> None:
    for field, accepted in names.TEXT.items():
        if field != "operation":
            setattr(record, field, values.text(values.first(found, accepted)))
    for field, accepted in names.COUNTS.items():
        value = values.count(values.first(found, accepted))
        if field != "total_tokens" and value is not None:
            limit = None if field.endswith("_us") else _INT32
            setattr(record, field, value if limit is None else min(value, limit))
    for table, factor in ((names.SECONDS, 1e6), (names.MILLISECONDS, 1e3)):
        for field, accepted in table.items():
            if getattr(record, field) is None:
                value = values.first(found, accepted)
                setattr(record, field, values.microseconds(value, factor))
    for field, accepted in names.NUMBERS.items():
        setattr(record, field, values.number(values.first(found, accepted)))
    if record.provider:
        provider = record.provider.lower()
        record.provider = names.PROVIDERS.get(provider, provider)


def _read_resource(record: SpanRecord, resource: Attributes) -> None:
    """What a whole process says of itself, where the span says nothing."""
    for field in ("server", "team", "feature", "environment", "region"):
        if getattr(record, field) is None:
            setattr(record, field, values.text(values.first(resource, names.TEXT[field])))


def _read_special(record: SpanRecord, found: Attributes) -> None:
    source = found.get("inferometer.source")
    if source in _SOURCES:
        record.source = cast(Source, source)
    timeline = found.get("inferometer.token_timeline")
    if isinstance(timeline, bytes) and timeline:
        record.token_timeline = timeline
    hashes = found.get("inferometer.prefix_hashes")
    if isinstance(hashes, bytes) and hashes and len(hashes) % 8 == 0:
        record.prefix_hashes = hashes
    refusal = found.get("inferometer.refusal")
    record.refusal = refusal if isinstance(refusal, bool) else None
    finish = values.first(found, names.FINISH)
    if isinstance(finish, list):
        finish = finish[0] if finish else None
    record.finish_reason = values.text(finish)
    record.client_cost_usd = values.amount(values.first(found, names.COSTS))
    for name, value in found.items():
        if name.startswith(names.TAG_PREFIX):
            record.tags[name.removeprefix(names.TAG_PREFIX)[:100]] = values.text(value) or ""
    tags = found.get("tag.tags")
    for tag in tags if isinstance(tags, list) else ():
        if label := values.text(tag):
            record.tags[label[:100]] = ""


def _read_events(record: SpanRecord, span: RawSpan) -> None:
    """Times that some instrumentations send as one span event a chunk."""
    chunks = sorted(e.time_ns for e in span.events if e.name in _CHUNKS)
    chunks = [at for at in chunks if at >= span.start_ns]
    if chunks and record.token_timeline is None:
        offsets = [(at - span.start_ns) // 1000 for at in chunks]
        # A chunk may carry several tokens: how many is not said.
        record.token_timeline = pack_timeline((offset, 0) for offset in offsets)
    first = [e.time_ns for e in span.events if e.name == _FIRST_TOKEN] or chunks[:1]
    if first and record.client_ttft_us is None and first[0] >= span.start_ns:
        record.client_ttft_us = (first[0] - span.start_ns) // 1000


def _settle_tokens(record: SpanRecord, found: Attributes) -> None:
    total = values.count(values.first(found, names.COUNTS["total_tokens"]))
    if total is not None and total <= _INT32:
        _derive_from_total(record, total)
    parts = (record.cached_input_tokens or 0) + (record.cache_write_tokens or 0)
    if record.input_tokens is not None and parts > record.input_tokens:
        # The source counts cached tokens beside the input, not inside it.
        record.input_tokens = min(record.input_tokens + parts, _INT32)
        record.flags |= {"exclusive_tokens"}
    reasoning = record.reasoning_tokens or 0
    if record.output_tokens is not None and reasoning > record.output_tokens:
        record.output_tokens = min(record.output_tokens + reasoning, _INT32)
        record.flags |= {"exclusive_tokens"}
    source = found.get("inferometer.tokens_source")
    if source in _TOKEN_SOURCES:
        record.tokens_source = cast(TokensSource, source)
    elif record.input_tokens is not None or record.output_tokens is not None:
        record.tokens_source = "reported"


def _derive_from_total(record: SpanRecord, total: int) -> None:
    if record.output_tokens is None and record.input_tokens is not None:
        record.output_tokens = total - record.input_tokens if total >= record.input_tokens else None
    elif record.input_tokens is None and record.output_tokens is not None:
        record.input_tokens = (
            total - record.output_tokens if total >= record.output_tokens else None
        )


def _settle_status(record: SpanRecord, found: Attributes, *, failed: bool) -> None:
    said = found.get("inferometer.status")
    if said in _STATUSES:
        record.status = cast(Status, said)
        return
    kind = (record.error_type or "").lower()
    if not failed and not kind and (record.http_status or 0) < 400:
        return
    if record.http_status == 429:
        record.status = "rejected"
    elif record.http_status == 499 or "cancel" in kind or "abort" in kind:
        record.status = "cancelled"
    elif record.http_status in (408, 504) or "timeout" in kind or "deadline" in kind:
        record.status = "timeout"
    else:
        record.status = "error"


def _keep_rest(record: SpanRecord, found: Attributes) -> None:
    """What was not understood stays with the span; what people wrote is kept apart."""
    content: dict[str, Any] = {}
    for name, value in found.items():
        if name in names.KNOWN or name.startswith(names.TAG_PREFIX):
            continue
        kept = values.jsonable(value)
        if name in names.CONTENT or name.startswith(names.CONTENT_PREFIXES):
            content[name] = kept
        else:
            record.extra[name.replace("\x00", "")] = kept
    record.content = content or None
