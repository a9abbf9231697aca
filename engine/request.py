"""One request as the scheduler sees it: tokens, how far they are computed, and its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum


class Phase(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"


class Request:
    """A prompt to be continued.

    `prompt_token_ids` may be None where only lengths matter (a simulation): `num_prompt_tokens`
    says how long it is and `prefix_hashes` what its full blocks hold. `arrival` is in seconds, on
    the caller's clock. What is not a constructor's argument only the scheduler changes.
    """

    __slots__ = (
        "arrival",
        "block_hashes",
        "block_ids",
        "eos_ids",
        "ignore_eos",
        "max_tokens",
        "num_cached",
        "num_computed",
        "num_output_tokens",
        "num_preemptions",
        "num_prompt_tokens",
        "output_token_ids",
        "phase",
        "priority",
        "prompt_token_ids",
        "request_id",
        "sequence",
        "stop_token_ids",
    )

    def __init__(
        self,
        request_id: str,
        prompt_token_ids: Sequence[int] | None,
        max_tokens: int,
        *,
        eos_ids: frozenset[int] = frozenset(),
        stop_token_ids: frozenset[int] = frozenset(),
        ignore_eos: bool = False,
        priority: int = 0,
        arrival: float = 0.0,
        num_prompt_tokens: int | None = None,
        prefix_hashes: Sequence[int] = (),
    ) -> None:
        self.request_id = request_id
        self.prompt_token_ids = prompt_token_ids
        self.max_tokens = max_tokens
        self.eos_ids = eos_ids
        self.stop_token_ids = stop_token_ids
        self.ignore_eos = ignore_eos
        self.priority = priority
        self.arrival = arrival
        known = len(prompt_token_ids) if prompt_token_ids is not None else num_prompt_tokens
        if not known or known < 1:
            raise ValueError(f"request {request_id} has an empty prompt.")
        self.num_prompt_tokens = known
        self.block_hashes: Sequence[int] = prefix_hashes
        self.output_token_ids: list[int] = []
        self.num_output_tokens = 0
        self.num_computed = 0
        self.num_cached = 0
        self.num_preemptions = 0
        self.block_ids: list[int] = []
        self.phase = Phase.WAITING
        self.sequence = 0

    @property
    def num_tokens(self) -> int:
        """Prompt and output so far."""
        return self.num_prompt_tokens + self.num_output_tokens

    def tokens(self, start: int, end: int) -> list[int]:
        """Token ids at positions [start, end) of prompt and output together."""
        prompt = self.prompt_token_ids
        if prompt is None:
            raise ValueError(f"request {self.request_id} carries lengths only.")
        split = self.num_prompt_tokens
        if end <= split:
            return list(prompt[start:end])
        if start >= split:
            return self.output_token_ids[start - split : end - split]
        return [*prompt[start:split], *self.output_token_ids[: end - split]]

    def ends_with(self, token: int) -> bool:
        """Whether this token ends the answer by itself."""
        if token in self.stop_token_ids:
            return True
        return not self.ignore_eos and token in self.eos_ids
