"""REST: what a call costs or would cost, and the ledger."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils.timezone import now
from ninja import Query, Router, Schema
from pydantic import Field

from webapp.api.auth import READ
from webapp.api.problems import Problem
from webapp.costs.ledger import LedgerRow, ledger
from webapp.costs.price_book import VERSION
from webapp.costs.pricer import pricer_for
from webapp.domain.quantities import BadUsage, usage_of
from webapp.telemetry.api import Window, plain

router = Router(tags=["costs"])


class PriceIn(Schema):
    """`usage` as the provider returned it: OpenAI, Anthropic, Gemini or Bedrock."""

    provider: str | None = None
    model: str
    at: datetime | None = Field(None, description="when the call was made; without: now")
    usage: dict[str, Any]
    service_tier: str | None = None
    processing: str | None = Field(None, description="batch, or nothing")
    region: str | None = None


class LineOut(Schema):
    kind: str
    quantity: int
    unit_price: str
    per: str
    cost_usd: str


class PriceOut(Schema):
    state: str
    cost_usd: str | None
    reason: str
    lines: list[LineOut]
    price_book_version: str


class LedgerRowOut(Schema):
    """One hour of a server: `bill_usd` = attributed + idle + unattributed, exactly."""

    server: str
    starts_at: datetime
    bill_usd: str
    attributed_usd: str
    idle_usd: str
    unattributed_usd: str
    call_count: int
    is_settled: bool


class LedgerOut(Schema):
    rows: list[LedgerRowOut]


@router.post("price", auth=READ, response=PriceOut, summary="What a call costs")
def price(request: HttpRequest, payload: PriceIn) -> dict[str, Any]:
    at = payload.at or now()
    if at.tzinfo is None:
        raise Problem(422, "Not valid", "at needs an offset, as in 2026-11-02T12:00:00Z.")
    try:
        usage = usage_of(payload.usage)
    except BadUsage as error:
        raise Problem(422, "Not valid", str(error)) from error
    priced = pricer_for(request.auth.project_id).price(
        provider=payload.provider,
        model=payload.model,
        at=at,
        usage=usage,
        status="ok",
        service_tier=payload.service_tier,
        processing=payload.processing,
        region=payload.region,
    )
    lines = [
        {
            "kind": line.kind,
            "quantity": line.quantity,
            "unit_price": plain(line.unit_price),
            "per": line.per,
            "cost_usd": plain(line.cost_usd),
        }
        for line in priced.lines
    ]
    return {
        "state": priced.state,
        "cost_usd": plain(priced.total_usd),
        "reason": priced.reason,
        "lines": lines,
        "price_book_version": priced.version or VERSION,
    }


@router.get("ledger", auth=READ, response=LedgerOut, summary="Bill, attributed and idle by hour")
def ledger_rows(request: HttpRequest, window: Query[Window]) -> dict[str, Any]:
    scope = window.scope(request.auth.project_id)
    rows = ledger(scope.project_id, scope.start, scope.end, server=scope.server)
    return {"rows": [_shown(row) for row in rows]}


def _shown(row: LedgerRow) -> dict[str, Any]:
    return {
        "server": row.server,
        "starts_at": row.starts_at,
        "bill_usd": plain(row.bill_usd),
        "attributed_usd": plain(row.attributed_usd),
        "idle_usd": plain(row.idle_usd),
        "unattributed_usd": plain(row.unattributed_usd),
        "call_count": row.call_count,
        "is_settled": row.is_settled,
    }
