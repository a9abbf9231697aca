"""One kind of accelerator: what it can do at most, and what an hour of it costs."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """Published peaks of one accelerator, dense (not sparse). None is unknown, never zero.

    Memory in GB, bandwidth in GB/s, arithmetic in tera-operations per second, power in watts,
    prices in USD per hour of one accelerator.
    """

    name: str
    vendor: str = ""
    memory_gb: float | None = None
    bandwidth_gb_s: float | None = None
    bf16_tflops: float | None = None
    fp8_tflops: float | None = None
    int8_tops: float | None = None
    fp4_tflops: float | None = None
    tdp_w: float | None = None
    price_per_hour: Decimal | None = None
    price_low: Decimal | None = None
    price_high: Decimal | None = None
    price_source: str = ""
    price_date: str = ""
    spec_source: str = ""
    confidence: str = "medium"
    note: str = ""

    @property
    def has_peaks(self) -> bool:
        """Whether bandwidth and arithmetic are known, so that step times can be estimated."""
        return self.bandwidth_gb_s is not None and self.bf16_tflops is not None
