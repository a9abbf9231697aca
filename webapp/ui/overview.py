"""What the overview shows: tiles and drivers, from summaries."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import urlencode

from django.urls import reverse

from webapp.charts.overview import CostSeries, cost_over_time
from webapp.charts.theme import Figure
from webapp.telemetry.queries import Summary, summarise
from webapp.ui import numbers
from webapp.ui.buckets import NONE, costs_by_group, local_texts, name_of, starts_of
from webapp.ui.filters import PageFilters
from webapp.ui.tiles import Delta, Tile, delta

# A percentile of fewer observations than this says nothing: 1 / (1 - q).
P95_NEEDS = 20


@dataclass(frozen=True)
class Driver:
    """One group of the drivers table."""

    name: str
    url: str
    summary: Summary
    share: float | None
    change: Delta | None

    @property
    def share_width(self) -> str:
        return f"{(self.share or 0) * 100:.1f}%"

    @property
    def cost(self) -> Decimal | None:
        return known_cost(self.summary)

    @property
    def unit_cost(self) -> Decimal | None:
        return unit_cost(self.summary)

    @property
    def p95_ttft(self) -> float | None:
        return self.summary.percentile("ttft_s", 0.95)

    @property
    def error_rate(self) -> float | None:
        return error_rate(self.summary)


def unit_cost(summary: Summary) -> Decimal | None:
    """USD per million tokens, in and out; None without tokens or without any known cost."""
    total, cost = summary.input_tokens + summary.output_tokens, known_cost(summary)
    return cost * 1_000_000 / total if total and cost is not None else None


def error_rate(summary: Summary) -> float | None:
    return summary.errors / summary.calls if summary.calls else None


def known_cost(summary: Summary | None) -> Decimal | None:
    """The sum of what is priced; None where nothing is: refused calls cost 0 and prove no price."""
    if summary is None or (summary.unpriced_calls and not summary.cost_usd):
        return None
    return summary.cost_usd


def tiles_of(
    total: Summary,
    before: Summary | None,
    series: Sequence[Summary | None],
    filters: PageFilters,
    slug: str,
) -> list[Tile]:
    pages = {
        name: f"{reverse(name, kwargs={'slug': slug})}?{filters.query}"
        for name in ("ui:latency", "telemetry:calls")
    }
    costs = f"/p/{slug}/costs/?{filters.query}"
    return [
        _spend(total, before, series, costs),
        _unit(total, before, series, costs),
        _calls(total, before, series, pages["telemetry:calls"]),
        _ttft(total, before, series, pages["ui:latency"]),
        _errors(total, before, series, pages["telemetry:calls"] + "&status=error"),
    ]


def _spend(
    total: Summary, before: Summary | None, series: Sequence[Summary | None], url: str
) -> Tile:
    now, old = known_cost(total), known_cost(before)
    unpriced = total.unpriced_calls + total.partial_calls
    return Tile(
        "cost",
        "Spend",
        numbers.money(now),
        title=numbers.money_full(now) if now is not None else "No call of this range has a price",
        url=url,
        delta=delta(now, old, compared=numbers.money(old), good="down"),
        note=f"without {unpriced:,} calls that lack a price" if unpriced else "",
        spark=tuple(float(row.cost_usd) if row else 0.0 for row in series),
    )


def _unit(
    total: Summary, before: Summary | None, series: Sequence[Summary | None], url: str
) -> Tile:
    now, old = unit_cost(total), unit_cost(before) if before else None
    values = [unit_cost(row) if row else None for row in series]
    return Tile(
        "unit-cost",
        "Cost per 1M tokens",
        numbers.money(now),
        title=numbers.money_full(now) if now is not None else "No priced tokens in this range",
        url=url,
        delta=delta(now, old, compared=numbers.money(old), good="down"),
        spark=tuple(None if value is None else float(value) for value in values),
    )


def _calls(
    total: Summary, before: Summary | None, series: Sequence[Summary | None], url: str
) -> Tile:
    old = before.calls if before else None
    return Tile(
        "calls",
        "Calls",
        numbers.tokens_compact(total.calls),
        title=f"{total.calls:,}",
        url=url,
        delta=delta(total.calls, old, compared=numbers.tokens_compact(old)),
        spark=tuple(float(row.calls) if row else 0.0 for row in series),
    )


def _ttft(
    total: Summary, before: Summary | None, series: Sequence[Summary | None], url: str
) -> Tile:
    now = _p95(total)
    old = _p95(before) if before else None
    seen = total.observed("ttft_s")
    few = f"needs {P95_NEEDS} timed calls, has {seen}"
    return Tile(
        "ttft",
        "p95 TTFT",
        numbers.seconds(now),
        title=few if now is None else f"95th percentile of {seen:,} calls",
        url=url,
        delta=delta(now, old, compared=numbers.seconds(old), good="down"),
        note=few if now is None else "",
        spark=tuple(row.percentile("ttft_s", 0.95) if row else None for row in series),
    )


def _p95(summary: Summary) -> float | None:
    enough = summary.observed("ttft_s") >= P95_NEEDS
    return summary.percentile("ttft_s", 0.95) if enough else None


def _errors(
    total: Summary, before: Summary | None, series: Sequence[Summary | None], url: str
) -> Tile:
    now, old = error_rate(total), error_rate(before) if before else None
    return Tile(
        "errors",
        "Error rate",
        numbers.percent(now),
        title=f"{total.errors:,} of {total.calls:,} calls",
        url=url,
        delta=delta(now, old, compared=numbers.percent(old), good="down", in_points=True),
        spark=tuple(error_rate(row) if row else None for row in series),
    )


def drivers_of(
    rows: Sequence[Summary],
    before: Sequence[Summary],
    filters: PageFilters,
    path: str,
) -> list[Driver]:
    """Groups by cost, each with its share and its change; a link that narrows the page to it."""
    old = {name_of(row): row for row in before}
    total = sum((row.cost_usd for row in rows), Decimal(0))
    drivers = []
    for row in rows:
        name = name_of(row)
        earlier = old.get(name)
        base = known_cost(earlier) if earlier else (Decimal(0) if before else None)
        drivers.append(
            Driver(
                name=name,
                url=_narrowed(path, filters, name),
                summary=row,
                share=float(row.cost_usd / total) if total and row.cost_usd else None,
                change=delta(known_cost(row), base, compared=numbers.money(base), good="down"),
            )
        )
    return drivers


def _narrowed(path: str, filters: PageFilters, name: str) -> str:
    """Where the row leads; what has no value of its own cannot be filtered by."""
    if name in (NONE, "Other"):
        return ""
    pair = urlencode({filters.group_by: name, "group_by": _next(filters.group_by)})
    return f"{path}?{filters.query}&{pair}" if filters.query else f"{path}?{pair}"


def _next(group_by: str) -> str:
    order = ("server", "model", "team", "feature")
    return order[(order.index(group_by) + 1) % len(order)] if group_by in order else "model"


def cost_figure(filters: PageFilters) -> Figure:
    """Cost by bucket and group, over the same stretch of the period before."""
    starts = starts_of(filters.scope, filters)
    rows = summarise(filters.scope, group_by=filters.group_by, bucket=filters.bucket, tz=filters.tz)
    groups = [CostSeries(name, values) for name, values in costs_by_group(rows, starts).items()]
    previous = None
    if filters.previous_scope:
        old_starts = starts_of(filters.previous_scope, filters)
        old = summarise(filters.previous_scope, bucket=filters.bucket, tz=filters.tz)
        previous = next(iter(costs_by_group(old, old_starts).values()), None)
    return cost_over_time(
        local_texts(starts, filters), groups, previous=previous, previous_name=filters.compared_with
    )
