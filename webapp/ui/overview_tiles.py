"""The five figures on top of the overview, each against the period before."""

from collections.abc import Sequence

from django.urls import reverse

from webapp.telemetry.queries import Summary, summarise
from webapp.ui import numbers
from webapp.ui.buckets import on_buckets, starts_of
from webapp.ui.filters import PageFilters
from webapp.ui.overview import P95_NEEDS, error_rate, known_cost, p95_ttft, unit_cost
from webapp.ui.sides import Sides, summarise_side
from webapp.ui.tiles import Tile, delta


def tiles_of(total: Summary, filters: PageFilters, sides: Sides, slug: str) -> list[Tile]:
    scope, previous = filters.scope, filters.previous_scope
    before = summarise(previous)[0] if previous else None
    starts = starts_of(scope, filters)
    series = on_buckets(summarise(scope, bucket=filters.bucket, tz=filters.tz), starts)
    costs = f"/p/{slug}/costs/?{filters.query}"
    calls = f"{reverse('telemetry:calls', kwargs={'slug': slug})}?{filters.query}"
    return [
        _spend(total, before, series, costs),
        _unit(total, before, series, costs),
        _calls(total, before, series, calls),
        _ttft(filters, sides, f"{reverse('ui:latency', kwargs={'slug': slug})}?{filters.query}"),
        _errors(total, before, series, calls + "&status=error"),
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


def _ttft(filters: PageFilters, sides: Sides, url: str) -> Tile:
    """TTFT of the servers that report their own; the client's beside it, never in it."""
    side, scope, previous = sides.first, filters.scope, filters.previous_scope
    total = _of_side(summarise_side(scope, sides, side))
    before = _of_side(summarise_side(previous, sides, side)) if previous else None
    rows = summarise_side(scope, sides, side, bucket=filters.bucket, tz=filters.tz)
    now, old, seen = p95_ttft(total), before and p95_ttft(before), total.observed("ttft_s")
    few = f"needs {P95_NEEDS} timed calls, has {seen}"
    return Tile(
        "ttft",
        f"p95 TTFT, {side} side" if sides.server or sides.client else "p95 TTFT",
        numbers.seconds(now),
        title=few if now is None else f"95th percentile of {seen:,} calls",
        url=url,
        delta=delta(now, old, compared=numbers.seconds(old), good="down"),
        note=few if now is None else _other_side(filters, sides),
        spark=tuple(
            row.percentile("ttft_s", 0.95) if row else None
            for row in on_buckets(rows, starts_of(scope, filters))
        ),
    )


def _of_side(rows: Sequence[Summary]) -> Summary:
    return rows[0] if rows else Summary()


def _other_side(filters: PageFilters, sides: Sides) -> str:
    if not sides.is_mixed:
        return ""
    seen = _of_side(summarise_side(filters.scope, sides, "client"))
    return f"client side {numbers.seconds(p95_ttft(seen))}"


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
