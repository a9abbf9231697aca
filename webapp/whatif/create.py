"""Takes a what-if question: refuses what cannot be answered, else writes the run and queues it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from webapp.accounts.models import Project, User
from webapp.domain.hardware import PRECISIONS
from webapp.servers.models import Server
from webapp.telemetry.models import StepBatch
from webapp.telemetry.queries import Scope, count_calls
from webapp.whatif.baseline import MAX_CALLS
from webapp.whatif.models import OPEN, Run, ScenarioResult
from webapp.whatif.params import BadRun, Params, grid
from webapp.whatif.plan import ground_of, route_of
from webapp.whatif.tasks import run_scenario

MAX_WINDOW = timedelta(days=92)
MAX_OPEN_RUNS = 10


@dataclass(frozen=True)
class Question:
    """A window of a server's calls, and values to try; every combination is one scenario."""

    server: str
    start: datetime
    end: datetime
    choices: dict[str, Sequence[Any]] = field(default_factory=dict)
    name: str = ""
    model: str | None = None
    recorded_precision: str = "bf16"
    seed: int = 0


def create_run(project: Project, question: Question, *, by: User | None = None) -> Run:
    """Check and write a run; it starts once a worker has it. Raises BadRun with a sentence."""
    run = checked_run(project, question, by=by)
    for index in run.scenarios.values_list("index", flat=True):
        run_scenario.delay_on_commit(run.pk, index)
    return run


def checked_run(project: Project, question: Question, *, by: User | None = None) -> Run:
    """The same without queueing it: whoever asks runs the scenarios."""
    server = _server(project, question)
    _check_window(project, question)
    scenarios = grid(dict(question.choices))
    _check_scenarios(server, question, scenarios)
    with transaction.atomic():
        run = Run.objects.create(
            project=project,
            created_by=by,
            name=question.name.strip()[:120] or default_name(scenarios),
            server=server,
            window_start=question.start,
            window_end=question.end,
            filters={
                "model": question.model,
                "recorded_precision": question.recorded_precision,
            },
            seed=question.seed,
        )
        ScenarioResult.objects.bulk_create(
            ScenarioResult(run=run, index=index, params=params.to_json())
            for index, params in enumerate(scenarios)
        )
    return run


def default_name(scenarios: Sequence[Params]) -> str:
    """What is asked, in a few words."""
    asked = [params.words() for params in scenarios[1:]]
    if not asked:
        return "As recorded, simulated"
    more = f" and {len(asked) - 1} more" if len(asked) > 1 else ""
    return f"{asked[0]}{more}"[:120]


def _server(project: Project, question: Question) -> Server:
    servers = {server.name: server for server in Server.objects.filter(project=project)}
    server = servers.get(question.server)
    if server is None:
        known = ", ".join(servers) or "none yet"
        raise BadRun(f"There is no server {question.server!r} in this project; known: {known}.")
    if server.kind == Server.Kind.PROVIDER:
        raise BadRun(
            f"{server.name} is a provider's API: its machines are not ours to change. "
            "Choose a server that you run."
        )
    return server


def _check_window(project: Project, question: Question) -> None:
    if question.start >= question.end:
        raise BadRun("The window ends before it starts; give a later end.")
    if question.end - question.start > MAX_WINDOW:
        raise BadRun(f"The window is longer than {MAX_WINDOW.days} days; choose a shorter one.")
    if question.recorded_precision not in PRECISIONS:
        allowed = ", ".join(PRECISIONS)
        raise BadRun(
            f"Precision {question.recorded_precision!r} is not known; choose one of: {allowed}."
        )
    scope = Scope(
        project.pk, question.start, question.end, server=question.server, model=question.model
    )
    calls = count_calls(scope)
    if not calls:
        raise BadRun(
            f"{question.server} has no recorded calls in this window; choose a window with traffic."
        )
    if calls > MAX_CALLS:
        raise BadRun(
            f"The window holds {calls:,} calls; at most {MAX_CALLS:,} are replayed. "
            "Choose a shorter window."
        )
    if Run.objects.filter(project=project, state__in=OPEN).count() >= MAX_OPEN_RUNS:
        raise BadRun(
            f"{MAX_OPEN_RUNS} what-if runs of this project are still open; "
            "wait for one to finish, or cancel one."
        )


def _check_scenarios(server: Server, question: Question, scenarios: Sequence[Params]) -> None:
    has_steps = StepBatch.objects.filter(
        server=server, started_at__gte=question.start, started_at__lt=question.end
    ).exists()
    ground = ground_of(
        server,
        at=question.end,
        precision=question.recorded_precision,
        model=question.model,
        has_steps=has_steps,
    )
    for params in scenarios:
        route_of(ground, params)
