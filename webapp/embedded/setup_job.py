"""The stack's first process: prepares the database, lets the others start, and says where to go.

It stays until the supervisor ends it, because the supervisor ends everything when one process ends.
"""

import os
import signal
import sys
import time
from collections.abc import Callable

import django
import httpx
import redis

from webapp.embedded import broker, postgres
from webapp.embedded.installation import Installation
from webapp.embedded.paths import CannotStart

_SERVICES_S = 120.0
_SERVED_S = 300.0


def run(installation: Installation) -> int:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    os.environ.update(installation.environment())
    _wait(lambda: _database_is_there(installation), _SERVICES_S, "The database does not answer.")
    _wait(lambda: _broker_is_there(installation), _SERVICES_S, "The broker does not answer.")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    first = not installation.credentials.exists()
    _prepare(installation)
    installation.ready.touch()
    web, engine = installation.url("web"), installation.url("engine")
    _wait(lambda: _answers(f"{web}/health"), _SERVED_S, "The web process does not answer.")
    _say(f"Inferometer is at {web}")
    _say(f"user name and password are in {installation.credentials}")
    _wait(lambda: _answers(f"{engine}/health"), _SERVED_S, "The engine does not answer.")
    if first:
        _send_traffic(installation)
    _say(f"the engine serves the OpenAI API at {engine}/v1; stop everything with Ctrl-C")
    while True:
        signal.pause()


def _prepare(installation: Installation) -> None:
    from webapp.embedded import bootstrap

    bootstrap.prepare_database()
    bootstrap.create_first_project(installation)
    bootstrap.refresh_addresses(installation)


def _send_traffic(installation: Installation) -> None:
    from webapp.embedded.traffic import send_traffic

    _say("sending the engine a short workload, so that no page is empty")
    try:
        sent = send_traffic(
            installation.url("engine"),
            otlp_url=installation.url("web"),
            otlp_key=installation.keys()["gateway_ingest_key"],
        )
    except httpx.HTTPError as error:
        _say(f"the workload was not sent ({error}); send it with `manage.py send_traffic`")
        return
    _say(f"{sent.answered} calls answered, {sent.output_tokens} tokens")


def _database_is_there(installation: Installation) -> bool:
    if not installation.own_database:
        return True  # migrating says what is wrong with somebody else's better than we could
    if not postgres.is_ready(installation.var):
        return False
    postgres.create_database(installation.var)
    return True


def _broker_is_there(installation: Installation) -> bool:
    if installation.own_broker:
        return broker.is_ready(installation.var)
    try:
        return bool(redis.Redis.from_url(os.environ["REDIS_URL"]).ping())
    except redis.RedisError:
        return False


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


def _wait(condition: Callable[[], bool], seconds: float, sentence: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise CannotStart(sentence + " See the lines above for the reason.")
        time.sleep(0.1)


def _say(text: str) -> None:
    print(text, flush=True)
