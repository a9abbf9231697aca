"""Keeps one process alive: starts it again when it dies, and ends it when the supervisor ends.

A child is in a session of its own, so that only its keeper decides when and how it stops.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from webapp.embedded.paths import CannotStart

_SET_PARENT_DEATH_SIGNAL = 1
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 15.0
# A child that lived this long was well: its next death is answered at once again.
_WELL_AFTER_S = 30.0
_POLL_S = 0.1


class NotYet(Exception):
    """What a job needs is not there yet; its keeper asks again in a moment, without a word."""


@dataclass(frozen=True)
class Job:
    """What a keeper runs.

    `prepare` is called before each start and may raise CannotStart or NotYet.
    `stop` are signals with the seconds to wait after each; the last resort is always SIGKILL.
    `sweep`: kill what is left of the child's session after its death.
    """

    name: str
    command: Callable[[], Sequence[str]]
    prepare: Callable[[], None] = lambda: None
    environment: Callable[[], dict[str, str]] = dict
    stop: tuple[tuple[int, float], ...] = ((signal.SIGTERM, 4.0),)
    sweep: bool = True


@dataclass
class Keeper:
    """Runs a job until it is told to stop, or until `supervisor` is gone."""

    job: Job
    supervisor: int | None = None
    _stopping: bool = False
    _child: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_stop)
        pause = _FIRST_PAUSE_S
        while not self._told_to_stop():
            started = time.monotonic()
            try:
                self._start()
                self._watch()
            except NotYet:
                self._sleep(_POLL_S)
                continue
            except CannotStart as error:
                self._say(str(error))
            if self._told_to_stop():
                break
            lived = time.monotonic() - started
            pause = _FIRST_PAUSE_S if lived > _WELL_AFTER_S else min(2 * pause, _LONGEST_PAUSE_S)
            self._say(f"ended after {lived:.0f} s; starting it again")
            self._sleep(pause / 2)
        self._end_child()
        return 0

    def _start(self) -> None:
        self.job.prepare()
        if self._told_to_stop():
            return
        self._child = subprocess.Popen(
            list(self.job.command()),
            env={**os.environ, **self.job.environment()},
            start_new_session=True,
            preexec_fn=die_with_parent,
        )

    def _watch(self) -> None:
        child = self._child
        while child is not None and not self._told_to_stop():
            with suppress(subprocess.TimeoutExpired):
                child.wait(_POLL_S)
                if self.job.sweep:
                    _kill_session(child.pid)
                self._child = None
                return

    def _end_child(self) -> None:
        child = self._child
        if child is None:
            return
        for number, wait_s in self.job.stop:
            if child.poll() is None:
                child.send_signal(number)
                with suppress(subprocess.TimeoutExpired):
                    child.wait(wait_s)
        if child.poll() is None:
            child.kill()
            child.wait()
        if self.job.sweep:
            _kill_session(child.pid)

    def _told_to_stop(self) -> bool:
        if not self._stopping and self.supervisor is not None and not is_alive(self.supervisor):
            self._stopping = True
        return self._stopping

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._told_to_stop():
            time.sleep(_POLL_S)

    def _on_stop(self, number: int, frame: object) -> None:
        self._stopping = True

    def _say(self, text: str) -> None:
        print(f"{self.job.name}: {text}", file=sys.stderr, flush=True)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def die_with_parent() -> None:
    """Ask the kernel to end this process when its parent is gone, however that went."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def _kill_session(leader: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
