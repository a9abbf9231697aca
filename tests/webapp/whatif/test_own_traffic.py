"""Traffic of the real engine with its real model, recorded, replayed: simulated beside recorded."""

import os
import random
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest
from django.utils.timezone import now

from tests.engine.run.waiting import until
from tests.webapp.whatif.test_pages import worked_out
from webapp.telemetry.queries import Scope, count_calls, recorded_steps
from webapp.whatif.asking import question_of
from webapp.whatif.create import checked_run
from webapp.whatif.models import State
from webapp.whatif.reading import checks_of, scenarios_of

CALLS = 60


@pytest.fixture
def engine_url(live_server, server_key, tmp_path):
    """The engine as it is started for users, in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "engine", "--port", str(port), "--threads", "1"]
    telemetry = ["--otlp-endpoint", live_server.url, "--spool", str(tmp_path / "spool")]
    process = subprocess.Popen(
        [*command, *telemetry, "--model-cache", "var/models"],
        env=os.environ | {"INFEROMETER_OTLP_KEY": server_key},
    )
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: answers(url), 120, "the engine's start")
        yield url
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.django_db(transaction=True)
def test_simulated_latencies_of_own_traffic_are_near_the_recorded(project, server, engine_url):
    start = now()
    send_calls(engine_url)
    end = now()
    until(lambda: count_calls(Scope(project.pk, start, end)) == CALLS, 30, f"{CALLS} calls")
    until(lambda: len(recorded_steps(server.pk, start, end)) > 100, 30, "recorded steps")

    question = question_of(project, {"from": start, "to": end, "max_num_seqs": "2"})
    run = worked_out(checked_run(project, question))
    assert run.state == State.FINISHED, run.error
    checks = {
        (check.metric, check.percentile): check for check in checks_of(run, scenarios_of(run))
    }
    for name in ("p50", "p95"):
        check = checks["e2e_s", name]
        print(f"{name} E2E: recorded {check.recorded:.4f} s, simulated {check.simulated:.4f} s")
        # Whatever else this machine does meanwhile, a third off would be another engine.
        assert abs(check.error) < 0.33
    assert run.calibration.source == "steps"


def answers(url):
    try:
        return httpx.get(f"{url}/health", timeout=1).status_code == 200
    except httpx.HTTPError:
        return False


def send_calls(url):
    """Bursts and pauses, prompts and answers of many lengths."""
    rng = random.Random(3)
    client = httpx.Client(base_url=url, timeout=120)
    threads = []
    for _ in range(CALLS):
        words = " ".join(rng.choice(("tell", "me", "of", "rivers", "and")) for _ in range(30))
        body = {"prompt": words, "max_tokens": rng.randrange(4, 32), "ignore_eos": True}
        threads.append(
            threading.Thread(target=client.post, args=("/v1/completions",), kwargs={"json": body})
        )
        threads[-1].start()
        time.sleep(rng.expovariate(1 / 0.2))
    for thread in threads:
        thread.join()
    client.close()
