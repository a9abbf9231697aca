"""The list of calls as its page shows it."""

from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest

from webapp.telemetry.queries import list_calls
from webapp.ui import numbers
from webapp.ui.filters import PageFilters

PAGE_SIZE = 50
STATUSES = ("ok", "error", "cancelled", "timeout", "rejected")
# Key to sort by ("" for none), heading, class.
COLUMNS = (
    ("started_at", "Started", ""),
    ("", "Model", ""),
    ("", "Server", ""),
    ("", "Team", ""),
    ("", "Status", ""),
    ("ttft", "TTFT", "num"),
    ("duration", "Duration", "num"),
    ("tokens", "Tokens in → out", "num"),
    ("cost", "Cost (USD)", "num"),
)


def list_context(request: HttpRequest, filters: PageFilters) -> dict[str, Any]:
    """A page of calls; BadRequest for a status, sort or cursor that is none."""
    status, sort = request.GET.get("status") or None, request.GET.get("sort") or "-started_at"
    if status and status not in STATUSES:
        raise BadRequest(f"status is one of {', '.join(STATUSES)}, not {status!r}.")
    try:
        page = list_calls(
            filters.scope,
            status=status,
            session_id=request.GET.get("session") or None,
            sort=sort,
            limit=PAGE_SIZE,
            cursor=request.GET.get("cursor") or None,
        )
    except ValueError as error:
        raise BadRequest(str(error)) from None
    seen_by_client = [call.ttft_us is None and call.client_ttft_us for call in page.items]
    return {
        "filters": filters,
        "page": page,
        "sort": sort,
        "columns": COLUMNS,
        "status": status,
        "has_client_times": any(seen_by_client),
        "decimals": numbers.money_decimals([call.cost_usd for call in page.items]),
    }
