"""Whether a distribution has changed between two windows: by how much, and how surely.

Effect and evidence are asked of the same thing. A median is judged by ranks (Mann-Whitney), a tail
by how many observations lie beyond the reference's p95, a mean by Welch's test; all from bucket
counts. Many monitors are looked at together, so evidence is adjusted by Holm's method.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from webapp.domain.sketch import Sketch, bucket_value

Effect = Literal["p50", "p95", "mean"]
State = Literal["changed", "steady", "too_few"]

# Fewer observations than this in either window say nothing.
MIN_COUNT = 30
# Adjusted evidence has to be at least this strong.
ALPHA = 0.01
# Smaller changes than these are not worth a person's time, however sure they are.
FLOORS: dict[Effect, float] = {"p50": 0.10, "p95": 0.20, "mean": 0.05}

Floats = npt.NDArray[np.float64]
Key = TypeVar("Key")
# The place of zeros among the buckets: below that of any positive integer.
_ZERO = -2


@dataclass(frozen=True)
class Change:
    """One effect of one metric: values in the sketch's unit, `log_ratio` = ln(current/reference).

    `p_value` is the chance of evidence this strong where nothing changed; `p_adjusted` the same
    for the strongest of all that were looked at. `relative` is current/reference − 1.
    """

    effect: Effect
    reference: float
    current: float
    log_ratio: float | None
    p_value: float
    p_adjusted: float = 1.0

    @property
    def relative(self) -> float | None:
        return None if self.log_ratio is None else math.expm1(self.log_ratio)

    @property
    def is_drift(self) -> bool:
        """Both large enough to matter and too sure to be chance."""
        large = self.log_ratio is not None and abs(self.log_ratio) >= math.log1p(
            FLOORS[self.effect]
        )
        return large and self.p_adjusted <= ALPHA


@dataclass(frozen=True)
class Comparison:
    """Two windows of one metric; no changes where a window holds too little to compare."""

    reference_count: int
    current_count: int
    changes: tuple[Change, ...]

    @property
    def state(self) -> State:
        if not self.changes:
            return "too_few"
        return "changed" if any(change.is_drift for change in self.changes) else "steady"

    @property
    def largest(self) -> Change | None:
        """The change that counts: of those that are drift, or else of all, the largest."""
        drifted = [change for change in self.changes if change.is_drift]
        return max(drifted or self.changes, key=lambda one: abs(one.log_ratio or 0.0), default=None)


def compare(
    reference: Sketch,
    current: Sketch,
    effects: Sequence[Effect] = ("p50", "p95"),
    *,
    independent: tuple[int, int] | None = None,
) -> Comparison:
    """Compare two windows.

    `independent`: how many observations of each count as independent where that is fewer than all:
    the gaps of one call rise and fall together, so they are as much evidence as their calls are.
    """
    sizes = (reference.count, current.count)
    weights = [
        min(1.0, most / size) if size > 0 else 1.0
        for most, size in zip(independent or sizes, sizes, strict=True)
    ]
    if min(size * weight for size, weight in zip(sizes, weights, strict=True)) < MIN_COUNT:
        return Comparison(*sizes, ())
    values, before, after = _aligned(reference, current)
    before, after = before * weights[0], after * weights[1]
    changes = []
    for effect in effects:
        old, new = _of(reference, effect), _of(current, effect)
        ratio = math.log(new / old) if old > 0 and new > 0 else None
        changes.append(Change(effect, old, new, ratio, _TESTS[effect](values, before, after)))
    return Comparison(*sizes, tuple(changes))


def adjusted(comparisons: Mapping[Key, Comparison]) -> dict[Key, Comparison]:
    """The same with Holm-adjusted evidence over every change of every comparison."""
    every = [(key, change) for key, one in comparisons.items() for change in one.changes]
    every.sort(key=lambda pair: pair[1].p_value)
    found: dict[Key, list[Change]] = {key: [] for key in comparisons}
    reached = 0.0
    for place, (key, change) in enumerate(every):
        reached = max(reached, min(1.0, change.p_value * (len(every) - place)))
        found[key].append(replace(change, p_adjusted=reached))
    return {
        key: replace(one, changes=tuple(sorted(found[key], key=lambda change: change.effect)))
        for key, one in comparisons.items()
    }


def shares_up_to(sketch: Sketch) -> tuple[list[float], list[float]]:
    """A distribution as a curve: values, and the share of observations at or below each."""
    indices, counts = sketch.buckets()
    if not sketch.count:
        return [], []
    zeros = [sketch.zeros] if sketch.zeros else []
    values = [0.0] * len(zeros) + [bucket_value(int(index)) for index in indices]
    cumulative = np.cumsum(np.concatenate((np.array(zeros, dtype=np.int64), counts)))
    return values, (cumulative / sketch.count).tolist()


def _of(sketch: Sketch, effect: Effect) -> float:
    value = sketch.mean if effect == "mean" else sketch.quantile(0.5 if effect == "p50" else 0.95)
    return value or 0.0


def _aligned(reference: Sketch, current: Sketch) -> tuple[Floats, Floats, Floats]:
    """Ascending values of the buckets of either, and both windows' counts of each."""
    first, second = _counts(reference), _counts(current)
    places = sorted(first.keys() | second.keys())
    values = [0.0 if place == _ZERO else bucket_value(place) for place in places]
    return (
        np.array(values),
        np.array([first.get(place, 0) for place in places], dtype=np.float64),
        np.array([second.get(place, 0) for place in places], dtype=np.float64),
    )


