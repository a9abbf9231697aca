"""Replays calls through the engine's own scheduler, with step times from a model.

The same `Scheduler` that serves requests decides every step; only the model run is replaced by the
time it would take. Deterministic: the same calls give the same answer, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engine.config import EngineConfig
from engine.events import Finished
from engine.request import Request
from engine.scheduler import Scheduler, StepPlan
from engine.sim.clock import SimClock
from engine.sim.step_time import StepFeatures, StepTimeModel
from engine.sim.workload import SimCall

Floats = npt.NDArray[np.float64]

PARTS = ("weights", "cache", "compute", "overhead")
_CHECK_EVERY = 64


class Stopped(Exception):
    """The simulation was told to stop."""


@dataclass(frozen=True)
class SimResult:
    """What would have happened. Arrays are by call, in the order given; NaN where undefined.

    `itl_s` stands for `itl_counts` gaps each. `busy_s` and `parts_s` sum replicas, `makespan_s`
    is from the first arrival to the last end. `cache_peak` is the largest share of blocks in use.
    """

    ttft_s: Floats
    tpot_s: Floats
    e2e_s: Floats
    queue_s: Floats
    itl_s: Floats
    itl_counts: Floats
    steps: int
    busy_s: float
    makespan_s: float
    preemptions: int
    rejected: int
    cached_tokens: int
    cache_peak: float
    batch_mean: float
    parts_s: dict[str, float]


@dataclass
class _Tally:
    """Sums over all replicas while they run."""

    steps: int = 0
    busy_s: float = 0.0
    preemptions: int = 0
    rejected: int = 0
    cached_tokens: int = 0
    peak_blocks: int = 0
    sequences: int = 0
    last_end_s: float = 0.0
    parts: list[float] = field(default_factory=lambda: [0.0] * len(PARTS))
    gaps: dict[float, int] = field(default_factory=dict)


class _Times:
    """When each call was scheduled, spoke first, spoke last."""

    def __init__(self, count: int) -> None:
        self.scheduled = np.full(count, np.nan)
        self.first = np.full(count, np.nan)
        self.last = np.full(count, np.nan)


def simulate(
    calls: Sequence[SimCall],
    config: EngineConfig,
    model: StepTimeModel,
    *,
    replicas: int = 1,
    on_progress: Callable[[float], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> SimResult:
    """Serve `calls` with `replicas` engines that take turns at arrivals.

    `on_progress` gets the share of calls that ended. Raises Stopped when `should_stop` says so.
    """
    order = sorted(range(len(calls)), key=lambda index: calls[index].arrival_s)
    times, tally = _Times(len(calls)), _Tally()
    done = 0

    def ended(count: int) -> None:
        nonlocal done
        done += count
        if should_stop is not None and should_stop():
            raise Stopped
        if on_progress is not None:
            on_progress(done / len(calls))

    for replica in range(replicas):
        _Replica(calls, order[replica::replicas], config, model, times, tally).run(ended)
    return _result(calls, times, tally, config)


class _Replica:
    """One engine, and the calls that are its."""

    def __init__(
        self,
        calls: Sequence[SimCall],
        turns: Sequence[int],
        config: EngineConfig,
        model: StepTimeModel,
        times: _Times,
        tally: _Tally,
    ) -> None:
        self._calls, self._turns = calls, turns
        self._scheduler = Scheduler(config)
        self._model, self._times, self._tally = model, times, tally
        self._clock = SimClock()
        self._next = 0
        self._index: dict[str, int] = {}

    def run(self, ended: Callable[[int], None]) -> None:
        waiting_to_tell, steps = 0, 0
        while self._next < len(self._turns) or self._scheduler.has_work:
            waiting_to_tell += self._arrivals()
            if self._scheduler.has_work:
                waiting_to_tell += self._step()
            elif self._next < len(self._turns):
                self._clock.wait_until(self._calls[self._turns[self._next]].arrival_s)
            steps += 1
            if steps % _CHECK_EVERY == 0:
                ended(waiting_to_tell)
                waiting_to_tell = 0
        ended(waiting_to_tell)

    def _arrivals(self) -> int:
        """Submit what has arrived; how many were refused, and so have ended."""
        refused = 0
        while self._next < len(self._turns):
            index = self._turns[self._next]
            call = self._calls[index]
            if call.arrival_s > self._clock.now:
                break
            self._next += 1
            request = Request(
                str(index),
                None,
                call.output_tokens,
                ignore_eos=True,
                arrival=call.arrival_s,
                num_prompt_tokens=call.input_tokens,
                prefix_hashes=call.prefix_hashes,
            )
            if self._scheduler.submit(request, self._clock.now) is not None:
                refused += 1
                continue
            self._index[request.request_id] = index
        self._tally.rejected += refused
        return refused

    def _step(self) -> int:
        """One step; how many calls ended with it."""
        began = self._clock.now
        plan = self._scheduler.schedule(began)
        self._tally.preemptions += len(plan.preempted)
        if plan.is_empty:
            return 0
        end = self._clock.advance(self._cost(plan))
        emitted = self._note(plan, began, end)
        events = self._scheduler.commit(plan, emitted, end)
        self._clock.advance(self._model.gap_s)
        finished = [event for event in events if isinstance(event, Finished)]
        for event in finished:
            del self._index[event.request_id]
        self._tally.last_end_s = max(self._tally.last_end_s, end)
        return len(finished)

    def _cost(self, plan: StepPlan) -> float:
        tally = self._tally
        parts = self._model.parts(features_of(plan))
        for place, seconds in enumerate(parts):
            tally.parts[place] += seconds
        total = sum(parts)
        tally.steps += 1
        tally.busy_s += total
        tally.sequences += len(plan.entries)
        tally.peak_blocks = max(tally.peak_blocks, self._scheduler.num_used_blocks)
        return total

    def _note(self, plan: StepPlan, began: float, end: float) -> dict[str, tuple[int, ...]]:
        """Note the step's times; the token each sampling request gets (which one is no matter)."""
        times, gaps = self._times, self._tally.gaps
        emitted: dict[str, tuple[int, ...]] = {}
        for entry in plan.entries:
            request = entry.request
            index = self._index[request.request_id]
            if np.isnan(times.scheduled[index]):
                times.scheduled[index] = began
                self._tally.cached_tokens += entry.start
            if not entry.samples:
                continue
            emitted[request.request_id] = (0,)
            if request.num_output_tokens == 0:
                times.first[index] = end
            else:
                gap = round(end - float(times.last[index]), 7)
                gaps[gap] = gaps.get(gap, 0) + 1
            times.last[index] = end
        return emitted


