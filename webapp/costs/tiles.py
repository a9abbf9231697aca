"""The figures on top of the costs page."""

from collections.abc import Sequence
from decimal import Decimal

from webapp.costs.ledger import LedgerRow
from webapp.telemetry.queries import Summary
from webapp.ui import numbers
from webapp.ui.overview import known_cost, unit_cost
from webapp.ui.tiles import Tile, delta


def cost_tiles(total: Summary, before: Summary | None, bills: Sequence[LedgerRow]) -> list[Tile]:
    return [
        _spend(total, before),
        _per_call(total, before),
        _unit(total, before),
        _without(total),
        _idle(bills),
    ]


def _spend(total: Summary, before: Summary | None) -> Tile:
    now, old = known_cost(total), known_cost(before)
    return Tile(
        "cost",
        "Spend",
        numbers.money(now),
        title=numbers.money_full(now) if now is not None else "No call of this range has a price",
        delta=delta(now, old, compared=numbers.money(old), good="down"),
    )


def _per_call(total: Summary, before: Summary | None) -> Tile:
    now, old = total.cost_per_call_usd, before.cost_per_call_usd if before else None
    p95 = total.percentile("cost_usd", 0.95)
    return Tile(
        "cost-per-call",
        "Cost per call",
        numbers.money(now),
        title="Mean of the calls whose whole price is known",
        delta=delta(now, old, compared=numbers.money(old), good="down"),
        note="" if p95 is None else f"p95 {numbers.money(Decimal(repr(p95)))}",
    )


def _unit(total: Summary, before: Summary | None) -> Tile:
    now, old = unit_cost(total), unit_cost(before) if before else None
    return Tile(
        "unit-cost",
        "Cost per 1M tokens",
        numbers.money(now),
        title="Input and output together",
        delta=delta(now, old, compared=numbers.money(old), good="down"),
    )


def _without(total: Summary) -> Tile:
    count = total.unpriced_calls + total.partial_calls
    return Tile(
        "without-price",
        "Calls without a price",
        numbers.tokens_compact(count),
        title=f"{total.unpriced_calls:,} with none, {total.partial_calls:,} with a part",
        note="" if not count else "not in the spend",
    )


def _idle(bills: Sequence[LedgerRow]) -> Tile:
    bill = sum((row.bill_usd for row in bills), Decimal(0))
    idle = sum((row.idle_usd for row in bills), Decimal(0))
    share = float(idle / bill) if bill else None
    return Tile(
        "idle",
        "Idle share of servers' bills",
        numbers.percent(share),
        title="No server of this range has a price per hour" if share is None else "",
        note="" if share is None else f"{numbers.money(idle)} of {numbers.money(bill)}",
    )
