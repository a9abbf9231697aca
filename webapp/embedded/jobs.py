"""The processes of the stack: what each runs, needs before it starts, and how it is stopped."""

import os
import signal
import sys
import time
from collections.abc import Callable

from webapp.embedded import broker, postgres
from webapp.embedded.installation import Installation
from webapp.embedded.keeper import Job, NotYet
from webapp.embedded.paths import CannotStart

_PYTHON = sys.executable
# Fast shutdown only when the programs that use the database have had a moment to leave it.
_DATABASE_STOP = ((signal.SIGTERM, 2.0), (signal.SIGINT, 2.5))
_WORKER_STOP = ((signal.SIGTERM, 2.0), (signal.SIGQUIT, 1.0))
_LEFTOVER_S = 20.0


def jobs(installation: Installation) -> dict[str, Job]:
    """All jobs by the name the Procfile calls them by."""
    made = [_web(installation), _worker(installation), _beat(installation)]
    made += [_engine(installation), _collector(installation)]
    if installation.own_database:
        made.append(_database(installation))
    if installation.own_broker:
        made.append(_broker(installation))
    return {job.name: job for job in made}


def _database(installation: Installation) -> Job:
    def prepare() -> None:
        end = time.monotonic() + _LEFTOVER_S
        while postgres.leftovers(postgres.data_dir(installation.var)):
            if time.monotonic() > end:
                raise CannotStart(
                    "Processes of the former PostgreSQL do not end; end them by hand."
                )
            time.sleep(0.1)
        postgres.prepare(installation.var)

    return Job(
        "database",
        lambda: postgres.command(installation.var),
        prepare,
        stop=_DATABASE_STOP,
        sweep=False,  # they end by themselves, and must not be cut off while they write
    )


def _broker(installation: Installation) -> Job:
    return Job(
        "broker",
        lambda: broker.command(installation.var),
        lambda: broker.prepare(installation.var),
    )


def _web(installation: Installation) -> Job:
    bind = f"{installation.host}:{installation.ports['web']}"
    words = [
        _PYTHON, "-m", "gunicorn", "webapp.wsgi", "--bind", bind, "--worker-class", "gthread",
        "--workers", os.environ.get("INFEROMETER_WEB_WORKERS") or "2", "--threads", "4",
        "--timeout", "60", "--graceful-timeout", "3", "--keep-alive", "30",
        "--log-level", "warning", "--no-control-socket",
    ]  # fmt: skip
    return Job("web", lambda: words, _when_ready(installation))


def _worker(installation: Installation) -> Job:
    words = [
        _PYTHON, "-m", "celery", "-A", "webapp", "worker", "--queues", "rollup,whatif,reports",
        "--concurrency", os.environ.get("INFEROMETER_WORKERS") or "2", "--loglevel", "WARNING",
        "--without-gossip", "--without-mingle",
    ]  # fmt: skip
    return Job("worker", lambda: words, _when_ready(installation), stop=_WORKER_STOP)


def _beat(installation: Installation) -> Job:
    pid_file = installation.var / "celerybeat.pid"

    def prepare() -> None:
        _when_ready(installation)()
        pid_file.unlink(missing_ok=True)  # a killed beat leaves it, and the next would refuse

    words = [
        _PYTHON, "-m", "celery", "-A", "webapp", "beat", "--loglevel", "WARNING",
        "--pidfile", str(pid_file),
    ]  # fmt: skip
    return Job("beat", lambda: words, prepare)


def _engine(installation: Installation) -> Job:
    words = [
        _PYTHON, "-m", "engine", "--host", installation.host,
        "--port", str(installation.ports["engine"]), "--otlp-endpoint", installation.url("web"),
        "--server-name", "engine", "--spool", str(installation.var / "spool" / "engine"),
        "--model-cache", str(installation.var / "models"), "--log-level", "warning",
    ]  # fmt: skip
    return Job(
        "engine",
        lambda: words,
        _when_ready(installation),
        lambda: {"INFEROMETER_OTLP_KEY": installation.keys()["engine_ingest_key"]},
    )


def _collector(installation: Installation) -> Job:
    words = [
        _PYTHON, "-m", "collectors", "--host", installation.host,
        "--port", str(installation.ports["gateway"]), "--otlp-endpoint", installation.url("web"),
        "--servers-from", installation.url("web") + "/api/v1/servers",
        "--spool", str(installation.var / "spool" / "gateway"),
    ]  # fmt: skip

    def environment() -> dict[str, str]:
        keys = installation.keys()
        return {
            "INFEROMETER_OTLP_KEY": keys["gateway_ingest_key"],
            "INFEROMETER_API_KEY": keys["gateway_read_key"],
            "INFEROMETER_GATEWAY_KEY": keys["gateway_key"],
        }

    return Job("collector", lambda: words, _when_ready(installation), environment)


def _when_ready(installation: Installation) -> Callable[[], None]:
    """A keeper asks again in a moment where this run's keys and tables are not there yet."""

    def check() -> None:
        if not installation.ready.exists():
            raise NotYet

    return check
