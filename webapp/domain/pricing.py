"""What a call costs: tokens by kind times rates, or engine-seconds times a price per hour.

Exact decimals throughout; nothing is rounded here. What is not known is None with a reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, Protocol

State = Literal["priced", "partial", "unpriced"]
Basis = Literal["price_book", "custom_price", "engine_seconds", ""]
Group = Literal["input", "cache_read", "cache_write", "output", "compute"]

MILLION = Decimal(1_000_000)
_US_PER_HOUR = Decimal(3_600_000_000)
# 18 decimals are stored: a µs of a cent-an-hour server keeps five digits.
QUANTUM = Decimal(1).scaleb(-18)
# Each kind of token: the part of the cost it belongs to, and whose rate it takes without its own.
KINDS: dict[str, tuple[Group, str | None]] = {
    "input": ("input", None),
    "audio_input": ("input", "input"),
    "image_input": ("input", "input"),
    "cache_read": ("cache_read", "input"),
    "cache_write": ("cache_write", "input"),
    "cache_write_1h": ("cache_write", "cache_write"),
    "output": ("output", None),
    "reasoning": ("output", "output"),
    "audio_output": ("output", "output"),
    "image_output": ("output", "output"),
}


@dataclass(frozen=True)
class Usage:
    """Tokens of one call, inclusive: `input` holds cached, cache-write, audio and image tokens,
    `output` holds reasoning; `cache_write` holds the one-hour part. None is not known.
    """

    input: int | None = None
    cached_input: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    output: int | None = None
    reasoning: int | None = None
    audio_input: int | None = None
    audio_output: int | None = None
    image_input: int | None = None
    image_output: int | None = None

    def by_kind(self) -> dict[str, int]:
        """Tokens that are paid at each kind's rate; they sum to input and output."""
        cached, written = self.cached_input or 0, self.cache_write or 0
        written_1h = min(self.cache_write_1h or 0, written)
        audio_in, image_in = self.audio_input or 0, self.image_input or 0
        found = {
            "cache_read": cached,
            "cache_write": written - written_1h,
            "cache_write_1h": written_1h,
            "audio_input": audio_in,
            "image_input": image_in,
            "reasoning": self.reasoning or 0,
            "audio_output": self.audio_output or 0,
            "image_output": self.image_output or 0,
        }
        inside = cached + written + audio_in + image_in
        found["input"] = max((self.input or 0) - inside, 0)
        made = found["reasoning"] + found["audio_output"] + found["image_output"]
        found["output"] = max((self.output or 0) - made, 0)
        return {kind: found[kind] for kind in KINDS}


class TokenCounts(Protocol):
    """Whatever carries a call's token counts under their names: a record, or a stored span."""

    input_tokens: int | None
    cached_input_tokens: int | None
    cache_write_tokens: int | None
    cache_write_1h_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    audio_input_tokens: int | None
    audio_output_tokens: int | None
    image_input_tokens: int | None
    image_output_tokens: int | None


def usage_of_counts(counts: TokenCounts) -> Usage:
    """The usage of a record, or of a stored span."""
    return Usage(
        input=counts.input_tokens,
        cached_input=counts.cached_input_tokens,
        cache_write=counts.cache_write_tokens,
        cache_write_1h=counts.cache_write_1h_tokens,
        output=counts.output_tokens,
        reasoning=counts.reasoning_tokens,
        audio_input=counts.audio_input_tokens,
        audio_output=counts.audio_output_tokens,
        image_input=counts.image_input_tokens,
        image_output=counts.image_output_tokens,
    )


@dataclass(frozen=True)
class TieredRate:
    """A price per million tokens, and what it becomes above so many input tokens."""

    base: Decimal
    above: tuple[tuple[int, Decimal], ...] = ()

    def at(self, input_tokens: int) -> Decimal:
        """The whole call pays the rate of the highest threshold its input exceeds."""
        rate = self.base
        for threshold, price in self.above:
            if input_tokens > threshold:
                rate = price
        return rate


