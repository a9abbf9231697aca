"""Celery's side of what-if: one message a scenario, on the queue `whatif`."""

from celery import shared_task
from django.utils.timezone import now

from webapp.whatif import running
from webapp.whatif.replay import run_claimed


@shared_task(name="whatif.run_scenario", acks_late=True, time_limit=900)
def run_scenario(run_id: int, index: int) -> None:
    scenario = running.claim(run_id, index)
    if scenario is None:
        return
    run_claimed(scenario)
    finish_run.delay(run_id)


@shared_task(name="whatif.finish_run", acks_late=True, time_limit=60)
def finish_run(run_id: int) -> None:
    running.finish_run(run_id)


@shared_task(name="whatif.rescue_runs", acks_late=True, time_limit=60)
def rescue_runs() -> None:
    running.rescue(now(), run_scenario.delay)
