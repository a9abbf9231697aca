"""The five figures on top of the overview, each against the period before."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from webapp.telemetry.queries import Summary
from webapp.ui import numbers
from webapp.ui.filters import PageFilters
from webapp.ui.overview import P95_NEEDS, error_rate, known_cost, p95_ttft, unit_cost
from webapp.ui.sides import Side
from webapp.ui.tiles import Tile, delta

Series = Sequence[Summary | None]


@dataclass(frozen=True)
class Compared:
    """A range, its buckets, and the range before it (None: not compared)."""

    total: Summary
    before: Summary | None
    series: Series


@dataclass(frozen=True)
class Ttft:
    """TTFT of one side; `other` is the client's where both exist, beside it and never in it."""

    side: Side | None
    compared: Compared
    other: Summary | None = None


def tiles_of(seen: Compared, ttft: Ttft, filters: PageFilters, slug: str) -> list[Tile]:
    costs = f"/p/{slug}/costs/?{filters.query}"
    calls = f"{reverse('telemetry:calls', kwargs={'slug': slug})}?{filters.query}"
    latency = f"{reverse('ui:latency', kwargs={'slug': slug})}?{filters.query}"
    return [
        _spend(seen, costs),
        _unit(seen, costs),
        _calls(seen, calls),
        _ttft(ttft, latency),
        _errors(seen, calls + "&status=error"),
    ]


def _spend(seen: Compared, url: str) -> Tile:
    now, old = known_cost(seen.total), known_cost(seen.before)
    unpriced = seen.total.unpriced_calls + seen.total.partial_calls
    return Tile(
        "cost",
        "Spend",
        numbers.money(now),
        title=numbers.money_full(now) if now is not None else "No call of this range has a price",
        url=url,
        delta=delta(now, old, compared=numbers.money(old), good="down"),
        note=f"without {unpriced:,} calls that lack a price" if unpriced else "",
        spark=tuple(float(row.cost_usd) if row else 0.0 for row in seen.series),
    )


def _unit(seen: Compared, url: str) -> Tile:
    now, old = unit_cost(seen.total), unit_cost(seen.before) if seen.before else None
    values = [unit_cost(row) if row else None for row in seen.series]
    return Tile(
        "unit-cost",
        "Cost per 1M tokens",
        numbers.money(now),
        title=numbers.money_full(now) if now is not None else "No priced tokens in this range",
        url=url,
        delta=delta(now, old, compared=numbers.money(old), good="down"),
        spark=tuple(None if value is None else float(value) for value in values),
    )


def _calls(seen: Compared, url: str) -> Tile:
    now, old = seen.total.calls, seen.before.calls if seen.before else None
    return Tile(
        "calls",
        "Calls",
        numbers.tokens_compact(now),
        title=f"{now:,}",
        url=url,
        delta=delta(now, old, compared=numbers.tokens_compact(old)),
        spark=tuple(float(row.calls) if row else 0.0 for row in seen.series),
    )


def _ttft(ttft: Ttft, url: str) -> Tile:
    seen = ttft.compared
    now, old = p95_ttft(seen.total), p95_ttft(seen.before) if seen.before else None
    count = seen.total.observed("ttft_s")
    few = f"needs {P95_NEEDS} timed calls, has {count}"
    beside = f"client side {numbers.seconds(p95_ttft(ttft.other))}" if ttft.other else ""
    return Tile(
        "ttft",
        f"p95 TTFT, {ttft.side} side" if ttft.side else "p95 TTFT",
        numbers.seconds(now),
        title=few if now is None else f"95th percentile of {count:,} calls",
        url=url,
        delta=delta(now, old, compared=numbers.seconds(old), good="down"),
        note=few if now is None else beside,
        spark=tuple(row.percentile("ttft_s", 0.95) if row else None for row in seen.series),
    )


def _errors(seen: Compared, url: str) -> Tile:
    total = seen.total
    now, old = error_rate(total), error_rate(seen.before) if seen.before else None
    return Tile(
        "errors",
        "Error rate",
        numbers.percent(now),
        title=f"{total.errors:,} of {total.calls:,} calls",
        url=url,
        delta=delta(now, old, compared=numbers.percent(old), good="down", in_points=True),
        spark=tuple(error_rate(row) if row else None for row in seen.series),
    )