@dataclass(frozen=True)
class Rates:
    """Prices per million tokens by kind, and a price per call where there is one."""

    tokens: Mapping[str, TieredRate]
    per_call: Decimal = Decimal(0)
    version: str = ""
    basis: Basis = "price_book"

    def of(self, kind: str) -> TieredRate | None:
        """The kind's own rate, else that of the kind it falls back on."""
        found = self.tokens.get(kind)
        fallback = KINDS[kind][1]
        return found if found is not None or fallback is None else self.of(fallback)


@dataclass(frozen=True)
class Line:
    """One line of a call's cost: so many units at a price."""

    kind: str
    quantity: int
    unit_price: Decimal
    per: str
    cost_usd: Decimal


@dataclass(frozen=True)
class PricedCall:
    """A call's cost. Unpriced: every amount is None, and `reason` says why."""

    state: State
    total_usd: Decimal | None = None
    input_usd: Decimal | None = None
    cache_read_usd: Decimal | None = None
    cache_write_usd: Decimal | None = None
    output_usd: Decimal | None = None
    compute_usd: Decimal | None = None
    reason: str = ""
    basis: Basis = ""
    version: str = ""
    lines: tuple[Line, ...] = field(default=(), compare=False)


def unpriced(reason: str, version: str = "") -> PricedCall:
    return PricedCall("unpriced", reason=reason, version=version)


def price_tokens(usage: Usage, rates: Rates) -> PricedCall:
    """What the tokens cost; partial where one side's count or rate is not known."""
    missing = _missing(usage, rates)
    if usage.input is None and usage.output is None:
        return unpriced("No token counts were reported.", rates.version)
    lines: list[Line] = []
    for kind, quantity in usage.by_kind().items():
        rate = rates.of(kind)
        if quantity and rate is not None:
            price = rate.at(usage.input or 0)
            lines.append(
                Line(kind, quantity, price, "1M tokens", _stored(price * quantity / MILLION))
            )
    if rates.per_call:
        lines.append(Line("call", 1, rates.per_call, "call", rates.per_call))
    sums = _sums(lines)
    return PricedCall(
        state="partial" if missing else "priced",
        total_usd=sum((line.cost_usd for line in lines), Decimal(0)),
        input_usd=sums["input"],
        cache_read_usd=sums["cache_read"],
        cache_write_usd=sums["cache_write"],
        output_usd=sums["output"],
        reason=missing,
        basis=rates.basis,
        version=rates.version,
        lines=tuple(lines),
    )


def price_engine_time(busy_us: int, price_per_hour: Decimal, version: str) -> PricedCall:
    """What a call's share of its engine's time costs."""
    cost = _stored(price_per_hour * busy_us / _US_PER_HOUR)
    line = Line("engine time", busy_us, price_per_hour, "hour", cost)
    return PricedCall(
        "priced",
        total_usd=cost,
        compute_usd=cost,
        basis="engine_seconds",
        version=version,
        lines=(line,),
    )


def _stored(amount: Decimal) -> Decimal:
    """As precise as it is stored, so that lines sum to the total that is kept."""
    return amount.quantize(QUANTUM).normalize() + Decimal(0)


def _missing(usage: Usage, rates: Rates) -> str:
    """Why a price can only be part of the truth; empty where it is whole."""
    if usage.input is None:
        return "Input tokens were not reported."
    if usage.output is None and rates.of("output") is not None:
        return "Output tokens were not reported."
    for kind, quantity in usage.by_kind().items():
        if quantity and rates.of(kind) is None:
            return f"The price book has no price for {kind.replace('_', ' ')} tokens of this model."
    return ""


def _sums(lines: list[Line]) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = dict.fromkeys(
        ("input", "cache_read", "cache_write", "output"), Decimal(0)
    )
    for line in lines:
        group = KINDS[line.kind][0] if line.kind in KINDS else "output"
        sums[group] += line.cost_usd
    return sums
