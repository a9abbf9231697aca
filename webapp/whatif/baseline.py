"""What was recorded in the window of a run: the traffic to replay, and how it really went."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np

from engine.sim.workload import SimCall
from webapp.domain.compare import Percentiles, percentiles_of
from webapp.servers.models import Server
from webapp.telemetry.queries import RecordedCall, Scope, StepColumns
from webapp.whatif.models import Run

# More calls than this are refused: a worker replays about this many in its time limit.
MAX_CALLS = 2_000_000
# Defaults of the engine, for what a step record does not tell.
ENGINE_MAX_NUM_SEQS, ENGINE_MAX_BATCHED_TOKENS, BLOCK_TOKENS = 32, 1024, 16


@dataclass(frozen=True)
class Traffic:
    """Calls to replay, in order of arrival, and how many recorded ones could not be."""

    calls: list[SimCall]
    input_tokens: int
    output_tokens: int
    left_out: int


@dataclass(frozen=True)
class Recorded:
    """How the calls of the window really went. Times in seconds; None where nothing was timed."""

    calls: int
    left_out: int
    input_tokens: int
    output_tokens: int
    makespan_s: float
    throughput_tokens_per_s: float | None
    busy_share: float | None
    percentiles: dict[str, Percentiles | None]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class RecordedConfig:
    """How the server batches, read off its steps; `assumed` lists what had to be assumed."""

    max_num_seqs: int
    max_batched_tokens: int
    cache_blocks: int | None
    assumed: tuple[str, ...]


def scope_of(run: Run) -> Scope:
    """The calls of a run's window."""
    return Scope(
        run.project_id,
        run.window_start,
        run.window_end,
        server=run.server.name,
        model=run.filters.get("model"),
    )


def is_replayable(call: RecordedCall) -> bool:
    """Whether enough is known of a call to replay it: its tokens, and that it was served."""
    return bool(call.input_tokens and call.output_tokens) and call.status != "rejected"


def traffic_of(recorded: Iterable[RecordedCall], start: datetime) -> Traffic:
    """The replayable calls; arrivals count from `start`."""
    calls: list[SimCall] = []
    left_out = 0
    for call in recorded:
        if not is_replayable(call):
            left_out += 1
            continue
        calls.append(
            SimCall(
                arrival_s=(call.started_at - start).total_seconds(),
                input_tokens=call.input_tokens or 0,
                output_tokens=call.output_tokens or 0,
                prefix_hashes=call.prefix_hashes,
            )
        )
    return Traffic(
        calls,
        input_tokens=sum(call.input_tokens for call in calls),
        output_tokens=sum(call.output_tokens for call in calls),
        left_out=left_out,
    )


def recorded_outcome(recorded: list[RecordedCall], start: datetime, end: datetime) -> Recorded:
    """Percentiles and sums of the calls as they were recorded, over the replayable ones."""
    calls = [call for call in recorded if is_replayable(call)]
    output_tokens = sum(call.output_tokens or 0 for call in calls)
    makespan_s = _makespan_s(calls)
    busy = [call.busy_us for call in calls if call.busy_us is not None]
    window_s = (end - start).total_seconds()
    return Recorded(
        calls=len(calls),
        left_out=len(recorded) - len(calls),
        input_tokens=sum(call.input_tokens or 0 for call in calls),
        output_tokens=output_tokens,
        makespan_s=makespan_s,
        throughput_tokens_per_s=output_tokens / makespan_s if makespan_s else None,
        busy_share=sum(busy) / 1e6 / max(window_s, makespan_s) if busy else None,
        percentiles={
            "ttft_s": _seconds(call.ttft_us for call in calls),
            "tpot_s": _seconds(call.tpot_us for call in calls),
            "e2e_s": _seconds(call.duration_us for call in calls),
            "queue_s": _seconds(call.queue_us for call in calls),
        },
    )


def recorded_config(server: Server, steps: StepColumns) -> RecordedConfig:
    """The batch limits in force, as far as the steps show them; else the engine's defaults."""
    seqs, tokens = ENGINE_MAX_NUM_SEQS, ENGINE_MAX_BATCHED_TOKENS
    assumed = []
    blocks = None
    if len(steps) and "num_seqs" in steps.names:
        reached = int(steps["num_seqs"].max())
        waited = steps["waiting"] > 0 if "waiting" in steps.names else np.zeros(len(steps), bool)
        limited = waited.any() and int(steps["num_seqs"][waited].min()) == reached
        seqs = reached if limited else max(seqs, reached)
        if not limited:
            assumed.append(f"batch limit {seqs} (never reached in the window)")
        tokens = max(tokens, int((steps["prefill_tokens"] + steps["decode_seqs"]).max()))
        if "used_blocks" in steps.names:
            blocks = int((steps["used_blocks"] + steps["free_blocks"]).max()) or None
    else:
        assumed.append(f"batch limit {seqs} and {tokens:,} tokens a step (no recorded steps)")
    return RecordedConfig(seqs, tokens, blocks, tuple(assumed))


def _makespan_s(calls: list[RecordedCall]) -> float:
    if not calls:
        return 0.0
    first = min(call.started_at for call in calls)
    return max(
        (call.started_at - first).total_seconds() + (call.duration_us or 0) / 1e6 for call in calls
    )


def _seconds(values_us: Iterable[int | None]) -> Percentiles | None:
    return percentiles_of([value / 1e6 for value in values_us if value is not None])
