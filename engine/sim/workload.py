"""What is replayed: calls with their arrivals and lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class SimCall:
    """One call. `arrival_s` counts from the start of the window; tokens are at least 1.

    `prefix_hashes` are the chained hashes of the prompt's full blocks, for the prefix cache.
    """

    arrival_s: float
    input_tokens: int
    output_tokens: int
    prefix_hashes: tuple[int, ...] = ()


def faster(calls: Sequence[SimCall], scale: float) -> list[SimCall]:
    """The same calls `scale` times as fast: gaps between arrivals divided by it."""
    if scale <= 0:
        raise ValueError(f"Traffic cannot be scaled by {scale}; give a number above 0.")
    return [replace(call, arrival_s=call.arrival_s / scale) for call in calls]
