"""Who works on which scenario: claims, heartbeats, ends, cancelling and rescue.

Every change of state is one conditional update whose row count says whether it happened, so any
number of workers, and any number of deliveries of the same message, come to the same end.
"""

import time
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db.models import F, Q, QuerySet
from django.utils.timezone import now

from webapp.whatif.models import OPEN, Run, ScenarioResult, State

MAX_ATTEMPTS = 3
# A running scenario reports at least every second; silent for this long, its worker is gone.
SILENT_AFTER = timedelta(seconds=30)
# A message that nobody took for this long is sent again (the broker may have lost it).
RESEND_AFTER = timedelta(minutes=10)
REPORT_EVERY_S = 0.5


class Cancelled(Exception):
    """The run was cancelled, or another worker took the scenario over."""


class Report:
    """Tells the database how far a claimed scenario is, and learns whether to stop."""

    def __init__(self, scenario: ScenarioResult) -> None:
        self._scenario = scenario
        self._next_at = 0.0
        self._progress = 0.0
        self.stopped = False

    def progress(self, share: float) -> None:
        """Note the share of calls replayed; written at most twice a second."""
        self._progress = share
        self.should_stop()

    def should_stop(self) -> bool:
        """Whether to give up: cancelled, or no longer ours."""
        if self.stopped or time.monotonic() < self._next_at:
            return self.stopped
        held = _held(self._scenario).update(
            heartbeat_at=now(), progress=max(0.0, min(1.0, self._progress))
        )
        cancelled = Run.objects.filter(pk=self._scenario.run_id, cancel_requested=True).exists()
        self.stopped = cancelled or not held
        self._next_at = time.monotonic() + REPORT_EVERY_S
        return self.stopped


def claim(run_id: int, index: int) -> ScenarioResult | None:
    """Take a queued scenario; None where another worker has it, or there is nothing to do."""
    token = uuid.uuid4()
    taken = ScenarioResult.objects.filter(
        run_id=run_id,
        index=index,
        state=State.QUEUED,
        run__state__in=OPEN,
        run__cancel_requested=False,
    ).update(
        state=State.RUNNING,
        claim=token,
        attempts=F("attempts") + 1,
        started_at=now(),
        heartbeat_at=now(),
        progress=0,
    )
    if not taken:
        return None
    Run.objects.filter(pk=run_id, state=State.QUEUED).update(state=State.RUNNING, started_at=now())
    return ScenarioResult.objects.select_related("run__server", "run__calibration").get(
        run_id=run_id, index=index
    )


def finish_scenario(scenario: ScenarioResult, result: dict[str, object]) -> None:
    _held(scenario).update(
        state=State.FINISHED, result=result, progress=1, finished_at=now(), claim=None
    )


def fail_scenario(scenario: ScenarioResult, sentence: str) -> None:
    _held(scenario).update(state=State.FAILED, error=sentence, finished_at=now(), claim=None)


def cancel_scenario(scenario: ScenarioResult) -> None:
    _held(scenario).update(state=State.CANCELLED, finished_at=now(), claim=None)


def cancel_run(run: Run) -> bool:
    """Ask for an end: what waits is cancelled at once, what runs within a second."""
    asked = Run.objects.filter(pk=run.pk, state__in=OPEN).update(cancel_requested=True)
    run.scenarios.filter(state=State.QUEUED).update(state=State.CANCELLED, finished_at=now())
    finish_run(run.pk)
    return bool(asked)


def finish_run(run_id: int) -> bool:
    """Close the run if none of its scenarios is open; whether this call closed it."""
    scenarios = ScenarioResult.objects.filter(run_id=run_id)
    if scenarios.filter(state__in=OPEN).exists():
        return False
    failed = scenarios.filter(state=State.FAILED).order_by("index").first()
    state, error = State.FINISHED, ""
    if failed is not None:
        state, error = State.FAILED, failed.error
    elif scenarios.filter(state=State.CANCELLED).exists():
        state = State.CANCELLED
    closed = Run.objects.filter(pk=run_id, state__in=OPEN).update(
        state=state, error=error, finished_at=now()
    )
    return bool(closed)


def rescue(
    at: datetime, send: Callable[[int, int], None], *, silent_after: timedelta = SILENT_AFTER
) -> int:
    """Put scenarios of silent workers back in the queue, or fail them; how many were found.

    Finished scenarios are left as they are, so a resumed run repeats none of them.
    """
    silent = ScenarioResult.objects.filter(
        state=State.RUNNING, run__state__in=OPEN, heartbeat_at__lt=at - silent_after
    )
    lost = ScenarioResult.objects.filter(
        state=State.QUEUED, run__state__in=OPEN, queued_at__lt=at - RESEND_AFTER
    )
    found = list(silent.select_related("run")) + list(lost.select_related("run"))
    for scenario in found:
        if _requeue(scenario, at):
            send(scenario.run_id, scenario.index)
    for run_id in Run.objects.filter(state__in=OPEN).values_list("pk", flat=True):
        finish_run(run_id)
    return len(found)


def _requeue(scenario: ScenarioResult, at: datetime) -> bool:
    """Whether the scenario waits again. The claim seen is a condition, so a live one wins."""
    unchanged = ScenarioResult.objects.filter(
        pk=scenario.pk, state=scenario.state, claim=scenario.claim
    ).filter(Q(heartbeat_at=scenario.heartbeat_at) | Q(heartbeat_at=None))
    if scenario.run.cancel_requested:
        unchanged.update(state=State.CANCELLED, finished_at=at, claim=None)
        return False
    if scenario.attempts >= MAX_ATTEMPTS:
        unchanged.update(
            state=State.FAILED,
            finished_at=at,
            claim=None,
            error=f"Scenario {scenario.index} was given up: its worker stopped without a word "
            f"{scenario.attempts} times. Look for a worker that is out of memory, or ask about a "
            "shorter window.",
        )
        return False
    return bool(
        unchanged.update(
            state=State.QUEUED, queued_at=at, claim=None, heartbeat_at=None, progress=0
        )
    )


def _held(scenario: ScenarioResult) -> QuerySet[ScenarioResult]:
    return ScenarioResult.objects.filter(pk=scenario.pk, state=State.RUNNING, claim=scenario.claim)
