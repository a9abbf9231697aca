"""Modelled time: moves when it is told to, never back."""

from __future__ import annotations


class SimClock:
    """Seconds since the start of the window."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0.0

    def advance(self, seconds: float) -> float:
        """Let time pass; what the clock shows then."""
        if seconds < 0:
            raise ValueError(f"Time cannot run back by {-seconds} s.")
        self.now += seconds
        return self.now

    def wait_until(self, at: float) -> float:
        """Let time pass until `at`, if it is still to come."""
        self.now = max(self.now, at)
        return self.now
