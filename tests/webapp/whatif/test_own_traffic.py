"""The engine's own traffic, recorded over HTTP, replayed: simulated beside recorded."""

import random
import time
from datetime import timedelta

import pytest
from django.utils.timezone import now

from engine.config import EngineConfig
from engine.engine import Engine
from engine.exporter import Exporter
from engine.spool import Spool
from engine.telemetry import Telemetry
from engine.tiny import tiny_model
from tests.engine.run.conftest import SIZES, Listening
from tests.engine.run.test_engine import spec
from tests.engine.run.waiting import until
from tests.webapp.whatif.test_pages import worked_out
from webapp.telemetry.queries import Scope, count_calls, recorded_steps
from webapp.whatif.asking import question_of
from webapp.whatif.create import checked_run
from webapp.whatif.models import State
from webapp.whatif.reading import checks_of, scenarios_of

CALLS = 150


@pytest.mark.django_db(transaction=True)
def test_simulated_latencies_of_own_traffic_are_near_the_recorded(
    project, server, server_key, live_server, tmp_path
):
    spool = Spool(tmp_path / "spool")
    resource = {"service.name": "engine", "inferometer.server": "engine"}
    exporter = Exporter(spool, endpoint=live_server.url, key=server_key, resource=resource)
    engine = Engine(tiny_model(), EngineConfig(**SIZES), Telemetry("run", spool, exporter))
    start = now() - timedelta(seconds=1)
    engine.start()
    try:
        send_calls(engine)
        scope = Scope(project.pk, start, now() + timedelta(minutes=1))
        until(lambda: count_calls(scope) == CALLS, 30, f"{CALLS} recorded calls")
    finally:
        engine.shutdown()
    until(lambda: len(recorded_steps(server.pk, start, now())) > 40, 30, "recorded steps")

    question = question_of(project, {"from": start, "to": now(), "max_num_seqs": "2"})
    run = worked_out(checked_run(project, question))
    assert run.state == State.FINISHED, run.error
    checks = {
        (check.metric, check.percentile): check for check in checks_of(run, scenarios_of(run))
    }
    for name in ("p50", "p95"):
        check = checks["e2e_s", name]
        print(f"{name} E2E: recorded {check.recorded:.4f} s, simulated {check.simulated:.4f} s")
        # Whatever else the machine does meanwhile, half or twice would be another engine.
        assert abs(check.error) < 0.5
    assert run.calibration.source == "steps"


def send_calls(engine):
    """Bursts and pauses, prompts and answers of many lengths."""
    rng = random.Random(3)
    listening = []
    for _ in range(CALLS):
        prompt = [rng.randrange(5, 200) for _ in range(rng.randrange(4, 120))]
        listening.append(Listening(engine, spec(prompt, max_tokens=rng.randrange(4, 40))))
        time.sleep(rng.expovariate(1 / 0.02))
    for one in listening:
        one.finish()
