"""Prices recorded calls again after a price changed; an audit entry says how many it moved."""

from datetime import datetime

from webapp.accounts import audit
from webapp.accounts.models import Project
from webapp.costs.pricer import Pricer, pricer_for
from webapp.domain.pricing import PricedCall, usage_of_counts
from webapp.telemetry.models import Span
from webapp.telemetry.repricing import NewPrice, adjust_costs

_BATCH = 500


def reprice_calls(
    project_id: int, since: datetime, *, server_id: int | None = None, model: str = ""
) -> int:
    """Price calls from `since` on with the prices that are known now; how many changed."""
    pricer = pricer_for(project_id)
    calls = Span.objects.filter(
        project_id=project_id, started_at__gte=since, cost_state__isnull=False
    ).defer("token_timeline", "content", "extra", "prefix_hashes", "tags")
    if server_id is not None:
        calls = calls.filter(server_id=server_id)
    changed, batch = 0, []
    for span in calls.order_by("started_at").iterator(chunk_size=_BATCH):
        if model and (span.model or "").lower() != model.lower():
            continue
        batch.append(NewPrice(span.trace_id, span.span_id, span.started_at, _price(span, pricer)))
        if len(batch) == _BATCH:
            changed += adjust_costs(project_id, batch)
            batch = []
    changed += adjust_costs(project_id, batch)
    if changed:
        project = Project.objects.get(pk=project_id)
        audit.record(project, "price book", "calls.repriced", f"{changed} calls", since=since)
    return changed


def _price(span: Span, pricer: Pricer) -> PricedCall:
    return pricer.price(
        provider=span.provider,
        model=span.model,
        at=span.started_at,
        usage=usage_of_counts(span),
        status=span.status,
        server_id=span.server_id,
        busy_us=span.busy_us,
        service_tier=span.service_tier,
        processing=span.processing,
        region=span.region,
    )
