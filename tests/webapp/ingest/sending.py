"""Sends records the way a program would: encoded, over HTTP, with a key."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.http import HttpResponse
from django.test import Client

from collectors.otlp import PROTOBUF, encode_traces
from collectors.record import SpanRecord
from collectors.timeline import pack_timeline


def span(**changes: Any) -> SpanRecord:
    """A finished call of a moment ago: 20 input and 4 output tokens, the first after 100 ms."""
    given: dict[str, Any] = {
        "trace_id": secrets.token_hex(16),
        "span_id": secrets.token_hex(8),
        "started_at": datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5),
        "duration_us": 200_000,
        "kind": "llm",
        "name": "chat m",
        "provider": "openai",
        "request_model": "gpt-4o",
        "source": "engine",
        "queue_us": 10_000,
        "ttft_us": 100_000,
        "input_tokens": 20,
        "output_tokens": 4,
        "tokens_source": "reported",
        "token_timeline": pack_timeline([(100_000 + 20_000 * n, 1) for n in range(4)]),
        "status": "ok",
    }
    return SpanRecord(**{**given, **changes})


def send(secret: str, records: Sequence[SpanRecord], **resource: str) -> HttpResponse:
    return post(secret, encode_traces(records, resource))


def post(
    secret: str,
    body: bytes,
    *,
    path: str = "/v1/traces",
    content_type: str = PROTOBUF,
    headers: dict[str, str] | None = None,
) -> HttpResponse:
    return Client().post(
        path,
        data=body,
        content_type=content_type,
        headers={"Authorization": f"Bearer {secret}", **(headers or {})},
    )
