"""Minutes, hours and days of a time zone, as half-open stretches between UTC instants.

A day runs from local midnight to the next (23, 24 or 25 hours, once 24½ on Lord Howe). Its hours
are counted from its start, so they are whole and never overlap when clocks change; in a zone half
an hour off UTC they start at half past. Minutes are UTC's: every zone's offset is whole minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

Bucket = Literal["minute", "hour", "day"]
Level = Literal["day", "hour", "minute", "exact"]
BUCKETS: tuple[Bucket, ...] = ("minute", "hour", "day")

_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Piece:
    """A stretch of time, and the coarsest cells that cover it exactly ("exact": none do)."""

    level: Level
    start: datetime
    end: datetime


def zone_named(name: str) -> ZoneInfo:
    """The time zone of an IANA name; ValueError with a sentence for any other."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"{name!r} is no time zone; write one like Europe/Berlin or UTC."
        ) from None


def day_start(at: datetime, zone: ZoneInfo) -> datetime:
    """The first instant of the local day that holds `at`, in UTC."""
    return _day_edges(at.astimezone(UTC), zone)[0]


def next_day(at: datetime, zone: ZoneInfo) -> datetime:
    """The first instant of the local day after the one that holds `at`, in UTC."""
    return _day_edges(at.astimezone(UTC), zone)[1]


def hour_start(at: datetime, zone: ZoneInfo) -> datetime:
    """The start of the hour of the local day that holds `at`, in UTC."""
    start = day_start(at, zone)
    return start + (at - start) // _HOUR * _HOUR


def next_hour(at: datetime, zone: ZoneInfo) -> datetime:
    """The end of the hour of the local day that holds `at`, in UTC."""
    return min(hour_start(at, zone) + _HOUR, next_day(at, zone))


def minute_start(at: datetime, zone: ZoneInfo | None = None) -> datetime:
    """The start of the minute that holds `at`, in UTC."""
    return at.astimezone(UTC).replace(second=0, microsecond=0)


def bucket_start(at: datetime, bucket: Bucket, zone: ZoneInfo) -> datetime:
    """The start of the bucket that holds `at`, in UTC."""
    return _FLOORS[bucket](at, zone)


def bucket_edges(start: datetime, end: datetime, bucket: Bucket, zone: ZoneInfo) -> list[datetime]:
    """Starts of all buckets that meet [start, end), in UTC, then the end of the last one."""
    edges = [bucket_start(start, bucket, zone)]
    while edges[-1] < end:
        edges.append(_NEXTS[bucket](edges[-1], zone))
    return edges


def split(
    start: datetime,
    end: datetime,
    zone: ZoneInfo,
    *,
    hours_from: datetime | None = None,
    minutes_from: datetime | None = None,
) -> list[Piece]:
    """[start, end) as whole days, then hours, then minutes, then what is left, in order of time.

    Hour cells exist from `hours_from` on and minute cells from `minutes_from` (None: always).
    """
    since = {"day": None, "hour": hours_from, "minute": minutes_from}
    pieces: list[Piece] = []
    _split_into(
        pieces, start.astimezone(UTC), end.astimezone(UTC), ("day", "hour", "minute"), (zone, since)
    )
    return pieces


def _split_into(
    pieces: list[Piece],
    start: datetime,
    end: datetime,
    levels: tuple[Bucket, ...],
    grid: tuple[ZoneInfo, dict[str, datetime | None]],
) -> None:
    if start >= end:
        return
    if not levels:
        pieces.append(Piece("exact", start, end))
        return
    zone, since = grid
    level, finer = levels[0], levels[1:]
    known_from = since[level]
    first = start if known_from is None else min(max(start, known_from.astimezone(UTC)), end)
    inner_start = _ceiling(first, level, zone)
    inner_end = bucket_start(end, level, zone)
    if inner_start >= inner_end:
        _split_into(pieces, start, end, finer, grid)
        return
    _split_into(pieces, start, inner_start, finer, grid)
    pieces.append(Piece(level, inner_start, inner_end))
    _split_into(pieces, inner_end, end, finer, grid)


def _ceiling(at: datetime, bucket: Bucket, zone: ZoneInfo) -> datetime:
    floor = bucket_start(at, bucket, zone)
    return floor if floor == at else _NEXTS[bucket](at, zone)


@lru_cache(maxsize=4096)
def _midnight(year: int, month: int, day: int, zone: ZoneInfo) -> datetime:
    # fold=0: of two midnights the first; where the clock skips midnight, the instant it jumps.
    return datetime(year, month, day, tzinfo=zone).astimezone(UTC)


def _day_edges(at: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    date = at.astimezone(zone).date()
    after = date + timedelta(days=1)
    start = _midnight(date.year, date.month, date.day, zone)
    end = _midnight(after.year, after.month, after.day, zone)
    if end == start:  # a date the zone skipped (Samoa, 30 December 2011)
        after += timedelta(days=1)
        end = _midnight(after.year, after.month, after.day, zone)
    return start, end


def _next_minute(at: datetime, zone: ZoneInfo) -> datetime:
    return minute_start(at) + _MINUTE


_FLOORS: dict[Bucket, Callable[[datetime, ZoneInfo], datetime]] = {
    "minute": minute_start,
    "hour": hour_start,
    "day": day_start,
}
_NEXTS: dict[Bucket, Callable[[datetime, ZoneInfo], datetime]] = {
    "minute": _next_minute,
    "hour": next_hour,
    "day": next_day,
}
