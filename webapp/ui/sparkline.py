"""Points of a sparkline in a box of 100 by 24, split where values are missing."""

from collections.abc import Sequence

WIDTH, HEIGHT = 100.0, 24.0


def points_of(values: Sequence[float | None]) -> list[str]:
    """One `points` attribute for each unbroken stretch of values."""
    known = [value for value in values if value is not None]
    if not known:
        return []
    low, high = min(0.0, *known), max(known)
    span = (high - low) or 1.0
    step = WIDTH / max(1, len(values) - 1)
    lines: list[list[str]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            lines.append([])
            continue
        y = HEIGHT - 1 - (value - low) / span * (HEIGHT - 2)
        lines[-1].append(f"{place * step:.2f},{y:.2f}")
    return [" ".join(line) for line in lines if len(line) > 1]
