"""What calls add up to: the sums and sketches of one rollup cell, built from span rows."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np

from webapp.domain.sketch import Sketch
from webapp.domain.token_timeline import Timelines, decode_many
from webapp.telemetry.summary import COUNTS, MONEY, SKETCHES

# Columns of an increment or cell after its series and start, in this order everywhere.
COLUMNS = (*COUNTS, *MONEY, *SKETCHES)
# Span columns that `cells_of` reads.
SPAN_COLUMNS = (
    "status",
    "flags",
    "input_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "busy_us",
    "duration_us",
    "queue_us",
    "ttft_us",
    "client_ttft_us",
    "tpot_us",
    "token_timeline",
    "cost_state",
    *MONEY,
)
CLOCK_SKEW = "clock_skew"
# Ended by themselves: how long a refused, failed or abandoned call took says nothing of speed.
_TIMED_TO_THE_END = ("ok", "timeout")
_TOKENS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "busy_us",
)
_PICO = Decimal(10) ** 12

Row = Mapping[str, Any]
Key = TypeVar("Key", bound=Hashable)


class Cell:
    """Sums and observations of some calls, until they are packed."""

    __slots__ = ("counts", "money", "observed")

    def __init__(self) -> None:
        self.counts: dict[str, int] = dict.fromkeys(COUNTS, 0)
        self.money: dict[str, Decimal] = dict.fromkeys(MONEY, Decimal(0))
        self.observed: dict[str, list[Any]] = {name: [] for name in SKETCHES}

    def add(self, row: Row) -> None:
        """Count one call; its inter-token gaps are added by `cells_of`, all calls' at once."""
        counts = self.counts
        counts["calls"] += 1
        status = row["status"]
        if status == "cancelled":
            counts["cancelled"] += 1
        elif status != "ok":
            counts["errors"] += 1
        for name in _TOKENS:
            if row[name]:
                counts[name] += row[name]
        if row["input_tokens"] is None or row["output_tokens"] is None:
            counts["calls_without_tokens"] += 1
        self.add_cost(row)
        self._observe(row, status)

    def add_cost(self, row: Row) -> None:
        """Count only what a call costs: what re-pricing changes."""
        state = row["cost_state"]
        if state == "partial":
            self.counts["partial_calls"] += 1
        elif state == "unpriced":
            self.counts["unpriced_calls"] += 1
        for name in MONEY:
            if row[name]:
                self.money[name] += row[name]
        if state == "priced" and row["cost_usd"] is not None:
            self.observed["cost_pico_usd"].append(pico_usd(row["cost_usd"]))

    def add_gaps(self, gaps: Any) -> None:
        self.observed["itl_us"].append(gaps)

    def values(self) -> tuple[Any, ...]:
        """The columns of `COLUMNS`."""
        return (*self.counts.values(), *self.money.values(), *self._packed())

    def _observe(self, row: Row, status: str) -> None:
        observed = self.observed
        if row["input_tokens"] is not None:
            observed["input_length"].append(row["input_tokens"])
        if row["output_tokens"] is not None:
            observed["output_length"].append(row["output_tokens"])
        if has_clock_skew(row):
            return
        ttft = row["ttft_us"] if row["ttft_us"] is not None else row["client_ttft_us"]
        if ttft is not None:
            observed["ttft_us"].append(ttft)
        if row["tpot_us"] is not None:
            observed["tpot_us"].append(row["tpot_us"])
        if row["queue_us"] is not None:
            observed["queue_us"].append(row["queue_us"])
        if row["duration_us"] is not None and status in _TIMED_TO_THE_END:
            observed["e2e_us"].append(row["duration_us"])

    def _packed(self) -> Iterable[bytes | None]:
        for name, values in self.observed.items():
            if name == "itl_us" and values:
                values = np.concatenate(values)
            sketch = Sketch.of(values)
            yield None if sketch.is_empty() else sketch.to_bytes()


def has_clock_skew(row: Row) -> bool:
    """Whether the call's clocks contradict each other, so that its times are kept but not used."""
    return bool(row["flags"]) and CLOCK_SKEW in row["flags"]


def pico_usd(cost: Decimal) -> int:
    """A cost in millionths of a millionth of a dollar, half to even; never below zero."""
    return max(int((cost * _PICO).to_integral_value()), 0)


def cells_of(
    rows: Sequence[Row], keys: Sequence[Key], timelines: Timelines | None = None
) -> dict[Key, Cell]:
    """One cell for each distinct key, from the calls with that key.

    `timelines` are the rows' token timelines where the caller has them decoded already.
    """
    cells: dict[Key, Cell] = {}
    numbers: dict[Key, int] = {}
    for row, key in zip(rows, keys, strict=True):
        if key not in cells:
            numbers[key] = len(cells)
            cells[key] = Cell()
        cells[key].add(row)
    if timelines is None:
        timelines = decode_many([row["token_timeline"] or b"" for row in rows])
    gaps, owners = timelines.gaps()
    if len(gaps):
        usable = np.fromiter((not has_clock_skew(row) for row in rows), np.bool_, len(rows))
        places = np.fromiter((numbers[key] for key in keys), np.int64, len(rows))
        keep = usable[owners] & (gaps >= 0)
        gaps, owners = gaps[keep], places[owners[keep]]
        for key, cell in cells.items():
            cell.add_gaps(gaps[owners == numbers[key]] if len(cells) > 1 else gaps)
    return cells