def _counts(sketch: Sketch) -> dict[int, int]:
    indices, counts = sketch.buckets()
    found = dict(zip(indices.tolist(), counts.tolist(), strict=True))
    return ({_ZERO: sketch.zeros} if sketch.zeros else {}) | found


def _by_ranks(values: Floats, before: Floats, after: Floats) -> float:
    """Mann-Whitney U by its normal approximation, with the correction for ties."""
    n, m = before.sum(), after.sum()
    total, tied = n + m, before + after
    u = float((after * (np.cumsum(before) - before / 2)).sum())
    variance = n * m / 12 * ((total + 1) - ((tied**3 - tied).sum() / (total * (total - 1))))
    return 1.0 if variance <= 0 else _two_sided((u - n * m / 2) / math.sqrt(variance))


def _by_tail(values: Floats, before: Floats, after: Floats) -> float:
    """Whether more or fewer lie beyond the p95 of both windows together."""
    n, m = before.sum(), after.sum()
    both = np.cumsum(before + after)
    edge = int(np.searchsorted(both, 0.95 * both[-1]))
    beyond = float(before[edge + 1 :].sum()), float(after[edge + 1 :].sum())
    share = sum(beyond) / (n + m)
    variance = share * (1 - share) * (1 / n + 1 / m)
    return 1.0 if variance <= 0 else _two_sided((beyond[1] / m - beyond[0] / n) / variance**0.5)


def _by_mean(values: Floats, before: Floats, after: Floats) -> float:
    """Welch's test of the means; windows are large enough for the normal approximation."""
    (old, old_error), (new, new_error) = (_mean(values, counts) for counts in (before, after))
    error = math.sqrt(old_error + new_error)
    if error == 0:
        return 1.0 if old == new else 0.0
    return _two_sided((new - old) / error)


def _mean(values: Floats, counts: Floats) -> tuple[float, float]:
    """The mean and its squared standard error."""
    n = float(counts.sum())
    mean = float((values * counts).sum() / n)
    return mean, float((counts * (values - mean) ** 2).sum() / (n - 1) / n)


def _two_sided(z: float) -> float:
    return math.erfc(abs(z) / math.sqrt(2))


_TESTS = {"p50": _by_ranks, "p95": _by_tail, "mean": _by_mean}
