"""Attribute values as the types a record holds; None for what cannot be that."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

_LARGEST = 2**63 - 1
LONGEST_TEXT = 1000


def text(value: Any) -> str | None:
    """A short string; numbers and truth values as text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # PostgreSQL's text holds no NUL, and nothing useful starts with one.
        return value.replace("\x00", "").strip()[:LONGEST_TEXT] or None
    return str(value) if isinstance(value, int | float) else None


def count(value: Any) -> int | None:
    """A whole number of at least 0, also written as a float or as digits."""
    found = number(value)
    if found is None or found < 0 or found != int(found) or found > _LARGEST:
        return None
    return value if isinstance(value, int) else int(found)


def number(value: Any) -> float | None:
    """A finite number, also written as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def microseconds(value: Any, factor: float) -> int | None:
    """A duration of at least 0 in microseconds, from a number `factor` of which are one."""
    found = number(value)
    return round(found * factor) if found is not None and 0 <= found * factor < 2**53 else None


def amount(value: Any) -> Decimal | None:
    """An amount of money of at least 0, as it was written."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        return None
    return found if found.is_finite() and found >= 0 else None


def first(attributes: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The first of these attributes that says something."""
    for name in names:
        value = attributes.get(name)
        if value is not None and value != "":
            return value
    return None


def jsonable(value: Any, depth: int = 0) -> Any:
    """What a JSON column can hold of a value."""
    if isinstance(value, str):
        return value.replace("\x00", "")
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if depth > 8:
        return None
    if isinstance(value, list):
        return [jsonable(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {str(k).replace("\x00", ""): jsonable(v, depth + 1) for k, v in value.items()}
    return value
