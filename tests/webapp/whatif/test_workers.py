"""Real Celery workers: a run is worked out, cancelled, and survives a worker that is killed."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import connection
from django.utils.timezone import now

from tests.engine.run.waiting import until
from tests.webapp.whatif.traffic import START, WINDOW, record
from webapp.whatif import running
from webapp.whatif.asking import question_of
from webapp.whatif.create import create_run
from webapp.whatif.models import Run, State
from webapp.whatif.tasks import run_scenario

pytestmark = pytest.mark.django_db(transaction=True)


def database_url():
    found = connection.settings_dict
    user = found["USER"] + (f":{found['PASSWORD']}" if found["PASSWORD"] else "")
    if found["HOST"].startswith("/"):
        return f"postgresql://{user}@/{found['NAME']}?host={found['HOST']}"
    return f"postgresql://{user}@{found['HOST']}:{found['PORT'] or 5432}/{found['NAME']}"


@pytest.fixture
def start_worker():
    started = []

    def start():
        command = [sys.executable, "-m", "celery", "-A", "webapp", "worker"]
        options = ["--queues", "whatif", "--concurrency", "1", "--loglevel", "warning"]
        worker = subprocess.Popen(
            [*command, *options, "--without-gossip", "--without-mingle"],
            env=os.environ | {"DATABASE_URL": database_url()},
            start_new_session=True,
        )
        started.append(worker)
        return worker

    yield start
    for worker in started:
        kill(worker)


def kill(worker):
    """The worker and its children, at once: none of them gets to say goodbye."""
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait(10)


@pytest.fixture
def long_run(project, server, server_key):
    """Three scenarios, each of several seconds of work."""
    record(server_key, 1600, every_s=2.0, output=60)
    question = question_of(
        project, {"from": START, "to": START + WINDOW, "max_num_seqs": "4", "replicas": "1,2"}
    )
    return create_run(project, question)


def state_of(run):
    run.refresh_from_db()
    return run.state


def test_killed_worker_is_replaced_and_nothing_finished_is_done_again(long_run, start_worker):
    first = start_worker()
    until(
        lambda: long_run.scenarios.filter(state=State.RUNNING, progress__gt=0).exists(),
        60,
        "progress",
    )
    done = set(long_run.scenarios.filter(state=State.FINISHED).values_list("index", flat=True))
    kill(first)
    start_worker()
    at = now() + running.SILENT_AFTER + timedelta(seconds=1)
    assert running.rescue(at, run_scenario.delay) >= 1
    until(lambda: state_of(long_run) == State.FINISHED, 120, "the end of the run")
    attempts = dict(long_run.scenarios.values_list("index", "attempts"))
    assert max(attempts.values()) == 2
    assert all(attempts[index] == 1 for index in done)
    assert all(row.result["calls"] == 1600 for row in long_run.scenarios.all())


def test_cancelled_run_stops_within_seconds(long_run, start_worker):
    start_worker()
    until(
        lambda: long_run.scenarios.filter(state=State.RUNNING, progress__gt=0).exists(),
        60,
        "progress",
    )
    running.cancel_run(Run.objects.get(pk=long_run.pk))
    until(lambda: state_of(long_run) == State.CANCELLED, 20, "the end of the run")
    assert not long_run.scenarios.filter(state=State.RUNNING).exists()
