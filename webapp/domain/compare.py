"""Scenarios side by side: percentiles, throughput, machines and money, against a baseline.

Money is Decimal and includes idle time, because a rented machine costs while it waits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt

METRICS = ("ttft_s", "itl_s", "tpot_s", "e2e_s", "queue_s")
QUANTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
HOURS_PER_MONTH = Decimal(730)
MILLION = Decimal(1_000_000)
# A queue that takes more than this share of the slow calls' time is what holds them up.
QUEUE_SHARE = 0.25
# Cache this full is the limit, not a coincidence.
FULL = 0.95
BOUND_WORDS = {
    "compute": "compute: {:.0%} of busy time is arithmetic of prompts",
    "weights": "memory bandwidth: {:.0%} of busy time reads weights",
    "cache": "memory bandwidth: {:.0%} of busy time reads cached context",
    "overhead": "overhead: {:.0%} of busy time is fixed cost of steps and calls, not the model",
}

Percentiles = dict[str, float]


@dataclass(frozen=True)
class Cost:
    """What serving a window costs, in USD, idle time included. None: no price, or no such token.

    `busy_per_call` leaves idle time out: what the calls themselves used.
    """

    per_hour: Decimal | None
    window: Decimal | None
    per_call: Decimal | None
    busy_per_call: Decimal | None
    per_million_output: Decimal | None
    per_million_total: Decimal | None
    per_month: Decimal | None


def percentiles_of(values: npt.ArrayLike) -> Percentiles | None:
    """p50 to p99 of observations; undefined ones (NaN) are left out. None where none is left."""
    array = np.asarray(values, dtype=np.float64)
    array = array[np.isfinite(array)]
    if not array.size:
        return None
    found = np.quantile(array, list(QUANTILES.values()))
    return {name: float(value) for name, value in zip(QUANTILES, found, strict=True)}


def weighted_percentiles(values: npt.ArrayLike, weights: npt.ArrayLike) -> Percentiles | None:
    """The same of values that each stand for `weights` observations."""
    value, weight = np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    kept = np.isfinite(value) & (weight > 0)
    value, weight = value[kept], weight[kept]
    if not value.size:
        return None
    order = np.argsort(value, kind="stable")
    reached = np.cumsum(weight[order])
    places = np.searchsorted(reached, np.array(list(QUANTILES.values())) * reached[-1])
    found = value[order][np.minimum(places, len(value) - 1)]
    return {name: float(each) for name, each in zip(QUANTILES, found, strict=True)}


def cost_of(
    price_per_hour: Decimal | None,
    *,
    cards: int,
    duration_s: float,
    busy_share: float,
    calls: int,
    input_tokens: int,
    output_tokens: int,
) -> Cost:
    """The cost of `cards` accelerators over `duration_s`, spread over what they answered.

    `price_per_hour` is of one card, in USD.
    """
    if price_per_hour is None:
        return Cost(None, None, None, None, None, None, None)
    per_hour = price_per_hour * cards
    window = per_hour * _decimal(duration_s) / 3600
    return Cost(
        per_hour=per_hour,
        window=window,
        per_call=_per(window, calls),
        busy_per_call=_per(window * _decimal(busy_share), calls),
        per_million_output=_per(window * MILLION, output_tokens),
        per_million_total=_per(window * MILLION, input_tokens + output_tokens),
        per_month=per_hour * HOURS_PER_MONTH,
    )


def relative_error(simulated: float | None, recorded: float | None) -> float | None:
    """(simulated − recorded) / recorded; None where either is missing or nothing was recorded."""
    if simulated is None or not recorded:
        return None
    return (simulated - recorded) / recorded


def change(after: Decimal | float | None, before: Decimal | float | None) -> float | None:
    """Relative change against the baseline; None where either is missing or the baseline is 0."""
    if after is None or not before:
        return None
    return float(after) / float(before) - 1.0


def interval(value: float | None, spread: float) -> tuple[float, float] | None:
    """Where a time lies if step times are off by a relative `spread` either way."""
    if value is None:
        return None
    return value / (1 + spread), value * (1 + spread)


def pareto_front(points: Sequence[tuple[Decimal | float | None, float | None]]) -> list[int]:
    """Indices of (cost, latency) points that no other beats in one without losing in the other.

    Points with a missing coordinate never belong to it; of equal points the first does.
    """
    known = [(cost, latency, i) for i, (cost, latency) in enumerate(points) if cost is not None]
    complete = [(cost, latency, i) for cost, latency, i in known if latency is not None]
    front: list[int] = []
    best = float("inf")
    for _, latency, index in sorted(complete):
        if latency < best:
            best = latency
            front.append(index)
    return sorted(front)


def bound_by(
    *,
    queue_p95_s: float | None,
    e2e_p95_s: float | None,
    cache_peak_share: float | None,
    preemptions: int,
    shares: Mapping[str, float],
) -> str:
    """What holds the calls up, in words: cache capacity, the queue, or where busy time goes.

    `shares` of busy time: compute, weights, cache and overhead.
    """
    if preemptions or (cache_peak_share or 0.0) >= FULL:
        return f"capacity: the cache was full, with {preemptions:,} preemptions"
    waits = (queue_p95_s or 0.0) / e2e_p95_s if e2e_p95_s else 0.0
    if waits > QUEUE_SHARE:
        return f"queue: {waits:.0%} of the p95 call is waiting for a place"
    largest = max(shares, key=lambda name: shares[name], default="overhead")
    return BOUND_WORDS[largest].format(shares.get(largest, 0.0))


def errors(
    simulated: Mapping[str, Percentiles | None], recorded: Mapping[str, Percentiles | None]
) -> dict[str, dict[str, float | None]]:
    """Relative error of each metric and percentile that was recorded."""
    return {
        metric: {
            name: relative_error((simulated.get(metric) or {}).get(name), value)
            for name, value in found.items()
        }
        for metric, found in recorded.items()
        if found
    }


def _per(amount: Decimal, count: int) -> Decimal | None:
    return amount / count if count else None


def _decimal(value: float) -> Decimal:
    """A measured float as the decimal it prints as, so that money never becomes a float."""
    return Decimal(repr(float(value)))
