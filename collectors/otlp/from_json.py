"""JSON bodies to plain Python: hex ids, 64-bit numbers as strings, camelCase names."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import orjson

from collectors.otlp.raw import Attributes, BadBody, Part, RawEvent, RawLog, RawPoint, RawSpan

_DEPTH = 16
T = TypeVar("T")


class _Unreadable(ValueError):
    """One record of a body is not what the format says."""


def traces(body: bytes) -> list[Part[RawSpan]]:
    return _parts(body, ("resourceSpans", "scopeSpans", "spans"), lambda span: [_span(span)])


def logs(body: bytes) -> list[Part[RawLog]]:
    return _parts(body, ("resourceLogs", "scopeLogs", "logRecords"), lambda record: [_log(record)])


def metrics(body: bytes) -> list[Part[RawPoint]]:
    return _parts(body, ("resourceMetrics", "scopeMetrics", "metrics"), _points)


def _parts(
    body: bytes, names: tuple[str, str, str], read: Callable[[dict[str, Any]], list[T]]
) -> list[Part[T]]:
    holders, scopes, items = names
    parts: list[Part[T]] = []
    for holder in _tables(_root(body), holders):
        resource = holder.get("resource")
        part: Part[T] = Part(_attributes(resource if isinstance(resource, dict) else {}))
        for scope in _tables(holder, scopes):
            for item in _tables(scope, items):
                try:
                    part.items += read(item)
                except _Unreadable as error:
                    part.unread.append(f"{str(item.get('name') or 'a record')[:100]}: {error}")
        parts.append(part)
    return parts


def _root(body: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(body)
    except ValueError as error:
        raise BadBody(f"The body is not valid JSON: {error}.") from None
    if not isinstance(found, dict):
        raise BadBody("The body must be a JSON object.")
    return found


def _tables(holder: dict[str, Any], name: str) -> Iterable[dict[str, Any]]:
    found = holder.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise BadBody(f"{name} must be a list of objects.")
    return found


def _span(span: dict[str, Any]) -> RawSpan:
    status = span.get("status")
    status = status if isinstance(status, dict) else {}
    events = span.get("events")
    return RawSpan(
        _text(span, "traceId").lower(),
        _text(span, "spanId").lower(),
        _text(span, "parentSpanId").lower(),
        _text(span, "name"),
        _integer(span, "startTimeUnixNano"),
        _integer(span, "endTimeUnixNano"),
        _attributes(span),
        [_event(event) for event in events if isinstance(event, dict)]
        if isinstance(events, list)
        else [],
        status.get("code") in (2, "2", "STATUS_CODE_ERROR"),
        _text(status, "message"),
    )


def _event(event: dict[str, Any]) -> RawEvent:
    return RawEvent(_text(event, "name"), _integer(event, "timeUnixNano"), _attributes(event))


def _log(record: dict[str, Any]) -> RawLog:
    return RawLog(
        _integer(record, "timeUnixNano") or _integer(record, "observedTimeUnixNano"),
        _text(record, "eventName"),
        _attributes(record),
    )


def _points(metric: dict[str, Any]) -> list[RawPoint]:
    name = _text(metric, "name")
    points: list[RawPoint] = []
    for kind in ("gauge", "sum", "histogram"):
        data = metric.get(kind)
        for point in _tables(data, "dataPoints") if isinstance(data, dict) else ():
            found, at = _attributes(point), _integer(point, "timeUnixNano")
            if kind == "histogram":
                points.append(RawPoint(name + "_count", at, _number(point, "count") or 0.0, found))
                total = _number(point, "sum")
                if total is not None:
                    points.append(RawPoint(name + "_sum", at, total, found))
                continue
            value = _number(point, "asDouble")
            value = _number(point, "asInt") if value is None else value
            if value is not None:
                points.append(RawPoint(name, at, value, found))
    return points


def _attributes(holder: dict[str, Any]) -> Attributes:
    found = holder.get("attributes")
    if not isinstance(found, list):
        return {}
    return {
        pair["key"]: _value(pair.get("value"))
        for pair in found
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def _value(value: Any, depth: int = 0) -> Any:
    if not isinstance(value, dict) or len(value) != 1 or depth > _DEPTH:
        return None
    ((kind, inner),) = value.items()
    if kind == "stringValue" or kind == "boolValue":
        return inner if isinstance(inner, str | bool) else None
    if kind in ("intValue", "doubleValue"):
        return _numeric(inner, int if kind == "intValue" else float)
    if kind == "bytesValue":
        return _bytes(inner)
    nested = inner.get("values") if isinstance(inner, dict) else None
    if not isinstance(nested, list):
        return None
    if kind == "kvlistValue":
        return {
            pair["key"]: _value(pair.get("value"), depth + 1)
            for pair in nested
            if isinstance(pair, dict) and isinstance(pair.get("key"), str)
        }
    return [_value(item, depth + 1) for item in nested]


def _numeric(inner: Any, kind: Callable[[Any], Any]) -> Any:
    if isinstance(inner, bool) or not isinstance(inner, str | int | float):
        return None
    try:
        return kind(inner)
    except (ValueError, OverflowError):
        return None


def _bytes(inner: Any) -> bytes | None:
    try:
        return base64.b64decode(inner, validate=True) if isinstance(inner, str) else None
    except (binascii.Error, ValueError):
        return None


def _text(holder: dict[str, Any], name: str) -> str:
    value = holder.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Unreadable(f"{name} must be a string")
    return value


def _integer(holder: dict[str, Any], name: str) -> int:
    value = holder.get(name)
    if value is None:
        return 0
    found = _numeric(value, int)
    if found is None:
        raise _Unreadable(f"{name} must be an integer")
    return int(found)


def _number(holder: dict[str, Any], name: str) -> float | None:
    found = _numeric(holder.get(name), float)
    return None if found is None else float(found)
