"""OTLP as plain Python, whichever encoding it came in. Attribute values are str, int, float, bool,
bytes, lists and dicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Attributes = dict[str, Any]
T = TypeVar("T")


class BadBody(ValueError):
    """The body as a whole cannot be read; the message is a sentence for its sender."""


@dataclass(slots=True)
class RawEvent:
    name: str
    time_ns: int
    attributes: Attributes


@dataclass(slots=True)
class RawSpan:
    """A span as it was sent; ids are lower-case hex, "" where there is none."""

    trace_id: str
    span_id: str
    parent_span_id: str
    name: str
    start_ns: int
    end_ns: int
    attributes: Attributes
    events: list[RawEvent] = field(default_factory=list)
    failed: bool = False
    message: str = ""


@dataclass(slots=True)
class RawLog:
    time_ns: int
    event_name: str
    attributes: Attributes


@dataclass(slots=True)
class RawPoint:
    """One number of a metric at a time."""

    name: str
    time_ns: int
    value: float
    attributes: Attributes


@dataclass(slots=True)
class Part(Generic[T]):
    """What one resource of a body sent, and what of it could not be read."""

    resource: Attributes
    items: list[T] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
