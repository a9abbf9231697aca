"""Sums and distributions of calls, as every page, report and API answer reads them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from webapp.domain.sketch import Sketch

COUNTS = (
    "calls",
    "errors",
    "cancelled",
    "input_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "calls_without_tokens",
    "partial_calls",
    "unpriced_calls",
    "busy_us",
)
MONEY = (
    "cost_usd",
    "cost_input_usd",
    "cost_cache_read_usd",
    "cost_cache_write_usd",
    "cost_output_usd",
    "cost_compute_usd",
)
SKETCHES = (
    "ttft_us",
    "itl_us",
    "tpot_us",
    "e2e_us",
    "queue_us",
    "cost_pico_usd",
    "output_length",
    "input_length",
)
# What a percentile is asked for by → the sketch it is read from, and how many of its units are one.
METRICS: dict[str, tuple[str, int]] = {
    "ttft_s": ("ttft_us", 1_000_000),
    "itl_s": ("itl_us", 1_000_000),
    "tpot_s": ("tpot_us", 1_000_000),
    "e2e_s": ("e2e_us", 1_000_000),
    "queue_s": ("queue_us", 1_000_000),
    "cost_usd": ("cost_pico_usd", 10**12),
    "output_tokens": ("output_length", 1),
    "input_tokens": ("input_length", 1),
}


class Sketches(Mapping[str, Sketch]):
    """One sketch a metric, summed from packed parts only when somebody asks for it."""

    def __init__(self) -> None:
        self._packed: dict[str, list[bytes]] = {name: [] for name in SKETCHES}
        self._merged: dict[str, Sketch] = {}

    def add_packed(self, name: str, data: bytes) -> None:
        self._packed[name].append(data)
        self._merged.pop(name, None)

    def __getitem__(self, name: str) -> Sketch:
        if name not in self._merged:
            self._merged[name] = Sketch.merged(self._packed[name])
        return self._merged[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


@dataclass
class Summary:
    """Sums over the calls of one group and bucket.

    `key` is the value of the dimension grouped by: None for calls that have none of it,
    `is_other` for the series past the project's cap. `starts_at` is the bucket's start.
    Money sums hold what is known: `unpriced_calls` and `partial_calls` say what is not.
    """

    key: str | None = None
    is_other: bool = False
    starts_at: datetime | None = None
    calls: int = 0
    errors: int = 0
    cancelled: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    calls_without_tokens: int = 0
    partial_calls: int = 0
    unpriced_calls: int = 0
    busy_us: int = 0
    cost_usd: Decimal = Decimal(0)
    cost_input_usd: Decimal = Decimal(0)
    cost_cache_read_usd: Decimal = Decimal(0)
    cost_cache_write_usd: Decimal = Decimal(0)
    cost_output_usd: Decimal = Decimal(0)
    cost_compute_usd: Decimal = Decimal(0)
    sketches: Sketches = field(default_factory=Sketches)

    def percentile(self, metric: str, q: float) -> float | None:
        """The q-quantile (0 to 1) of a metric of `METRICS`, in the unit its name ends in."""
        name, scale = METRICS[metric]
        value = self.sketches[name].quantile(q)
        return None if value is None else value / scale

    def mean(self, metric: str) -> float | None:
        """The exact mean of a metric of `METRICS`, in the unit its name ends in."""
        name, scale = METRICS[metric]
        value = self.sketches[name].mean
        return None if value is None else value / scale

    def observed(self, metric: str) -> int:
        """How many observations a percentile of this metric rests on."""
        return self.sketches[METRICS[metric][0]].count

    @property
    def cost_per_call_usd(self) -> Decimal | None:
        """Mean over the calls whose whole cost is known; None where there is none."""
        total, count = self.sketches["cost_pico_usd"].sum, self.sketches["cost_pico_usd"].count
        return Decimal(total) / count / 10**12 if count > 0 else None

    @property
    def priced_calls(self) -> int:
        """Calls whose whole cost is known."""
        return self.calls - self.partial_calls - self.unpriced_calls
