"""What summaries say about money and errors, and the table of cost drivers."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import urlencode

from webapp.telemetry.queries import Summary
from webapp.ui import numbers
from webapp.ui.buckets import NONE, name_of
from webapp.ui.filters import PageFilters
from webapp.ui.sides import Side
from webapp.ui.tiles import Delta, delta

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
    ttft: tuple[float, Side] | None

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
    def error_rate(self) -> float | None:
        return error_rate(self.summary)


def unit_cost(summary: Summary) -> Decimal | None:
    """USD per million tokens, in and out; None without tokens or without any known cost."""
    total, cost = summary.input_tokens + summary.output_tokens, known_cost(summary)
    return cost * 1_000_000 / total if total and cost is not None else None


def error_rate(summary: Summary) -> float | None:
    return summary.errors / summary.calls if summary.calls else None


def p95_ttft(summary: Summary) -> float | None:
    """None where too few calls were timed for a 95th percentile to mean something."""
    enough = summary.observed("ttft_s") >= P95_NEEDS
    return summary.percentile("ttft_s", 0.95) if enough else None


def known_cost(summary: Summary | None) -> Decimal | None:
    """The sum of what is priced; None where nothing is: refused calls cost 0 and prove no price."""
    if summary is None or (summary.unpriced_calls and not summary.cost_usd):
        return None
    return summary.cost_usd


def drivers_of(
    rows: Sequence[Summary],
    before: Sequence[Summary],
    filters: PageFilters,
    ttft: dict[str, tuple[float, Side]],
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
                ttft=ttft.get(name),
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
