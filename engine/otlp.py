"""Encodes calls and steps as OTLP messages. Knows no files, no network, no clock."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

Value = str | bool | int | float | bytes | Sequence[str]
_TIMELINE_VERSION = b"\x01"
STEP_COLUMNS = (
    "start_offset_us",
    "duration_us",
    "prefill_tokens",
    "decode_seqs",
    "num_seqs",
    "context_tokens",
    "prefill_context_tokens",
    "used_blocks",
    "free_blocks",
    "waiting",
    "preempted",
)


@dataclass(frozen=True)
class SpanFacts:
    """One call as the engine saw it, ready to be encoded. Attributes that are None are left out."""

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes
    name: str
    start_unix_ns: int
    end_unix_ns: int
    failed: bool
    message: str = ""
    attributes: Mapping[str, Value | None] = field(default_factory=dict)


@dataclass(frozen=True)
class StepBatch:
    """Consecutive steps in columns, named by STEP_COLUMNS."""

    run_id: str
    first_index: int
    started_unix_ns: int
    rows: Sequence[tuple[int, ...]]


def pack_timeline(events: Iterable[tuple[int, int]]) -> bytes:
    """Pack (offset in µs, tokens) pairs in order of time: version 1, see docs/metrics.md."""
    out = bytearray(_TIMELINE_VERSION)
    before = 0
    for offset_us, tokens in events:
        gap = max(offset_us - before, 0)
        before += gap
        _append_varint(out, gap << 1 | (tokens != 1))
        if tokens != 1:
            _append_varint(out, tokens)
    return bytes(out)


def _append_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def encode_span(facts: SpanFacts) -> bytes:
    """One serialized OTLP span."""
    status = Status(
        code=Status.STATUS_CODE_ERROR if facts.failed else Status.STATUS_CODE_UNSET,
        message=facts.message,
    )
    span = Span(
        trace_id=facts.trace_id,
        span_id=facts.span_id,
        parent_span_id=facts.parent_span_id,
        name=facts.name,
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=facts.start_unix_ns,
        end_time_unix_nano=facts.end_unix_ns,
        attributes=_attributes(facts.attributes),
        status=status,
    )
    return span.SerializeToString()


def encode_steps(batch: StepBatch) -> bytes:
    """One serialized OTLP log record holding a batch of steps."""
    columns = b"".join(_int32(column) for column in zip(*batch.rows, strict=True))
    record = LogRecord(
        time_unix_nano=batch.started_unix_ns,
        observed_time_unix_nano=batch.started_unix_ns,
        event_name="inferometer.engine.steps",
        attributes=_attributes(
            {
                "event.name": "inferometer.engine.steps",
                "inferometer.steps.run_id": batch.run_id,
                "inferometer.steps.first_index": batch.first_index,
                "inferometer.steps.count": len(batch.rows),
                "inferometer.steps.started_unix_ns": batch.started_unix_ns,
                "inferometer.steps.names": STEP_COLUMNS,
                "inferometer.steps.columns": zlib.compress(columns),
            }
        ),
    )
    return record.SerializeToString()


def _int32(column: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(column)}i", *column)


def traces_body(spans: Iterable[bytes], resource: Mapping[str, Value | None]) -> bytes:
    """An export request of serialized spans."""
    request = ExportTraceServiceRequest()
    holder = request.resource_spans.add(resource=Resource(attributes=_attributes(resource)))
    scope = holder.scope_spans.add()
    scope.scope.name = "inferometer.engine"
    scope.spans.extend(Span.FromString(payload) for payload in spans)
    return request.SerializeToString()


def logs_body(records: Iterable[bytes], resource: Mapping[str, Value | None]) -> bytes:
    """An export request of serialized log records."""
    request = ExportLogsServiceRequest()
    holder = request.resource_logs.add(resource=Resource(attributes=_attributes(resource)))
    scope = holder.scope_logs.add()
    scope.scope.name = "inferometer.engine"
    scope.log_records.extend(LogRecord.FromString(payload) for payload in records)
    return request.SerializeToString()


def _attributes(values: Mapping[str, Value | None]) -> list[KeyValue]:
    return [
        KeyValue(key=key, value=_any(value)) for key, value in values.items() if value is not None
    ]


def _any(value: Value) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, str):
        return AnyValue(string_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, bytes):
        return AnyValue(bytes_value=value)
    return AnyValue(array_value=ArrayValue(values=[_any(item) for item in value]))
