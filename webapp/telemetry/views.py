"""Calls: the list, one call, and the trace around it."""

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET

from webapp.accounts.access import project_for_user
from webapp.telemetry.queries import (
    filter_options,
    get_call,
    get_trace,
    last_record_at,
    list_calls,
    trace_totals,
)
from webapp.telemetry.rate import rate_of
from webapp.telemetry.strip import strip_of
from webapp.telemetry.waterfall import waterfall_of
from webapp.ui import numbers
from webapp.ui.empty import empty_state
from webapp.ui.filters import page_filters

PAGE_SIZE = 50
STATUSES = ("ok", "error", "cancelled", "timeout", "rejected")
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


@require_GET
@login_required
def calls(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug)
    filters = page_filters(request, project)
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
    context = {"filters": filters, "page": page, "sort": sort, "columns": COLUMNS, "status": status}
    context["has_client_times"] = any(
        call.ttft_us is None and call.client_ttft_us for call in page.items
    )
    context["decimals"] = numbers.money_decimals([call.cost_usd for call in page.items])
    if not page.items:
        context["empty"] = empty_state(request, filters, last_record_at(project.pk))
    if request.headers.get("HX-Request"):
        answer = render(request, "telemetry/_calls_region.html", context)
    else:
        context |= {"options": filter_options(project.pk), "statuses": STATUSES}
        answer = render(request, "telemetry/calls_page.html", context)
    patch_vary_headers(answer, ["HX-Request"])
    return answer


@require_GET
@login_required
def call_detail(request: HttpRequest, slug: str, call_id: str) -> HttpResponse:
    project = project_for_user(request, slug)
    call = get_call(project.pk, call_id)
    if call is None:
        raise Http404("No such call.")
    context = {
        "call": call,
        "strip": strip_of(call),
        "rate": rate_of(call),
        "tz": project.organisation.timezone,
        "title": call.model or call.name or call.kind,
        "shows_trace": len(get_trace(project.pk, call.trace_id)) > 1,
    }
    return render(request, "telemetry/call_page.html", context)


@require_GET
@login_required
def trace(request: HttpRequest, slug: str, trace_id: str) -> HttpResponse:
    project = project_for_user(request, slug)
    spans = get_trace(project.pk, trace_id)
    if not spans:
        raise Http404("No such trace.")
    context = {
        "trace_id": trace_id,
        "totals": trace_totals(spans),
        "waterfall": waterfall_of(spans),
        "spans": spans,
        "tz": project.organisation.timezone,
        "wall": numbers.duration(trace_totals(spans).wall_us),
    }
    return render(request, "telemetry/trace_page.html", context)
