"""What a list of calls, a call's page and a trace show of one span."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from webapp.domain.token_timeline import Timeline, decode


@dataclass(frozen=True, kw_only=True)
class CallRow:
    """One span as a row of a list. Absent is None, never 0."""

    id: str
    trace_id: str
    span_id: str
    name: str
    kind: str
    server: str | None
    provider: str | None
    request_model: str | None
    response_model: str | None
    team: str | None
    feature: str | None
    environment: str | None
    session_id: str | None
    user_id: str | None
    source: str
    started_at: datetime
    duration_us: int | None
    queue_us: int | None
    ttft_us: int | None
    client_ttft_us: int | None
    tpot_us: int | None
    input_tokens: int | None
    cached_input_tokens: int | None
    output_tokens: int | None
    tokens_source: str
    status: str
    finish_reason: str | None
    error_type: str | None
    cost_usd: Decimal | None
    cost_state: str | None
    flags: tuple[str, ...]

    @property
    def model(self) -> str | None:
        return self.response_model or self.request_model

    @property
    def is_call(self) -> bool:
        """Whether this span is one request to a model, so that it is counted and priced."""
        return self.cost_state is not None


@dataclass(frozen=True, kw_only=True)
class CallDetail(CallRow):
    """Everything stored of one span."""

    parent_span_id: str | None
    parent_missing: bool
    server_id: int | None
    tags: dict[str, str]
    prefill_us: int | None
    decode_us: int | None
    preempted_us: int | None
    cache_write_tokens: int | None
    cache_write_1h_tokens: int | None
    reasoning_tokens: int | None
    audio_input_tokens: int | None
    audio_output_tokens: int | None
    image_input_tokens: int | None
    image_output_tokens: int | None
    status_message: str | None
    http_status: int | None
    attempts: int | None
    busy_us: int | None
    batch_mean: float | None
    preemptions: int | None
    drafted_tokens: int | None
    accepted_tokens: int | None
    prefix_hashes: bytes | None
    mean_logprob: float | None
    mean_entropy: float | None
    repetition: float | None
    refusal: bool | None
    service_tier: str | None
    processing: str | None
    region: str | None
    cost_reason: str | None
    cost_basis: str | None
    cost_input_usd: Decimal | None
    cost_cache_read_usd: Decimal | None
    cost_cache_write_usd: Decimal | None
    cost_output_usd: Decimal | None
    cost_compute_usd: Decimal | None
    price_book_version: str | None
    packed_timeline: bytes | None
    content: dict[str, Any] | None
    extra: dict[str, Any]
    ingested_at: datetime

    @property
    def timeline(self) -> Timeline | None:
        """When each output event came; None where none was timed."""
        return decode(self.packed_timeline) if self.packed_timeline else None


@dataclass(frozen=True)
class CallPage:
    """Some calls, and where the next ones start; None after the last."""

    items: list[CallRow]
    next_cursor: str | None


@dataclass(frozen=True)
class FilterOptions:
    """Values a filter offers, at most some hundred each, the busiest first."""

    servers: list[str]
    models: list[str]
    providers: list[str]
    teams: list[str]
    features: list[str]
    environments: list[str]
    truncated: bool = False


@dataclass(frozen=True)
class TraceTotals:
    """Sums over the calls of a trace; a call that only wraps other calls is not counted again."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal
    unpriced_calls: int
    wall_us: int | None
    busy_call_us: int
