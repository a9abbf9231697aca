"""Calls: the list, one call, and the trace around it."""

import re

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET

from webapp.accounts.access import project_for_user
from webapp.telemetry.call_list import STATUSES, list_context
from webapp.telemetry.queries import (
    filter_options,
    get_call,
    get_trace,
    last_record_at,
    trace_totals,
)
from webapp.telemetry.rate import rate_of
from webapp.telemetry.strip import strip_of
from webapp.telemetry.waterfall import waterfall_of
from webapp.ui import numbers
from webapp.ui.empty import empty_state
from webapp.ui.filters import page_filters

_TRACE_ID = re.compile("[0-9a-f]{32}")
_CALL_ID = re.compile("[0-9a-f]{32}-[0-9a-f]{16}")


@require_GET
@login_required
def calls(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug)
    filters = page_filters(request, project)
    context = list_context(request, filters)
    if not context["page"].items:
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
def open_id(request: HttpRequest, slug: str) -> HttpResponse:
    """From a pasted id to its page: 32 hexadecimal digits are a trace, with 16 more a call."""
    project_for_user(request, slug)
    given = request.GET.get("id", "").strip().lower()
    if _CALL_ID.fullmatch(given):
        return redirect("telemetry:call-detail", slug=slug, call_id=given)
    if _TRACE_ID.fullmatch(given):
        return redirect("telemetry:trace", slug=slug, trace_id=given)
    raise BadRequest(
        f"{given[:60]!r} is no id: a trace has 32 hexadecimal digits, a call 32, a hyphen and 16."
    )


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
