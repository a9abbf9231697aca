"""Records and answers to OTLP bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collectors.otlp.decode import JSON, PROTOBUF, media_type
from collectors.record import SpanRecord

Signal = Literal["traces", "metrics", "logs"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_OPERATIONS = {
    "llm": "chat",
    "embedding": "embeddings",
    "tool": "execute_tool",
    "agent": "invoke_agent",
    "retrieval": "retrieval",
}
# Fields of a record, and the attribute each is written as.
_ATTRIBUTES: dict[str, str] = {
    "provider": "gen_ai.provider.name",
    "request_model": "gen_ai.request.model",
    "response_model": "gen_ai.response.model",
    "session_id": "gen_ai.conversation.id",
    "user_id": "user.id",
    "team": "inferometer.team",
    "feature": "inferometer.feature",
    "environment": "deployment.environment.name",
    "server": "inferometer.server",
    "source": "inferometer.source",
    "queue_us": "inferometer.queue_us",
    "prefill_us": "inferometer.prefill_us",
    "decode_us": "inferometer.decode_us",
    "preempted_us": "inferometer.preempted_us",
    "ttft_us": "inferometer.ttft_us",
    "client_ttft_us": "inferometer.client_ttft_us",
    "input_tokens": "gen_ai.usage.input_tokens",
    "cached_input_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_write.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
    "audio_input_tokens": "gen_ai.usage.audio.input_tokens",
    "audio_output_tokens": "gen_ai.usage.audio.output_tokens",
    "image_input_tokens": "gen_ai.usage.image.input_tokens",
    "image_output_tokens": "gen_ai.usage.image.output_tokens",
    "tokens_source": "inferometer.tokens_source",
    "token_timeline": "inferometer.token_timeline",
    "status": "inferometer.status",
    "error_type": "error.type",
    "http_status": "http.response.status_code",
    "attempts": "inferometer.attempts",
    "busy_us": "inferometer.busy_us",
    "batch_mean": "inferometer.batch_mean",
    "preemptions": "inferometer.preemptions",
    "drafted_tokens": "inferometer.drafted_tokens",
    "accepted_tokens": "inferometer.accepted_tokens",
    "prefix_hashes": "inferometer.prefix_hashes",
    "mean_logprob": "inferometer.mean_logprob",
    "mean_entropy": "inferometer.mean_entropy",
    "repetition": "inferometer.repetition",
    "refusal": "inferometer.refusal",
    "service_tier": "openai.response.service_tier",
    "processing": "inferometer.processing",
    "region": "inferometer.region",
}
_RESPONSES: dict[Signal, tuple[Any, str]] = {
    "traces": (ExportTraceServiceResponse, "rejected_spans"),
    "metrics": (ExportMetricsServiceResponse, "rejected_data_points"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records"),
}
_JSON_NAMES = {
    "rejected_spans": "rejectedSpans",
    "rejected_data_points": "rejectedDataPoints",
    "rejected_log_records": "rejectedLogRecords",
}


def encode_response(signal: Signal, content_type: str, rejected: int, message: str) -> bytes:
    """The answer to a body that was taken, in the encoding it came in."""
    kind, field = _RESPONSES[signal]
    if media_type(content_type) == JSON:
        partial = {_JSON_NAMES[field]: str(rejected), "errorMessage": message}
        return json.dumps({"partialSuccess": partial} if rejected or message else {}).encode()
    response = kind()
    if rejected or message:
        setattr(response.partial_success, field, rejected)
        response.partial_success.error_message = message
    encoded: bytes = response.SerializeToString()
    return encoded


def encode_status(content_type: str, sentence: str) -> bytes:
    """The body of a refusal: a google.rpc.Status, whose field 2 is the message."""
    if media_type(content_type) != PROTOBUF:
        return json.dumps({"message": sentence}).encode()
    text = sentence.encode()
    size, length = len(text), bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return b"\x12" + bytes(length) + bytes([size]) + text


def encode_traces(records: Iterable[SpanRecord], resource: Mapping[str, Any]) -> bytes:
    """An export request in protobuf; every field of a record that is not None is in it."""
    request = ExportTraceServiceRequest()
    holder = request.resource_spans.add(
        resource=Resource(attributes=[_pair(k, v) for k, v in resource.items()])
    )
    scope = holder.scope_spans.add()
    scope.scope.name = "inferometer"
    scope.spans.extend(_span(record) for record in records)
    return request.SerializeToString()


def _span(record: SpanRecord) -> Span:
    start_ns = (record.started_at - _EPOCH) // _MICROSECOND * 1000
    failed = record.status in ("error", "timeout", "rejected")
    return Span(
        trace_id=bytes.fromhex(record.trace_id),
        span_id=bytes.fromhex(record.span_id),
        parent_span_id=bytes.fromhex(record.parent_span_id or ""),
        name=record.name,
        kind=Span.SPAN_KIND_CLIENT if record.source == "gateway" else Span.SPAN_KIND_SERVER,
        start_time_unix_nano=start_ns,
        end_time_unix_nano=0
        if record.duration_us is None
        else start_ns + record.duration_us * 1000,
        attributes=list(_attributes(record)),
        status=Status(
            code=Status.STATUS_CODE_ERROR if failed else Status.STATUS_CODE_UNSET,
            message=record.status_message or "",
        ),
    )


def _attributes(record: SpanRecord) -> Iterable[KeyValue]:
    operation = _OPERATIONS.get(record.kind)
    if operation:
        yield _pair("gen_ai.operation.name", operation)
    for field, name in _ATTRIBUTES.items():
        value = getattr(record, field)
        if value is not None:
            yield _pair(name, value)
    if record.finish_reason:
        yield _pair("gen_ai.response.finish_reasons", [record.finish_reason])
    for tag, label in record.tags.items():
        yield _pair(f"inferometer.tag.{tag}", label)
    for name, value in {**record.extra, **(record.content or {})}.items():
        if value is not None:
            yield _pair(name, value)


def _pair(name: str, value: Any) -> KeyValue:
    return KeyValue(key=name, value=_any(value))


def _any(value: Any) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, bytes):
        return AnyValue(bytes_value=value)
    if isinstance(value, list | tuple):
        return AnyValue(array_value=ArrayValue(values=[_any(item) for item in value]))
    return AnyValue(string_value=value if isinstance(value, str) else json.dumps(value))
