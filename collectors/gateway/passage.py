"""One call on its way through the gateway: what was asked, what came back, and its span."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from collectors.gateway.stream import EventReader
from collectors.gateway.targets import Target
from collectors.gateway.watch import Watch
from collectors.record import SpanKind, SpanRecord, Status
from collectors.timeline import pack_timeline

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
_NOTHING = {"0" * 32, "0" * 16}
# Paths that are a call to a model; all others pass without leaving a span.
_CALLS: dict[str, tuple[str, SpanKind]] = {
    "chat/completions": ("chat", "llm"),
    "completions": ("text_completion", "llm"),
    "responses": ("chat", "llm"),
    "messages": ("chat", "llm"),
    "embeddings": ("embeddings", "embedding"),
    "api/chat": ("chat", "llm"),
    "api/generate": ("text_completion", "llm"),
    "api/embed": ("embeddings", "embedding"),
    "generate": ("text_completion", "llm"),
    "generate_stream": ("text_completion", "llm"),
}
_LONGEST_WHOLE = 16 << 20


def operation_of(method: str, path: str) -> tuple[str, SpanKind] | None:
    """The GenAI operation of a request, None where it calls no model."""
    return _CALLS.get(path.removeprefix("v1/")) if method == "POST" else None


class Passage:
    """Filled by the proxy while bytes pass; `record` is the call's span."""

    def __init__(
        self, target: Target, operation: tuple[str, SpanKind], headers: Mapping[str, str]
    ) -> None:
        self.target = target
        self._operation, self._kind = operation
        self._headers = headers
        self._started_ns = time.monotonic_ns()
        self._started_at = datetime.now(UTC)
        self.trace_id, self._parent = _trace_of(headers.get("traceparent", ""))
        self.span_id = secrets.token_hex(8)
        self._asked: Mapping[str, Any] = {}
        self._reader: EventReader | None = None
        self._whole: list[bytes] = []
        self._size = 0
        self._http_status: int | None = None
        self._watch = Watch()

    @property
    def traceparent(self) -> str:
        """What the upstream gets, so that its own span hangs under this one."""
        return f"00-{self.trace_id}-{self.span_id}-01"

    def asked(self, body: bytes) -> None:
        """Note the request's body, where it is JSON."""
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            return
        if isinstance(found, dict):
            self._asked = found

    def answered(self, status: int, content_type: str) -> None:
        self._http_status = status
        if status != 200:
            return
        if "text/event-stream" in content_type:
            self._reader = EventReader("sse")
        elif "ndjson" in content_type:
            self._reader = EventReader("lines")

    def passed(self, chunk: bytes) -> None:
        """Note bytes that came from the upstream now."""
        if self._reader:
            at_us = self._now_us()
            for found in self._reader.feed(chunk):
                self._watch.see(found, at_us)
        elif self._size <= _LONGEST_WHOLE:
            self._whole.append(chunk)
            self._size += len(chunk)

    def record(self, status: Status, error: str | None = None) -> SpanRecord:
        """The span, once nothing more comes. `status` is how the passage itself ended."""
        duration_us = self._now_us()
        self._finish_reading(duration_us)
        watch = self._watch
        if status == "ok" and (watch.error_type or (self._http_status or 0) >= 400):
            status = "rejected" if self._http_status == 429 else "error"
        timeline = watch.timeline() if self._reader else []
        model = self._asked.get("model")
        request_model = model if isinstance(model, str) and model else self.target.model
        return SpanRecord(
            trace_id=self.trace_id,
            span_id=self.span_id,
            parent_span_id=self._parent,
            started_at=self._started_at,
            duration_us=duration_us,
            name=f"{self._operation} {request_model or ''}".strip(),
            kind="other" if watch.finish_reason == "load" else self._kind,
            session_id=self._own("Session"),
            user_id=_text(self._asked.get("user")),
            team=self._own("Team"),
            feature=self._own("Feature"),
            environment=self._own("Environment"),
            server=self.target.name,
            provider=self.target.provider,
            request_model=request_model,
            response_model=watch.response_model,
            source="gateway",
            prefill_us=watch.prefill_us,
            decode_us=watch.decode_us,
            client_ttft_us=watch.ttft_us if self._reader else None,
            input_tokens=watch.input_tokens,
            cached_input_tokens=watch.cached_input_tokens,
            output_tokens=watch.output_tokens,
            reasoning_tokens=watch.reasoning_tokens,
            tokens_source="unknown" if watch.output_tokens is None else "reported",
            token_timeline=pack_timeline(timeline) if timeline else None,
            status=status,
            status_message=watch.error_message or error,
            finish_reason=watch.finish_reason,
            error_type=watch.error_type or _error_type(status, self._http_status),
            http_status=self._http_status,
            mean_logprob=watch.mean_logprob,
        )

    def _finish_reading(self, at_us: int) -> None:
        if self._reader:
            for found in self._reader.end():
                self._watch.see(found, at_us)
            return
        for line in b"".join(self._whole).splitlines() if self._size <= _LONGEST_WHOLE else ():
            for found in EventReader("lines").feed(line + b"\n"):
                self._watch.see(found, at_us)

    def _now_us(self) -> int:
        return (time.monotonic_ns() - self._started_ns) // 1000

    def _own(self, name: str) -> str | None:
        return _text(self._headers.get(f"x-inferometer-{name.lower()}"))


def _error_type(status: Status, http_status: int | None) -> str | None:
    if status in ("error", "rejected"):
        return "unreachable" if http_status is None else f"http_{http_status}"
    return "timeout" if status == "timeout" else None


def _text(value: Any) -> str | None:
    return value[:200] if isinstance(value, str) and value else None


def _trace_of(traceparent: str) -> tuple[str, str | None]:
    match = _TRACEPARENT.fullmatch(traceparent.strip().lower())
    if not match or _NOTHING & {match[1], match[2]}:
        return secrets.token_hex(16), None
    return match[1], match[2]
