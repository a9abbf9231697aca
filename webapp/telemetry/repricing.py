"""Changes what calls cost, in the spans and, by the difference, in the rollups."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection, transaction

from webapp.domain.pricing import PricedCall
from webapp.domain.sketch import Sketch
from webapp.telemetry.cell import COLUMNS, Cell, pico_usd
from webapp.telemetry.models import Span
from webapp.telemetry.rollups import places, write_increments
from webapp.telemetry.series import SeriesKey, series_ids
from webapp.telemetry.summary import MONEY

_PARTS = {
    "cost_usd": "total_usd",
    "cost_input_usd": "input_usd",
    "cost_cache_read_usd": "cache_read_usd",
    "cost_cache_write_usd": "cache_write_usd",
    "cost_output_usd": "output_usd",
    "cost_compute_usd": "compute_usd",
}


@dataclass(frozen=True)
class NewPrice:
    """What a span, named by its key, costs from now on."""

    trace_id: uuid.UUID
    span_id: int
    started_at: datetime
    price: PricedCall


def cost_columns(price: PricedCall | None) -> dict[str, Any]:
    """A price as columns of `span`; all None where there is none to tell (no call)."""
    if price is None:
        return dict.fromkeys(
            (*MONEY, "cost_state", "cost_reason", "cost_basis", "price_book_version")
        )
    return {
        **{column: getattr(price, part) for column, part in _PARTS.items()},
        "cost_state": price.state,
        "cost_reason": price.reason or None,
        "cost_basis": price.basis or None,
        "price_book_version": price.version or None,
    }


def adjust_costs(project_id: int, prices: Sequence[NewPrice]) -> int:
    """Write new costs and signed corrections of the rollups, in one transaction; how many changed.

    Spans that are gone, or cost the same, are left alone.
    """
    changed = 0
    with transaction.atomic():
        for new in prices:
            span = (
                Span.objects.select_for_update()
                .filter(
                    project_id=project_id,
                    trace_id=new.trace_id,
                    span_id=new.span_id,
                    started_at=new.started_at,
                    cost_state__isnull=False,
                )
                .first()
            )
            if span is not None:
                changed += _adjust(span, cost_columns(new.price))
    return changed


def _adjust(span: Span, columns: dict[str, Any]) -> bool:
    before = {name: getattr(span, name) for name in columns}
    if before == columns:
        return False
    sets = ", ".join(f"{name} = %s" for name in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"update span set {sets} where trace_id = %s and span_id = %s "
            "and started_at = %s and project_id = %s",
            [*columns.values(), span.trace_id, span.span_id, span.started_at, span.project_id],
        )
    key = SeriesKey(
        span.server_id, span.provider, span.model, span.team, span.feature, span.environment
    )
    (place,) = places([series_ids(span.project_id, [key])[key]], [span.started_at])
    write_increments({place: _difference(before, columns)})
    return True


class _Difference(Cell):
    """What replaces a cost: the new one counted, the old one taken away."""

    def __init__(self, old_pico: int | None, new_pico: int | None) -> None:
        super().__init__()
        self._pico = [(value, sign) for value, sign in ((old_pico, -1), (new_pico, 1))]

    def values(self) -> tuple[Any, ...]:
        known = [(value, sign) for value, sign in self._pico if value is not None]
        sketch = Sketch.of([value for value, _ in known], [sign for _, sign in known])
        packed = dict(zip(COLUMNS, super().values(), strict=True))
        packed["cost_pico_usd"] = None if sketch.is_empty() else sketch.to_bytes()
        return tuple(packed.values())


def _difference(before: dict[str, Any], after: dict[str, Any]) -> Cell:
    cell = _Difference(_observed(before), _observed(after))
    for name in MONEY:
        cell.money[name] = (after[name] or Decimal(0)) - (before[name] or Decimal(0))
    for state, count in (("partial", "partial_calls"), ("unpriced", "unpriced_calls")):
        cell.counts[count] = (after["cost_state"] == state) - (before["cost_state"] == state)
    return cell


def _observed(columns: dict[str, Any]) -> int | None:
    """The cost as the sketch counts it: only calls whose whole cost is known."""
    if columns["cost_state"] != "priced" or columns["cost_usd"] is None:
        return None
    return pico_usd(columns["cost_usd"])
