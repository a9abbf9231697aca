"""Recorded traffic as the simulator replays it: calls with their times, engine steps in columns."""

import zlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from webapp.telemetry.calls_in_scope import calls_in
from webapp.telemetry.models import StepBatch
from webapp.telemetry.rows import hex_id
from webapp.telemetry.scope import Scope

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CALL_COLUMNS = (
    "trace_id",
    "span_id",
    "started_at",
    "server_id",
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "queue_us",
    "ttft_us",
    "tpot_us",
    "duration_us",
    "busy_us",
    "status",
)


@dataclass(frozen=True)
class RecordedCall:
    """One call as it arrived. `prefix_hashes` are the chained block hashes of its prompt."""

    id: str
    started_at: datetime
    server_id: int | None
    model: str | None
    input_tokens: int | None
    cached_input_tokens: int | None
    output_tokens: int | None
    prefix_hashes: tuple[int, ...]
    queue_us: int | None
    ttft_us: int | None
    tpot_us: int | None
    duration_us: int | None
    busy_us: int | None
    status: str


@dataclass(frozen=True)
class StepColumns:
    """Engine steps in order of time: an int64 array for each column, all equally long.

    `started_us` counts from the epoch. `names` says which columns the engine recorded.
    """

    started_us: npt.NDArray[np.int64]
    columns: dict[str, npt.NDArray[np.int64]]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def __len__(self) -> int:
        return len(self.started_us)

    def __getitem__(self, name: str) -> npt.NDArray[np.int64]:
        return self.columns[name]


def recorded_calls(scope: Scope, *, limit: int = 1_000_000) -> list[RecordedCall]:
    """Calls of the scope in order of arrival."""
    columns = [*_CALL_COLUMNS, "response_model", "request_model", "prefix_hashes"]
    rows = calls_in(scope).order_by("started_at", "trace_id", "span_id").values(*columns)[:limit]
    return [
        RecordedCall(
            id=f"{row['trace_id'].hex}-{hex_id(row['span_id'])}",
            model=row["response_model"] or row["request_model"],
            prefix_hashes=_hashes(row["prefix_hashes"]),
            **{name: row[name] for name in _CALL_COLUMNS if name not in ("trace_id", "span_id")},
        )
        for row in rows.iterator(chunk_size=5000)
    ]


def recorded_steps(server_id: int, start: datetime, end: datetime) -> StepColumns:
    """Steps of a server that began in [start, end)."""
    batches = StepBatch.objects.filter(
        server_id=server_id, started_at__lt=end, ended_at__gte=start
    ).order_by("started_at", "first_index")
    parts = [_steps_of(batch) for batch in batches.iterator(chunk_size=500)]
    if not parts:
        return StepColumns(np.zeros(0, dtype=np.int64), {})
    # Engines of different versions may record different columns; what all have is used.
    names = [name for name in parts[0].columns if all(name in part.columns for part in parts)]
    started = np.concatenate([part.started_us for part in parts])
    low, high = _epoch_us(start), _epoch_us(end)
    keep = (started >= low) & (started < high)
    order = np.argsort(started[keep], kind="stable")
    columns = {
        name: np.concatenate([part.columns[name] for part in parts])[keep][order] for name in names
    }
    return StepColumns(started[keep][order], columns)


def _steps_of(batch: StepBatch) -> StepColumns:
    raw = np.frombuffer(zlib.decompress(bytes(batch.columns)), dtype="<i4").astype(np.int64)
    table = raw.reshape(len(batch.names), batch.step_count)
    columns = dict(zip(batch.names, table, strict=True))
    started = _epoch_us(batch.started_at) + columns.pop("start_offset_us")
    return StepColumns(started, columns)


def _epoch_us(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


def _hashes(packed: bytes | memoryview | None) -> tuple[int, ...]:
    if not packed:
        return ()
    values = np.frombuffer(bytes(packed), dtype="<u8")
    return tuple(values.tolist())
