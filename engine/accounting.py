"""Splits each step's time over the requests in it, to the last microsecond.

A step costs something even for one token (reading the weights, starting kernels) and more for each
further token. The fixed part is shared equally by the sequences, the rest by tokens processed.
"""

from __future__ import annotations

from collections.abc import Sequence

_DECAY = 0.998
_ENOUGH_STEPS = 16


class StepCost:
    """Running estimate of a step's fixed part: the intercept of duration over tokens.

    Old steps fade, so the estimate follows the load; least squares over a few hundred steps.
    """

    def __init__(self) -> None:
        self._n = self._x = self._y = self._xx = self._xy = 0.0

    def observe(self, num_tokens: int, duration_us: int) -> None:
        self._n = self._n * _DECAY + 1.0
        self._x = self._x * _DECAY + num_tokens
        self._y = self._y * _DECAY + duration_us
        self._xx = self._xx * _DECAY + num_tokens * num_tokens
        self._xy = self._xy * _DECAY + num_tokens * duration_us

    def fixed_us(self, duration_us: int) -> int:
        """The fixed part of a step that took `duration_us`; half of it while little is known."""
        spread = self._n * self._xx - self._x * self._x
        if self._n < _ENOUGH_STEPS or spread <= 1e-6 * self._n * self._xx:
            return duration_us // 2
        slope = (self._n * self._xy - self._x * self._y) / spread
        intercept = (self._y - slope * self._x) / self._n
        return int(min(max(intercept, 0.0), float(duration_us)))


def split_step(duration_us: int, fixed_us: int, tokens: Sequence[int]) -> list[int]:
    """Shares in µs, one for each sequence's `tokens`; they sum to `duration_us` exactly."""
    if not tokens:
        return []
    count, total = len(tokens), sum(tokens)
    variable_us = duration_us - fixed_us
    # Over the common denominator count x total every share is an integer: no rounding but the last.
    parts = [fixed_us * total + variable_us * number * count for number in tokens]
    denominator = count * total
    shares = [part // denominator for part in parts]
    left = duration_us - sum(shares)
    by_remainder = sorted(range(count), key=lambda i: (-(parts[i] % denominator), i))
    for index in by_remainder[:left]:
        shares[index] += 1
    return shares
