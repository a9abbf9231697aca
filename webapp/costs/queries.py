"""What the costs page shows, from summaries, the ledger and the calls that lack a price."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count

from webapp.servers.models import Server
from webapp.telemetry.calls_in_scope import MODEL_NAME, calls_in
from webapp.telemetry.queries import Scope, Summary

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
    reasons = (
        calls_in(scope)
        .filter(cost_state__in=("unpriced", "partial"))
        .values_list(MODEL_NAME, "provider", "server_id", "cost_state", "cost_reason")
        .annotate(calls=Count("*"))
        .order_by("-calls")[:limit]
    )
    names = dict(Server.objects.filter(project_id=scope.project_id).values_list("pk", "name"))
    return [
        WithoutPrice(model, provider, names.get(server_id), state, reason or "", calls)
        for model, provider, server_id, state, reason, calls in reasons
    ]


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
