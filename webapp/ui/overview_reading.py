"""Everything the overview asks of telemetry: each question once, the rest by adding up."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from webapp.charts.overview import CostSeries, cost_over_time
from webapp.charts.theme import Figure
from webapp.telemetry.queries import Scope, Summary, summarise
from webapp.ui.buckets import (
    costs_by_group,
    local_texts,
    merged,
    name_of,
    on_buckets,
    starts_of,
    whole,
)
from webapp.ui.filters import PageFilters
from webapp.ui.overview import p95_ttft
from webapp.ui.overview_tiles import Compared, Ttft
from webapp.ui.sides import Side, Sides, sides_of, summarise_groups

_TTFT = ("ttft_us",)


@dataclass(frozen=True)
class Reading:
    """The groups of the range and of the one before; tiles and the figure are made from them."""

    compared: Compared
    ttft: Ttft
    rows: list[Summary]
    rows_before: list[Summary]
    ttft_by_group: dict[str, tuple[float, Side]]
    figure: Figure


def read(filters: PageFilters, servers: Sequence[str]) -> Reading:
    scope, previous = filters.scope, filters.previous_scope
    grid = _grid(scope, filters, filters.group_by)
    old = _grid(previous, filters, filters.group_by) if previous else []
    sides = sides_of(scope, servers)
    by_server = grid if filters.group_by == "server" else _grid(scope, filters, "server")
    return Reading(
        compared=_compared(grid, old if previous else None, filters),
        ttft=_ttft(by_server, sides, filters),
        rows=_by_group(grid),
        rows_before=_by_group(old),
        ttft_by_group=_ttft_by_group(by_server, sides, filters),
        figure=_figure(grid, old, filters),
    )


def _grid(scope: Scope, filters: PageFilters, group_by: str) -> list[Summary]:
    return summarise(scope, group_by=group_by, bucket=filters.bucket, tz=filters.tz)


def _by_group(grid: Sequence[Summary]) -> list[Summary]:
    rows = merged(grid, lambda row: (row.key, row.is_other)).values()
    return sorted(rows, key=lambda row: (row.is_other, -row.cost_usd, -row.calls, row.key or ""))


def _compared(
    grid: Sequence[Summary],
    old: Sequence[Summary] | None,
    filters: PageFilters,
    sketches: Sequence[str] = (),
) -> Compared:
    buckets = merged(grid, lambda row: row.starts_at, sketches)
    return Compared(
        total=whole(buckets.values(), sketches),
        before=None if old is None else whole(old, sketches),
        series=on_buckets(list(buckets.values()), starts_of(filters.scope, filters)),
    )


def _ttft(by_server: Sequence[Summary], sides: Sides, filters: PageFilters) -> Ttft:
    side, old = sides.first, None
    if filters.previous_scope:
        old = sides.of(side, summarise(filters.previous_scope, group_by="server"))
    other = whole(sides.of("client", by_server), _TTFT) if sides.is_mixed else None
    return Ttft(
        side=side if sides.server or sides.client else None,
        compared=_compared(sides.of(side, by_server), old, filters, _TTFT),
        other=other,
    )


def _ttft_by_group(
    by_server: Sequence[Summary], sides: Sides, filters: PageFilters
) -> dict[str, tuple[float, Side]]:
    """p95 TTFT of each group: the servers' own, else what clients saw, marked as that."""
    found: dict[str, tuple[float, Side]] = {}
    shown: tuple[Side, ...] = ("client", "server") if sides.is_mixed else (sides.first,)
    for side in shown:
        if filters.group_by == "server":
            rows = merged(sides.of(side, by_server), lambda row: row.key, _TTFT).values()
        else:
            rows = summarise_groups(filters.scope, sides, side, filters.group_by)
        for row in rows:
            value = p95_ttft(row)
            if value is not None:
                found[name_of(row)] = (value, side)
    return found


def _figure(grid: Sequence[Summary], old: Sequence[Summary], filters: PageFilters) -> Figure:
    """Cost by bucket and group, over the same stretch of the period before."""
    starts = starts_of(filters.scope, filters)
    groups = [CostSeries(name, values) for name, values in costs_by_group(grid, starts).items()]
    previous = None
    if filters.previous_scope and old:
        before = merged(old, lambda row: row.starts_at)
        edges = starts_of(filters.previous_scope, filters)
        rows = on_buckets(list(before.values()), edges)
        previous = [row.cost_usd if row else Decimal(0) for row in rows]
    times = local_texts(starts, filters)
    return cost_over_time(times, groups, previous=previous, previous_name=filters.compared_with)
