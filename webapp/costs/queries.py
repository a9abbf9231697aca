"""What the costs page shows, from summaries, the ledger and the calls that lack a price."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db import connection

from webapp.telemetry.queries import Scope, Summary

_UNPRICED = """
select coalesce(nullif(response_model, ''), request_model), provider, server.name, cost_state,
       cost_reason, count(*)
from span left join servers_server server on server.id = span.server_id
where span.project_id = %s and span.started_at >= %s and span.started_at < %s
  and cost_state in ('unpriced', 'partial')
group by 1, 2, 3, 4, 5 order by count(*) desc limit %s
"""
# Parts of a cost as the page calls them, and the sums they are read from.
PARTS = {
    "Input": "cost_input_usd",
    "Cache read": "cost_cache_read_usd",
    "Cache write": "cost_cache_write_usd",
    "Output": "cost_output_usd",
    "Engine time": "cost_compute_usd",
}


@dataclass(frozen=True)
class WithoutPrice:
    """Calls that lack a price, or a part of it, for the same reason."""

    model: str | None
    provider: str | None
    server: str | None
    state: str
    reason: str
    calls: int


@dataclass(frozen=True)
class Part:
    """One part of the spend and its share of it."""

    name: str
    cost_usd: Decimal
    share: float | None


def without_price(scope: Scope, limit: int = 20) -> list[WithoutPrice]:
    """Why calls have no whole price, the commonest reason first."""
    with connection.cursor() as cursor:
        cursor.execute(_UNPRICED, [scope.project_id, scope.start, scope.end, limit])
        return [WithoutPrice(*row[:4], row[4] or "", row[5]) for row in cursor.fetchall()]


def parts_of(total: Summary) -> list[Part]:
    """What the spend went to; parts nothing was spent on are left out."""
    amounts = {name: getattr(total, column) for name, column in PARTS.items()}
    whole = sum(amounts.values(), Decimal(0))
    return [
        Part(name, amount, float(amount / whole) if whole else None)
        for name, amount in amounts.items()
        if amount
    ]


def parts_over_time(rows: Sequence[Summary]) -> dict[str, list[Decimal]]:
    """The parts by bucket, in the rows' order."""
    return {name: [getattr(row, column) for row in rows] for name, column in PARTS.items()}
