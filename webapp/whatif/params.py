"""What a scenario asks for, and the grid of all combinations of what is asked."""

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Self

from webapp.domain.hardware import KV_PRECISIONS, PRECISIONS, THIS_MACHINE, find
from webapp.domain.transfer import COUNTS

AS_RECORDED = "as recorded"
MAX_SCENARIOS = 64
LIMITS = {
    "max_num_seqs": (1, 4096),
    "max_batched_tokens": (16, 1_000_000),
    "replicas": (1, 1000),
}


class BadRun(ValueError):
    """A what-if that cannot be run; the message is the sentence a person reads."""


@dataclass(frozen=True)
class Params:
    """One scenario. None, "as recorded" and "this machine" keep what the server does now."""

    precision: str = AS_RECORDED
    kv_precision: str = AS_RECORDED
    max_num_seqs: int | None = None
    max_batched_tokens: int | None = None
    chunked_prefill: bool | None = None
    prefix_cache: bool | None = None
    hardware: str = THIS_MACHINE
    count: int | None = None
    replicas: int = 1
    arrival_scale: float = 1.0
    price_per_hour: str | None = None  # exact decimal in USD, of one card; else the catalogue's

    def __post_init__(self) -> None:
        _one_of("Precision", self.precision, (AS_RECORDED, *PRECISIONS))
        _one_of("Cache precision", self.kv_precision, (AS_RECORDED, *KV_PRECISIONS))
        if self.hardware != THIS_MACHINE and find(self.hardware) is None:
            raise BadRun(
                f"Hardware {self.hardware!r} is not in the catalogue; "
                f'choose a row of it or "{THIS_MACHINE}".'
            )
        if self.count is not None and self.count not in COUNTS:
            allowed = ", ".join(map(str, COUNTS))
            raise BadRun(f"{self.count} cards in a replica cannot be estimated; use {allowed}.")
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise BadRun(f"{name} is {value:,}; it must be from {low:,} to {high:,}.")
        if not 0.01 <= self.arrival_scale <= 1000:
            raise BadRun(
                f"Traffic × {self.arrival_scale:g} is out of range; use 0.01 to 1000 times."
            )
        _price(self.price_per_hour)

    @property
    def own_price(self) -> Decimal | None:
        """The price per card and hour that was given with the question."""
        return _price(self.price_per_hour)

    @property
    def is_as_recorded(self) -> bool:
        return self == Params()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(data) - known):
            raise BadRun(
                f"Unknown scenario parameter {unknown[0]!r}; known: {', '.join(sorted(known))}."
            )
        return cls(**data)

    def words(self) -> str:
        """What differs from the recorded setting, as a person would say it."""
        return ", ".join(_words(self)) or AS_RECORDED


def grid(choices: dict[str, Sequence[Any]]) -> list[Params]:
    """The recorded setting first (its simulated twin), then every combination of the choices."""
    names = list(choices)
    size = 1
    for name in names:
        size *= max(1, len(choices[name]))
    if size > MAX_SCENARIOS:
        raise BadRun(
            f"This asks for {size:,} scenarios; at most {MAX_SCENARIOS} fit in one run. "
            "Leave some values out, or split the question."
        )
    values = [choices[name] or (getattr(Params(), name),) for name in names]
    combined = [Params(**dict(zip(names, row, strict=True))) for row in itertools.product(*values)]
    unpriced = [each for each in combined if replace(each, price_per_hour=None) != Params()]
    return list(dict.fromkeys([Params(), *unpriced]))


def _words(params: Params) -> list[str]:
    words = []
    if params.hardware != THIS_MACHINE or params.count is not None:
        words.append(f"{params.count or 1} × {params.hardware}")
    if params.replicas != 1:
        words.append(f"{params.replicas} replicas")
    if params.precision != AS_RECORDED:
        words.append(f"{params.precision} weights")
    if params.kv_precision != AS_RECORDED:
        words.append(f"{params.kv_precision} cache")
    if params.max_num_seqs is not None:
        words.append(f"batch ≤ {params.max_num_seqs}")
    if params.max_batched_tokens is not None:
        words.append(f"≤ {params.max_batched_tokens:,} tokens a step")
    if params.chunked_prefill is not None:
        words.append("chunked prefill" if params.chunked_prefill else "whole prompts")
    if params.prefix_cache is not None:
        words.append("prefix cache" if params.prefix_cache else "no prefix cache")
    if params.arrival_scale != 1.0:
        words.append(f"traffic × {params.arrival_scale:g}")
    return words


def _one_of(what: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise BadRun(f"{what} {value!r} is not known; choose one of: {', '.join(allowed)}.")


def _price(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        price = Decimal(text)
    except InvalidOperation:
        price = Decimal(-1)
    if not price.is_finite() or price < 0:
        raise BadRun(f"Price per hour {text!r} is not an amount; write it as in 1.86.")
    return price
