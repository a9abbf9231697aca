"""Span rows as the dataclasses that pages and the API read."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from webapp.telemetry.call import CallDetail, CallRow
from webapp.telemetry.models import Span

# Fields of the dataclasses that are not a column of the same name.
_OWN = {"id", "trace_id", "span_id", "server", "flags", "parent_span_id", "parent_missing"}
_OWN |= {"tags", "packed_timeline", "extra", "prefix_hashes"}
_ROW = [field.name for field in fields(CallRow) if field.name not in _OWN]
_DETAIL = [field.name for field in fields(CallDetail) if field.name not in _OWN]


def row_of(span: Span, server_names: Mapping[int, str]) -> CallRow:
    return CallRow(**_identity(span, server_names), **{name: getattr(span, name) for name in _ROW})


def detail_of(
    span: Span, server_names: Mapping[int, str], *, parent_missing: bool = False
) -> CallDetail:
    parent = span.parent_span_id
    return CallDetail(
        **_identity(span, server_names),
        **{name: getattr(span, name) for name in _DETAIL},
        parent_span_id=None if parent is None else hex_id(parent),
        parent_missing=parent_missing,
        tags=span.tags or {},
        packed_timeline=_bytes(span.token_timeline),
        prefix_hashes=_bytes(span.prefix_hashes),
        extra=span.extra or {},
    )


def hex_id(span_id: int) -> str:
    """A span id as OTLP writes it, from the signed number it is stored as."""
    return f"{span_id & 0xFFFF_FFFF_FFFF_FFFF:016x}"


def _identity(span: Span, server_names: Mapping[int, str]) -> dict[str, Any]:
    trace, span_id = span.trace_id.hex, hex_id(span.span_id)
    return {
        "id": f"{trace}-{span_id}",
        "trace_id": trace,
        "span_id": span_id,
        "server": None if span.server_id is None else server_names.get(span.server_id),
        "flags": tuple(span.flags or ()),
    }


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