def features_of(plan: StepPlan) -> StepFeatures:
    """The quantities a step's time depends on, as the engine records them."""
    context = prefill = prefill_context = 0
    for entry in plan.entries:
        reached = entry.start + entry.num_tokens
        if entry.is_prefill:
            prefill += entry.num_tokens
            prefill_context += reached
        else:
            context += reached
    return StepFeatures(len(plan.entries), context, prefill, prefill_context)


def _result(
    calls: Sequence[SimCall], times: _Times, tally: _Tally, config: EngineConfig
) -> SimResult:
    arrivals = np.array([call.arrival_s for call in calls])
    after_first = np.array([call.output_tokens - 1 for call in calls], dtype=np.float64)
    after_first[after_first <= 0] = np.nan
    first_arrival = float(arrivals.min()) if len(arrivals) else 0.0
    return SimResult(
        ttft_s=times.first - arrivals,
        tpot_s=(times.last - times.first) / after_first,
        e2e_s=times.last - arrivals,
        queue_s=times.scheduled - arrivals,
        itl_s=np.array(list(tally.gaps), dtype=np.float64),
        itl_counts=np.array(list(tally.gaps.values()), dtype=np.float64),
        steps=tally.steps,
        busy_s=tally.busy_s,
        makespan_s=max(tally.last_end_s - first_arrival, 0.0),
        preemptions=tally.preemptions,
        rejected=tally.rejected,
        cached_tokens=tally.cached_tokens,
        cache_peak=tally.peak_blocks / config.num_blocks,
        batch_mean=tally.sequences / tally.steps if tally.steps else 0.0,
        parts_s=dict(zip(PARTS, tally.parts, strict=True)),
    )
