"""The drift page: what changed against a reference window, and one change looked at closely."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.accounts.access import project_for_user
from webapp.charts.drift import two_distributions
from webapp.charts.theme import Figure
from webapp.domain.drift import ALPHA, FLOORS, MIN_COUNT, shares_up_to
from webapp.drift.queries import Finding, counts_by_state, findings
from webapp.drift.windows import REFERENCES, BadWindow, reference_of
from webapp.telemetry.queries import Scope, filter_options, last_record_at
from webapp.ui.empty import empty_state
from webapp.ui.filters import PageFilters, date_edge, page_filters


@dataclass(frozen=True)
class _Dates:
    ref_from: datetime | None
    ref_to: datetime | None


@require_GET
@login_required
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug)
    filters = page_filters(request, project)
    kind = request.GET.get("reference") or "previous"
    reference = _reference(request, filters, kind)
    found = findings(filters.scope, reference)
    context = {
        "filters": filters,
        "options": filter_options(project.pk),
        "reference": reference,
        "reference_kind": kind,
        "references": [(key, label) for key, label in REFERENCES.items() if key != "custom"],
        "findings": found,
        "counts": counts_by_state(found),
        "alpha": ALPHA,
        "floors": FLOORS,
        "min_count": MIN_COUNT,
    }
    if not found:
        context["empty"] = empty_state(request, filters, last_record_at(project.pk))
    else:
        chosen = _chosen(request, found)
        context |= {"chosen": chosen, "figure": _figure(chosen)}
    return render(request, "drift/drift_page.html", context)


def _reference(request: HttpRequest, filters: PageFilters, kind: str) -> Scope:
    given = request.GET
    dates = _Dates(
        date_edge(given["ref_from"], filters.zone, "ref_from") if given.get("ref_from") else None,
        date_edge(given["ref_to"], filters.zone, "ref_to", is_end=True)
        if given.get("ref_to")
        else None,
    )
    try:
        return reference_of(filters.scope, kind, dates)
    except BadWindow as error:
        raise BadRequest(str(error)) from None


def _chosen(request: HttpRequest, found: list[Finding]) -> Finding:
    """The finding whose distributions are drawn: the one asked for, else the first."""
    wanted = tuple(request.GET.get(name, "") for name in ("at_server", "at_model", "metric"))
    for one in found:
        place = (one.stratum.server or "", one.stratum.model or "", one.metric.name)
        if place == wanted:
            return one
    return found[0]


def _figure(finding: Finding) -> Figure:
    scale = finding.metric.scale
    curves = []
    for sketch in (finding.reference, finding.current):
        values, shares = shares_up_to(sketch)
        curves.append(([value / scale for value in values], shares))
    return two_distributions(*curves, name=finding.metric.label, unit=finding.metric.unit)
