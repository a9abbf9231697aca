"""The figures on top of a page, each with its change against the period before."""

from dataclasses import dataclass
from typing import Literal

from webapp.ui import numbers

Tone = Literal["good", "bad", "neutral"]


@dataclass(frozen=True)
class Delta:
    """A change in words; its tone says whether that is welcome, its sign what happened."""

    text: str
    compared: str
    tone: Tone
    direction: Literal["up", "down", "flat"]


@dataclass(frozen=True)
class Tile:
    """One figure. `key` names it in the page (`data-kpi`); `title` holds its exact value."""

    key: str
    label: str
    value: str
    unit: str = ""
    title: str = ""
    url: str = ""
    delta: Delta | None = None
    note: str = ""
    spark: tuple[float | None, ...] = ()


def delta(
    current: object,
    previous: object,
    *,
    compared: str,
    good: Literal["up", "down", "neither"] = "neither",
    in_points: bool = False,
) -> Delta | None:
    """None where either value is unknown; `compared` is the old value as shown."""
    after, before = numbers.number_of(current), numbers.number_of(previous)
    if after is None or before is None:
        return None
    text = numbers.points(after, before) if in_points else numbers.change(after, before)
    if text.startswith("0.0"):
        return Delta(text, compared, "neutral", "flat")
    direction: Literal["up", "down"] = "up" if after > before else "down"
    tone: Tone = "neutral" if good == "neither" else ("good" if direction == good else "bad")
    return Delta(text, compared, tone, direction)
