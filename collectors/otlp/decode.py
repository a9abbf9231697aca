"""Bodies of `/v1/traces`, `/v1/metrics` and `/v1/logs` to records."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

from collectors.otlp import from_json, from_protobuf, values
from collectors.otlp.raw import Attributes, BadBody, RawLog
from collectors.otlp.spans import BadSpan, record_of
from collectors.record import Decoded, Rejection, SampleRecord, StepBatchRecord

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
STEPS_EVENT = "inferometer.engine.steps"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_STEPS = 100_000


def decode_traces(body: bytes, content_type: str) -> Decoded:
    """Spans of a body, and what of it was not taken; BadBody where nothing can be read of it."""
    decoded = Decoded()
    for part in _reader(content_type).traces(body):
        decoded.rejected += [Rejection("span", why) for why in part.unread]
        for span in part.items:
            try:
                decoded.spans.append(record_of(span, part.resource))
            except BadSpan as error:
                label = f"{span.name[:60] or 'span'} {span.span_id[:16]}".strip()
                decoded.rejected.append(Rejection("span", f"{label}: {error}"))
    return decoded


def decode_metrics(body: bytes, content_type: str) -> Decoded:
    """Samples of a body: gauges, counters, and count and sum of histograms."""
    decoded = Decoded()
    for part in _reader(content_type).metrics(body):
        server, service = _origin(part.resource)
        decoded.rejected += [Rejection("metric", why) for why in part.unread]
        for point in part.items:
            value, at = values.number(point.value), _time(point.time_ns)
            if value is None or at is None or not point.name:
                decoded.rejected.append(
                    Rejection("metric", f"{point.name[:100]}: its value or its time is unusable")
                )
                continue
            labels = {name: values.text(label) or "" for name, label in point.attributes.items()}
            decoded.samples.append(SampleRecord(at, point.name, value, labels, server, service))
    return decoded


def decode_logs(body: bytes, content_type: str) -> Decoded:
    """Step batches of a body; other log records are read over."""
    decoded = Decoded()
    for part in _reader(content_type).logs(body):
        decoded.rejected += [Rejection("log record", why) for why in part.unread]
        for log in part.items:
            if STEPS_EVENT not in (log.event_name, log.attributes.get("event.name")):
                continue
            steps = _steps(log, part.resource)
            if steps is None:
                decoded.rejected.append(
                    Rejection("log record", "a step batch lacks its columns, names or count")
                )
            else:
                decoded.steps.append(steps)
    return decoded


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _reader(content_type: str) -> ModuleType:
    kind = media_type(content_type)
    if kind == JSON:
        return from_json
    if kind == PROTOBUF:
        return from_protobuf
    raise BadBody(f"The content type must be {PROTOBUF} or {JSON}, not {kind[:60] or 'empty'}.")


def _steps(log: RawLog, resource: Attributes) -> StepBatchRecord | None:
    found: Callable[[str], Any] = lambda name: log.attributes.get(f"inferometer.steps.{name}")  # noqa: E731
    count, first = values.count(found("count")), values.count(found("first_index"))
    started = values.count(found("started_unix_ns"))
    at = _time(started if started is not None else log.time_ns)
    columns, names = found("columns"), found("names")
    if not count or count > _MOST_STEPS or first is None or at is None:
        return None
    if not isinstance(columns, bytes) or not isinstance(names, list) or not names:
        return None
    if not all(isinstance(name, str) and len(name) < 60 for name in names):
        return None
    server, service = _origin(resource)
    run_id = values.text(found("run_id")) or ""
    return StepBatchRecord(at, first, count, tuple(names), columns, server, service, run_id[:64])


def _origin(resource: Attributes) -> tuple[str | None, str | None]:
    return (
        values.text(resource.get("inferometer.server")),
        values.text(resource.get("service.name")),
    )


def _time(at_ns: int) -> datetime | None:
    if not 0 < at_ns < 4_102_444_800 * 10**9:
        return None
    return _EPOCH + timedelta(microseconds=at_ns // 1000)
