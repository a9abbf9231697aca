"""Prices that the price list has wrong or late, each with who says so. Data, not policy."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal


@dataclass(frozen=True)
class Correction:
    """USD per million tokens of a model from an instant on."""

    provider: str
    models: tuple[str, ...]
    since: datetime
    input: Decimal
    cache_read: Decimal
    output: Decimal
    source: str


CORRECTIONS: tuple[Correction, ...] = (
    Correction(
        "deepseek",
        ("deepseek-chat", "deepseek-reasoner"),
        datetime(2025, 9, 29, tzinfo=UTC),
        Decimal("0.28"),
        Decimal("0.028"),
        Decimal("0.42"),
        "LiteLLM 1.110.2 price map: one flat price since V3.2; the day-and-night prices ended",
    ),
)


def correction_for(provider: str, model: str, at: datetime) -> Correction | None:
    """The correction in force, the newest first."""
    found = [
        each
        for each in CORRECTIONS
        if each.provider == provider and model.lower() in each.models and each.since <= at
    ]
    return max(found, key=lambda each: each.since, default=None)
