"""The two pages over everything: overview and latency."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.accounts.access import project_for_user
from webapp.telemetry.queries import filter_options, last_record_at, summarise
from webapp.ui import latency as latency_page
from webapp.ui import numbers
from webapp.ui.empty import empty_state
from webapp.ui.filters import page_filters
from webapp.ui.overview import drivers_of, unit_cost
from webapp.ui.overview_reading import read
from webapp.ui.overview_tiles import tiles_of

GROUPS = (("model", "Model"), ("server", "Server"), ("team", "Team"), ("provider", "Provider"))


@require_GET
@login_required
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug)
    filters = page_filters(request, project)
    total = summarise(filters.scope)[0]
    context = {
        "filters": filters,
        "options": filter_options(project.pk),
        "last_record_at": last_record_at(project.pk),
        "total": total,
    }
    if not total.calls:
        context["empty"] = empty_state(request, filters, context["last_record_at"])
        return render(request, "ui/overview_page.html", context)
    found = read(filters, context["options"].servers)
    context |= {
        "tiles": tiles_of(found.compared, found.ttft, filters, slug),
        "figure": found.figure,
        "drivers": drivers_of(
            found.rows, found.rows_before, filters, found.ttft_by_group, request.path
        ),
        "decimals": numbers.money_decimals([row.cost_usd for row in found.rows]),
        "unit_decimals": numbers.money_decimals([unit_cost(row) for row in found.rows]),
        "group_names": GROUPS,
    }
    return render(request, "ui/overview_page.html", context)


@require_GET
@login_required
def latency(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug)
    filters = page_filters(request, project)
    total = summarise(filters.scope)[0]
    last = last_record_at(project.pk)
    context = {
        "filters": filters,
        "options": filter_options(project.pk),
        "last_record_at": last,
        "total": total,
    }
    if not total.calls:
        context["empty"] = empty_state(request, filters, last)
        return render(request, "ui/latency_page.html", context)
    context |= latency_page.context_of(request, filters, context["options"].servers)
    context["group_names"] = GROUPS
    return render(request, "ui/latency_page.html", context)
