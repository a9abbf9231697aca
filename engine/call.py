"""A call on its way through the engine: what was asked, what has been measured, what it says."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from engine.sampler import Sampled, SamplingParams
from engine.text import TextStream

CallStatus = Literal["ok", "error", "cancelled", "timeout", "rejected"]


@dataclass(frozen=True)
class CallLabels:
    """What a call's span says of where it came from. Absent is None."""

    request_model: str | None = None
    operation: str = "chat"
    stream: bool = False
    response_id: str | None = None
    trace_id: bytes = b""
    parent_span_id: bytes = b""
    user_id: str | None = None
    session_id: str | None = None
    team: str | None = None
    feature: str | None = None
    environment: str | None = None
    num_choices: int = 1
    seed_asked: int | None = None


@dataclass(frozen=True)
class CallSpec:
    """One sequence to generate. `max_tokens` is at least 1; times are nanoseconds."""

    prompt_token_ids: Sequence[int]
    max_tokens: int
    sampling: SamplingParams = field(default_factory=SamplingParams)
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    priority: int = 0
    labels: CallLabels = CallLabels()
    arrived_mono_ns: int | None = None
    arrived_unix_ns: int | None = None


@dataclass(frozen=True)
class Admitted:
    """The call has joined the queue."""


@dataclass(frozen=True)
class Refused:
    """The queue is full; nothing will follow. `retry_after_s` is when to try again."""

    retry_after_s: float


@dataclass(frozen=True)
class Text:
    """Text of one output event; empty where characters or stop strings are held back.

    `output_tokens` counts all tokens so far.
    """

    text: str
    output_tokens: int


@dataclass(frozen=True)
class Done:
    """The call's last word, sent once its span is on disk. `text` goes before the end."""

    text: str
    finish_reason: str
    status: CallStatus
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int
    error: str | None = None


Output = Admitted | Refused | Text | Done
Listener = Callable[[Output], None]


@dataclass
class Measured:
    """What the engine's thread noted while the call ran. Monotonic nanoseconds, microseconds."""

    scheduled_ns: int | None = None
    first_token_ns: int | None = None
    last_token_ns: int | None = None
    ended_ns: int | None = None
    preempted_since_ns: int | None = None
    preempted_ns: int = 0
    preemptions: int = 0
    cached_tokens: int = 0
    busy_us: int = 0
    steps: int = 0
    batch_sum: int = 0
    first_step: int | None = None
    last_step: int | None = None
    logprob_sum: float = 0.0
    entropy_sum: float = 0.0
    events: list[tuple[int, int]] = field(default_factory=list)


class Call:
    """One call in flight. Only the engine's thread changes it, until its span is written."""

    def __init__(
        self,
        request_id: str,
        spec: CallSpec,
        text: TextStream,
        listener: Listener,
        *,
        mono_ns: int,
        unix_ns: int,
    ) -> None:
        self.request_id = request_id
        self.spec = spec
        self.text = text
        self.listener = listener
        self.arrived_ns = spec.arrived_mono_ns or mono_ns
        self.arrived_unix_ns = spec.arrived_unix_ns or unix_ns
        self.trace_id = spec.labels.trace_id or secrets.token_bytes(16)
        self.span_id = secrets.token_bytes(8)
        self.measured = Measured()
        self.output_tokens = 0
        self.pending_text = ""
        self.status: CallStatus = "ok"
        self.finish_reason = ""
        self.error: str | None = None
        self.prefix_hashes = b""

    @property
    def call_id(self) -> str:
        """The id that pages and the API know this call by."""
        return f"{self.trace_id.hex()}-{self.span_id.hex()}"

    def take_part(self, step: int, batch: int, share_us: int, start: int, began_ns: int) -> None:
        """Note a step this call was in; `start` is the position its part began at."""
        seen = self.measured
        if seen.scheduled_ns is None:
            seen.scheduled_ns, seen.cached_tokens, seen.first_step = began_ns, start, step
        if seen.preempted_since_ns is not None:
            seen.preempted_ns += began_ns - seen.preempted_since_ns
            seen.preempted_since_ns = None
        seen.busy_us += share_us
        seen.steps += 1
        seen.batch_sum += batch
        seen.last_step = step

    def take_tokens(self, sampled: Sequence[Sampled], at_ns: int) -> int | None:
        """Note tokens that existed at `at_ns`; the gap since the last event in ns, if any."""
        seen = self.measured
        gap = None if seen.last_token_ns is None else at_ns - seen.last_token_ns
        if seen.first_token_ns is None:
            seen.first_token_ns = at_ns
        seen.last_token_ns = at_ns
        seen.events.append(((at_ns - self.arrived_ns) // 1000, len(sampled)))
        self.output_tokens += len(sampled)
        for token in sampled:
            seen.logprob_sum += token.logprob
            seen.entropy_sum += token.entropy
        return gap

    def preempted(self, at_ns: int) -> None:
        self.measured.preemptions += 1
        self.measured.preempted_since_ns = at_ns

    def end(self, status: CallStatus, reason: str, at_ns: int, error: str | None = None) -> None:
        """Close the books; nothing is measured after this."""
        seen = self.measured
        if seen.preempted_since_ns is not None:
            seen.preempted_ns += at_ns - seen.preempted_since_ns
            seen.preempted_since_ns = None
        seen.ended_ns = at_ns
        self.status, self.finish_reason, self.error = status, reason, error

    def done(self) -> Done:
        return Done(
            text=self.pending_text,
            finish_reason=self.finish_reason,
            status=self.status,
            prompt_tokens=len(self.spec.prompt_token_ids),
            output_tokens=self.output_tokens,
            cached_tokens=self.measured.cached_tokens,
            error=self.error,
        )
