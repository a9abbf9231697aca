"""Recorded traffic as the simulator replays it: calls with their times, engine steps in columns."""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from webapp.telemetry.scope import Scope


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
    raise NotImplementedError


def recorded_steps(server_id: int, start: datetime, end: datetime) -> StepColumns:
    """Steps of a server that began in [start, end)."""
    raise NotImplementedError
