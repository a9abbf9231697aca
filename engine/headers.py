"""What a request's headers say about where it comes from."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping

from engine.call import CallLabels

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
_LONGEST = 200


def labels_of(headers: Mapping[str, str], response_id: str) -> CallLabels:
    """Labels from W3C `traceparent` and the `X-Inferometer-…` headers."""
    trace_id, parent = parse_traceparent(headers.get("traceparent", ""))

    def own(name: str) -> str | None:
        return headers.get(f"X-Inferometer-{name}", "").strip()[:_LONGEST] or None

    return CallLabels(
        response_id=response_id,
        trace_id=trace_id or secrets.token_bytes(16),
        parent_span_id=parent,
        session_id=own("Session"),
        team=own("Team"),
        feature=own("Feature"),
        environment=own("Environment"),
    )


def parse_traceparent(value: str) -> tuple[bytes, bytes]:
    """Trace and parent span ids; both empty where the header is missing or malformed."""
    match = _TRACEPARENT.fullmatch(value.strip().lower())
    if not match or value.lower().startswith("ff"):
        return b"", b""
    trace_id, parent = bytes.fromhex(match[1]), bytes.fromhex(match[2])
    return (trace_id, parent) if any(trace_id) and any(parent) else (b"", b"")


def new_response_id(*, chat: bool) -> str:
    return ("chatcmpl-" if chat else "cmpl-") + secrets.token_hex(12)
