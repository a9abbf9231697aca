"""The only types that cross this package's edge. Base units; absent is None, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

SpanKind = Literal["llm", "embedding", "tool", "agent", "retrieval", "guard", "other"]
CALL_KINDS: frozenset[str] = frozenset({"llm", "embedding"})
Status = Literal["ok", "error", "cancelled", "timeout", "rejected"]
Source = Literal["otlp", "gateway", "engine", "import"]
TokensSource = Literal["reported", "counted", "unknown"]


@dataclass(slots=True)
class SpanRecord:
    """One span: a call to a model, or work around one.

    Times end in `_us` (integer microseconds); `started_at` is aware UTC. Token counts are
    inclusive: `input_tokens` holds cached and cache-write tokens, `output_tokens` holds reasoning.
    """

    # identity; ids are lower-case hex of 32 and 16 characters
    trace_id: str
    span_id: str
    started_at: datetime
    duration_us: int | None = None
    parent_span_id: str | None = None
    name: str = ""
    kind: SpanKind = "other"
    session_id: str | None = None
    user_id: str | None = None
    team: str | None = None
    feature: str | None = None
    environment: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    # origin
    server: str | None = None
    provider: str | None = None
    request_model: str | None = None
    response_model: str | None = None
    source: Source = "otlp"
    service_name: str | None = None
    # time: server side, then client side; never mixed
    queue_us: int | None = None
    prefill_us: int | None = None
    decode_us: int | None = None
    preempted_us: int | None = None
    ttft_us: int | None = None
    client_ttft_us: int | None = None
    # tokens
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    audio_input_tokens: int | None = None
    audio_output_tokens: int | None = None
    image_input_tokens: int | None = None
    image_output_tokens: int | None = None
    tokens_source: TokensSource = "unknown"
    # packed token timeline, format of docs/metrics.md; None where no event was timed
    token_timeline: bytes | None = None
    # outcome
    status: Status = "ok"
    status_message: str | None = None
    finish_reason: str | None = None
    error_type: str | None = None
    http_status: int | None = None
    attempts: int | None = None
    # execution
    busy_us: int | None = None
    batch_mean: float | None = None
    preemptions: int | None = None
    drafted_tokens: int | None = None
    accepted_tokens: int | None = None
    prefix_hashes: bytes | None = None
    # quality proxies
    mean_logprob: float | None = None
    mean_entropy: float | None = None
    repetition: float | None = None
    refusal: bool | None = None
    # pricing context
    service_tier: str | None = None
    processing: str | None = None
    region: str | None = None
    client_cost_usd: Decimal | None = None
    # content (dropped unless the project captures it), and everything not understood
    content: dict[str, Any] | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()

    @property
    def model(self) -> str | None:
        """The model that answered, else the one asked for."""
        return self.response_model or self.request_model

    @property
    def is_call(self) -> bool:
        """Whether this span is one request to a model (and so is counted and priced)."""
        return self.kind in CALL_KINDS


@dataclass(slots=True)
class SampleRecord:
    """One reading of a server: a gauge, or a counter's cumulative value at a time."""

    at: datetime
    name: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    server: str | None = None
    service_name: str | None = None


@dataclass(slots=True)
class StepBatchRecord:
    """Consecutive engine steps in columns.

    `columns` is zlib over the concatenation of little-endian int32 arrays, one for each of `names`,
    each `count` long. Column `start_offset_us` counts from `started_at`.
    """

    started_at: datetime
    first_index: int
    count: int
    names: tuple[str, ...]
    columns: bytes
    server: str | None = None
    service_name: str | None = None
    run_id: str = ""


@dataclass(slots=True)
class Rejection:
    """One record of a body that was not taken, and why, in a sentence."""

    what: str
    why: str


@dataclass(slots=True)
class Decoded:
    """What one OTLP body held."""

    spans: list[SpanRecord] = field(default_factory=list)
    samples: list[SampleRecord] = field(default_factory=list)
    steps: list[StepBatchRecord] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
