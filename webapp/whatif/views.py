"""What-if pages: ask a question, watch it being worked out, read the answer."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers

from webapp.accounts.access import WRITERS, can_write, project_for_user
from webapp.accounts.models import Project
from webapp.charts.theme import Figure
from webapp.charts.whatif import Point, cost_against_latency
from webapp.telemetry.queries import last_record_at
from webapp.whatif import running
from webapp.whatif.asking import question_of
from webapp.whatif.create import create_run
from webapp.whatif.forms import RunForm
from webapp.whatif.models import Run
from webapp.whatif.params import BadRun
from webapp.whatif.reading import Scenario, checks_of, progress_of, scenarios_of

LATEST = 50


@require_GET
@login_required
def runs(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug)
    return _list(request, project, RunForm(project))


@require_POST
@login_required
def start(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug, role=WRITERS)
    form = RunForm(project, request.POST)
    if form.is_valid():
        try:
            asked = create_run(project, question_of(project, form.given()), by=request.user)
            return redirect("whatif:run", slug=slug, run_id=asked.pk)
        except BadRun as error:
            form.add_error(None, str(error))
    return _list(request, project, form, status=400)


@require_GET
@login_required
@vary_on_headers("HX-Request")
def run(request: HttpRequest, slug: str, run_id: int) -> HttpResponse:
    project = project_for_user(request, slug)
    found = _find(project, run_id)
    template = "_run_region.html" if request.headers.get("HX-Request") else "run_page.html"
    return render(request, f"whatif/{template}", _shown(request, project, found))


@require_POST
@login_required
def cancel(request: HttpRequest, slug: str, run_id: int) -> HttpResponse:
    project = project_for_user(request, slug, role=WRITERS)
    if running.cancel_run(_find(project, run_id)):
        messages.success(request, "The run is being cancelled.")
    return redirect("whatif:run", slug=slug, run_id=run_id)


def _list(
    request: HttpRequest, project: Project, form: RunForm, *, status: int = 200
) -> HttpResponse:
    found = Run.objects.filter(project=project).select_related("server", "created_by")
    context = {
        "form": form,
        "runs": found.order_by("-created_at", "-pk")[:LATEST],
        "tz": project.organisation.timezone,
        "may_run": can_write(request.user, project),
        "last_record_at": last_record_at(project.pk),
    }
    return render(request, "whatif/whatif_page.html", context, status=status)


def _shown(request: HttpRequest, project: Project, found: Run) -> dict[str, object]:
    scenarios = scenarios_of(found)
    return {
        "run": found,
        "scenarios": scenarios,
        "finished": [one for one in scenarios if one.result is not None],
        "checks": checks_of(found, scenarios),
        "progress": progress_of(scenarios),
        "figure": None if found.is_open else _figure(scenarios),
        "tz": project.organisation.timezone,
        "may_run": can_write(request.user, project),
    }


def _figure(scenarios: list[Scenario]) -> Figure | None:
    """None where fewer than two scenarios have both a price and a latency."""
    points = []
    for one in scenarios:
        cost = one.result and one.result["cost"]["per_million_output"]
        latency = one.result and one.result["percentiles"]["e2e_s"]
        if cost and latency:
            points.append(
                Point(one.words, float(cost), latency["p95"], one.is_baseline, one.is_on_front)
            )
    return cost_against_latency(points) if len(points) > 1 else None


def _find(project: Project, run_id: int) -> Run:
    found = (
        Run.objects.filter(project=project, pk=run_id)
        .select_related("server", "calibration")
        .prefetch_related("scenarios")
        .first()
        if run_id < 2**63
        else None
    )
    if found is None:
        raise Http404("This project has no what-if run of this number.")
    return found
