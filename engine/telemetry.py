"""Takes finished calls and steps off the engine's thread, onto disk, and to the exporter.

The engine's thread only puts things in a queue. A writer thread encodes them, fsyncs them together,
and only then tells each call's client that it is done: what was answered is on disk.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.exporter import Exporter
from engine.otlp import SpanFacts, StepBatch, encode_span, encode_steps
from engine.spool import SPAN, STEPS, Frame, Spool

log = logging.getLogger(__name__)

_STEP_BATCH = 512
_STEP_BATCH_S = 2.0


@dataclass(frozen=True)
class _EndedCall:
    facts: Callable[[], SpanFacts]
    written: Callable[[], None]


@dataclass(frozen=True)
class _Step:
    index: int
    started_unix_ns: int
    row: tuple[int, ...]


@dataclass(frozen=True)
class _Stop:
    pass


class Telemetry:
    """The way out of the engine. Without a spool nothing is kept, and clients wait for nothing."""

    def __init__(self, run_id: str, spool: Spool | None, exporter: Exporter | None) -> None:
        self.run_id = run_id
        self._spool = spool
        self._exporter = exporter
        self._queue: queue.SimpleQueue[_EndedCall | _Step | _Stop] = queue.SimpleQueue()
        self._steps: list[_Step] = []
        self._steps_since = 0.0
        self.lost_records = 0
        self._thread = threading.Thread(target=self._run, name="telemetry-writer", daemon=True)

    @property
    def dropped(self) -> int:
        """Records that could not be kept or that the receiver refused."""
        spooled = self._spool.dropped_frames if self._spool else 0
        refused = self._exporter.refused_records if self._exporter else 0
        return self.lost_records + spooled + refused

    def start(self) -> None:
        self._thread.start()
        if self._exporter:
            self._exporter.start()

    def call_ended(self, facts: Callable[[], SpanFacts], written: Callable[[], None]) -> None:
        """Keep a call's span; `written` runs on the writer's thread once it is on disk."""
        self._queue.put(_EndedCall(facts, written))

    def step_ended(self, index: int, started_unix_ns: int, row: tuple[int, ...]) -> None:
        """Keep a step; `row` is in the order of STEP_COLUMNS without the start offset."""
        if self._spool:
            self._queue.put(_Step(index, started_unix_ns, row))

    def close(self) -> None:
        """Write everything queued, try once more to send it, and let go of the folder."""
        self._queue.put(_Stop())
        self._thread.join()
        if self._exporter:
            self._exporter.stop()
        if self._spool:
            self._spool.close()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            items = self._next_items()
            stopping = any(isinstance(item, _Stop) for item in items)
            calls = [item for item in items if isinstance(item, _EndedCall)]
            for item in items:
                if isinstance(item, _Step):
                    self._add_step(item)
            self._write(calls, steps=stopping or self._steps_due())

    def _next_items(self) -> list[_EndedCall | _Step | _Stop]:
        items: list[_EndedCall | _Step | _Stop] = []
        try:
            items.append(self._queue.get(timeout=_STEP_BATCH_S if self._steps else None))
            while True:
                items.append(self._queue.get_nowait())
        except queue.Empty:
            return items

    def _add_step(self, step: _Step) -> None:
        if not self._steps:
            self._steps_since = time.monotonic()
        self._steps.append(step)

    def _steps_due(self) -> bool:
        if not self._steps:
            return False
        old = time.monotonic() - self._steps_since >= _STEP_BATCH_S
        return old or len(self._steps) >= _STEP_BATCH

    def _write(self, calls: list[_EndedCall], *, steps: bool) -> None:
        if self._spool:
            frames = [Frame(SPAN, encode_span(call.facts())) for call in calls]
            if steps and self._steps:
                frames.append(Frame(STEPS, encode_steps(self._take_steps())))
            self._keep(self._spool, frames)
        for call in calls:
            call.written()

    def _keep(self, spool: Spool, frames: list[Frame]) -> None:
        if not frames:
            return
        try:
            spool.append(frames)
        except OSError as error:
            # A full disk must not stop answers; what is lost is counted and shown.
            self.lost_records += len(frames)
            log.error("telemetry could not be written to disk: %s", error)
        if self._exporter:
            self._exporter.nudge()

    def _take_steps(self) -> StepBatch:
        steps, self._steps = self._steps, []
        first = steps[0]
        rows = [((s.started_unix_ns - first.started_unix_ns) // 1000, *s.row) for s in steps]
        return StepBatch(self.run_id, first.index, first.started_unix_ns, rows)
