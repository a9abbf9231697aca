"""Splits a server's bill of an hour over what was done in it, in whole nano-dollars.

attributed + idle + unattributed = bill, always and exactly: idle is what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

NANO = Decimal(10) ** 9
HOUR_US = 3_600_000_000


@dataclass(frozen=True)
class PricedStretch:
    """A part of an hour and the price per hour that is in force in it."""

    length_us: int
    price_per_hour: Decimal


@dataclass(frozen=True)
class HourSplit:
    """One hour's bill in nano-dollars, and its parts."""

    bill: int
    attributed: int
    idle: int
    unattributed: int


def split_hour(
    stretches: Sequence[PricedStretch], *, calls_busy_us: int, steps_busy_us: int | None
) -> HourSplit:
    """Split the bill by engine time.

    `calls_busy_us` is the engine time of calls in the hour; `steps_busy_us` all engine time the
    server reported, None where it reports none. Engine time no call explains is unattributed.
    """
    bill_usd = sum(
        (part.price_per_hour * part.length_us / HOUR_US for part in stretches), Decimal(0)
    )
    bill = _nano(bill_usd)
    length_us = sum(part.length_us for part in stretches)
    if not length_us or not bill:
        return HourSplit(bill, 0, bill, 0)
    attributed = min(_nano(bill_usd * calls_busy_us / length_us), bill)
    unexplained_us = max((steps_busy_us or 0) - calls_busy_us, 0)
    unattributed = min(_nano(bill_usd * unexplained_us / length_us), bill - attributed)
    return HourSplit(bill, attributed, bill - attributed - unattributed, unattributed)


def _nano(usd: Decimal) -> int:
    return int((usd * NANO).to_integral_value(ROUND_HALF_EVEN))
