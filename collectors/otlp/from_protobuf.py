"""Protobuf bodies to plain Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collectors.otlp.raw import Attributes, BadBody, Part, RawEvent, RawLog, RawPoint, RawSpan

_DEPTH = 16
_ERROR = Status.STATUS_CODE_ERROR


def traces(body: bytes) -> list[Part[RawSpan]]:
    request = ExportTraceServiceRequest()
    _parse(request, body)
    return [
        Part(
            attributes_of(holder.resource.attributes),
            [_span(span) for scope in holder.scope_spans for span in scope.spans],
        )
        for holder in request.resource_spans
    ]


def logs(body: bytes) -> list[Part[RawLog]]:
    request = ExportLogsServiceRequest()
    _parse(request, body)
    return [
        Part(
            attributes_of(holder.resource.attributes),
            [
                RawLog(
                    record.time_unix_nano or record.observed_time_unix_nano,
                    record.event_name,
                    attributes_of(record.attributes),
                )
                for scope in holder.scope_logs
                for record in scope.log_records
            ],
        )
        for holder in request.resource_logs
    ]


def metrics(body: bytes) -> list[Part[RawPoint]]:
    request = ExportMetricsServiceRequest()
    _parse(request, body)
    return [
        Part(
            attributes_of(holder.resource.attributes),
            [
                point
                for scope in holder.scope_metrics
                for metric in scope.metrics
                for point in _points(metric)
            ],
        )
        for holder in request.resource_metrics
    ]


def attributes_of(pairs: Iterable[KeyValue]) -> Attributes:
    return {pair.key: plain(pair.value) for pair in pairs}


def plain(value: AnyValue, depth: int = 0) -> Any:
    """A value as Python has it; None where it is empty or nested beyond reason."""
    kind = value.WhichOneof("value")
    if kind is None or depth > _DEPTH:
        return None
    if kind == "array_value":
        return [plain(item, depth + 1) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: plain(pair.value, depth + 1) for pair in value.kvlist_value.values}
    return getattr(value, kind)


def _parse(request: Any, body: bytes) -> None:
    try:
        request.ParseFromString(body)
    except DecodeError:
        raise BadBody("The body is not an OTLP protobuf message.") from None


def _span(span: Span) -> RawSpan:
    return RawSpan(
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.name,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        attributes_of(span.attributes),
        [RawEvent(e.name, e.time_unix_nano, attributes_of(e.attributes)) for e in span.events],
        span.status.code == _ERROR,
        span.status.message,
    )


def _points(metric: Metric) -> Iterable[RawPoint]:
    kind = metric.WhichOneof("data")
    if kind in ("gauge", "sum"):
        for number in getattr(metric, kind).data_points:
            which = number.WhichOneof("value")
            if which:
                yield RawPoint(
                    metric.name,
                    number.time_unix_nano,
                    float(getattr(number, which)),
                    attributes_of(number.attributes),
                )
    elif kind == "histogram":
        for point in metric.histogram.data_points:
            found = attributes_of(point.attributes)
            yield RawPoint(metric.name + "_count", point.time_unix_nano, float(point.count), found)
            if point.HasField("sum"):
                yield RawPoint(metric.name + "_sum", point.time_unix_nano, point.sum, found)
