"""What a scheduler says happened. Every submitted request ends in one of the last three."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class TokensEmitted:
    """New output tokens of a request; `first` where they are its first."""

    request_id: str
    count: int
    first: bool


@dataclass(frozen=True, slots=True)
class Preempted:
    """A running request lost its blocks and waits again; its tokens are kept."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Finished:
    request_id: str
    reason: FinishReason


@dataclass(frozen=True, slots=True)
class Aborted:
    """Ended from outside: its client went away, or its text was complete."""

    request_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """Never taken; `reason` is a sentence for whoever asked."""

    request_id: str
    reason: str


Event = TokensEmitted | Preempted | Finished | Aborted | Rejected
