"""REST: ask what would have been, and read the answer."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Field, Router, Schema, Status
from pydantic import ConfigDict

from webapp.accounts.models import Project
from webapp.api.auth import READ, WRITE
from webapp.api.problems import Problem
from webapp.whatif import running
from webapp.whatif.asking import question_of
from webapp.whatif.create import create_run
from webapp.whatif.models import Calibration, Run
from webapp.whatif.params import BadRun
from webapp.whatif.reading import Scenario, checks_of, progress_of, scenarios_of

router = Router(tags=["what-if"])

One = str | int | float | bool
OneOrMore = One | list[One] | None


class RunIn(Schema):
    """A window of a server's calls, and values to try: one or several of each, every combination
    of which is a scenario. What is left out stays as recorded. The recorded setting itself is
    always simulated too, as the first scenario.
    """

    model_config = ConfigDict(populate_by_name=True, extra="forbid")

    server: str | None = Field(None, description="without: the own server with the most calls")
    from_: datetime | None = Field(None, alias="from", description="without: a day before `to`")
    to: datetime | None = Field(None, description="without: now")
    model: str | None = None
    name: str = ""
    recorded_precision: str | None = Field(None, description="what the server runs; else bf16")
    precision: OneOrMore = Field(None, description="bf16 fp8 int8 int4")
    kv_precision: OneOrMore = Field(None, description="bf16 fp8")
    max_num_seqs: OneOrMore = Field(None, description="most sequences in a batch")
    batch_limit: OneOrMore = Field(None, description="the same as max_num_seqs")
    max_batch: OneOrMore = Field(None, description="the same as max_num_seqs")
    max_batched_tokens: OneOrMore = Field(None, description="most tokens in a step")
    chunked_prefill: OneOrMore = None
    prefix_cache: OneOrMore = None
    hardware: OneOrMore = Field(None, description='a row of the catalogue, or "this machine"')
    count: OneOrMore = Field(None, description="cards in a replica")
    replicas: OneOrMore = None
    arrival_scale: OneOrMore = Field(None, description="traffic, in multiples of the recorded")
    price_per_hour: OneOrMore = Field(None, description="USD of a card and hour, exact decimal")
    seed: int = 0


class ScenarioOut(Schema):
    index: int
    words: str
    state: str
    error: str
    progress: float
    is_on_front: bool
    changes: dict[str, float | None]
    result: dict[str, Any] | None


class CheckOut(Schema):
    """A recorded percentile beside the simulated one; `error` is relative to the recorded."""

    metric: str
    percentile: str
    recorded: float
    simulated: float | None
    error: float | None


class RunRow(Schema):
    id: int
    name: str
    state: str
    error: str
    server: str
    window_start: datetime
    window_end: datetime
    created_at: datetime
    finished_at: datetime | None


class RunOut(RunRow):
    """`baseline` is what was recorded, `calibration` the fit of step times it rests on."""

    progress: float
    baseline: dict[str, Any] | None
    calibration: dict[str, Any] | None
    calibration_error: list[CheckOut]
    scenarios: list[ScenarioOut]


class RunList(Schema):
    items: list[RunRow]


@router.post("whatif", auth=WRITE, response={201: RunOut}, summary="Start a what-if run")
def start(request: HttpRequest, payload: RunIn) -> Status[dict[str, Any]]:
    given = payload.dict(by_alias=True, exclude_none=True)
    for edge in ("from", "to"):
        if edge in given and given[edge].tzinfo is None:
            raise Problem(422, "Not valid", f"{edge} needs an offset, as in 2026-11-30T00:00Z.")
    project = request.auth.project
    try:
        run = create_run(project, question_of(project, given))
    except BadRun as error:
        raise Problem(422, "Not valid", str(error)) from error
    return Status(201, _shown(run))


@router.get("whatif", auth=READ, response=RunList, summary="The latest runs")
def runs(request: HttpRequest, limit: int = 50) -> dict[str, Any]:
    if not 1 <= limit <= 500:
        raise Problem(422, "Not valid", "limit must be from 1 to 500.")
    found = Run.objects.filter(project=request.auth.project).select_related("server")
    return {"items": [_row(run) for run in found.order_by("-created_at", "-pk")[:limit]]}


@router.get("whatif/{run_id}", auth=READ, response=RunOut, summary="Progress and results")
def run(request: HttpRequest, run_id: int) -> dict[str, Any]:
    return _shown(_find(request.auth.project, run_id))


@router.post("whatif/{run_id}/cancel", auth=WRITE, response=RunOut, summary="Stop a run")
def cancel(request: HttpRequest, run_id: int) -> dict[str, Any]:
    found = _find(request.auth.project, run_id)
    running.cancel_run(found)
    return _shown(_find(request.auth.project, run_id))


def _find(project: Project, run_id: int) -> Run:
    found = (
        Run.objects.filter(project=project, pk=run_id)
        .select_related("server", "calibration")
        .prefetch_related("scenarios")
        .first()
        if 0 < run_id < 2**63
        else None
    )
    if found is None:
        raise Problem(404, "Not found", "This project has no what-if run of this id.")
    return found


def _row(run: Run) -> dict[str, Any]:
    names = ("name", "state", "error", "window_start", "window_end", "created_at", "finished_at")
    return {
        "id": run.pk,
        "server": run.server.name,
        **{name: getattr(run, name) for name in names},
    }


def _shown(run: Run) -> dict[str, Any]:
    scenarios = scenarios_of(run)
    return _row(run) | {
        "progress": progress_of(scenarios),
        "baseline": run.baseline,
        "calibration": _calibration(run.calibration),
        "calibration_error": [vars(check) for check in checks_of(run, scenarios)],
        "scenarios": [_scenario(one) for one in scenarios],
    }


def _scenario(scenario: Scenario) -> dict[str, Any]:
    return dict(vars(scenario))


def _calibration(fit: Calibration | None) -> dict[str, Any] | None:
    if fit is None:
        return None
    names = ("source", "coefficients", "residual_quantiles", "r_squared", "step_count")
    return {name: getattr(fit, name) for name in names}
