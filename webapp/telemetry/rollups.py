"""Writes what a batch adds to the rollups, and folds those increments into cells."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection, transaction
from django.utils.timezone import now

from webapp.domain.periods import bucket_start, minute_start, zone_named
from webapp.domain.sketch import Sketch
from webapp.telemetry.cell import COLUMNS, Cell
from webapp.telemetry.summaries import HOURS_KEPT, MINUTES_KEPT
from webapp.telemetry.summary import COUNTS, MONEY, SKETCHES

_FOLD_LOCK = 7_305_002
_BATCH = 5000
_SLACK = timedelta(days=1)
_NAMES = ", ".join(COLUMNS)
_NUM_SUMS = len(COUNTS) + len(MONEY)
_TABLES = {"minute": "rollup_minute", "hour": "rollup_hour", "day": "rollup_day"}

Place = tuple[int, datetime]
Values = Sequence[Any]


def write_increments(cells: Mapping[tuple[int, datetime], Cell]) -> None:
    """Write one increment for each (series, minute); belongs in the transaction of its spans."""
    with (
        connection.cursor() as cursor,
        cursor.copy(
            f"copy rollup_increment (series_id, starts_at, {_NAMES}) from stdin"
        ) as copying,
    ):
        for (series_id, minute), cell in cells.items():
            copying.write_row((series_id, minute, *cell.values()))


@dataclass
class _Sum:
    """A cell being added up."""

    sums: list[Any] = field(default_factory=lambda: [0] * _NUM_SUMS)
    packed: list[list[bytes]] = field(default_factory=lambda: [[] for _ in SKETCHES])

    def add(self, values: Values) -> None:
        for place, value in enumerate(values[:_NUM_SUMS]):
            self.sums[place] += value
        for place, data in enumerate(values[_NUM_SUMS:]):
            if data is not None:
                self.packed[place].append(bytes(data))

    def values(self) -> list[Any]:
        return [*self.sums, *(_merged(parts) for parts in self.packed)]


def _merged(parts: list[bytes]) -> bytes | None:
    if not parts:
        return None
    sketch = Sketch.merged(parts)
    return None if sketch.is_empty() else sketch.to_bytes()


def fold_increments(at: datetime | None = None) -> int:
    """Move waiting increments into cells, in transactions of some thousands; how many there were.

    Killed at any point it loses nothing: deleting increments and writing cells is one transaction.
    """
    total = 0
    while folded := _fold_some(at or now()):
        total += folded
        if folded < _BATCH:
            break
    return total


def _fold_some(at: datetime) -> int:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("select pg_try_advisory_xact_lock(%s)", [_FOLD_LOCK])
            if not cursor.fetchone()[0]:
                return 0  # another worker is at it
            cursor.execute(
                "delete from rollup_increment where id in "
                "(select id from rollup_increment order by id limit %s) "
                f"returning series_id, starts_at, {_NAMES}",
                [_BATCH],
            )
            rows = cursor.fetchall()
        if rows:
            _add_to_cells(rows, at)
    return len(rows)


def _add_to_cells(rows: Sequence[Values], at: datetime) -> None:
    zones = _zones({row[0] for row in rows})
    kept = {"minute": at - MINUTES_KEPT, "hour": at - HOURS_KEPT, "day": None}
    for level, table in _TABLES.items():
        sums: dict[Place, _Sum] = {}
        for series_id, starts_at, *values in rows:
            start = _start(starts_at, level, zones[series_id])
            oldest = kept[level]
            if oldest is None or start >= oldest:
                sums.setdefault((series_id, start), _Sum()).add(values)
        if sums:
            _merge_into(table, sums)


def _start(at: datetime, level: str, zone: ZoneInfo) -> datetime:
    if level == "minute":
        return minute_start(at)
    return bucket_start(at, "hour" if level == "hour" else "day", zone)


def _zones(series: set[int]) -> dict[int, ZoneInfo]:
    with connection.cursor() as cursor:
        cursor.execute(
            "select s.id, o.timezone from rollup_series s "
            "join accounts_project p on p.id = s.project_id "
            "join accounts_organisation o on o.id = p.organisation_id where s.id = any(%s)",
            [list(series)],
        )
        return {series_id: zone_named(name) for series_id, name in cursor.fetchall()}


def _merge_into(table: str, sums: dict[Place, _Sum]) -> None:
    """Add to the cells that exist, and write them all. One folder at a time, so none is lost."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"select series_id, starts_at, {_NAMES} from {table} "
            "join unnest(%s::bigint[], %s::timestamptz[]) as wanted (series, start) "
            "on series_id = wanted.series and starts_at = wanted.start",
            [[series for series, _ in sums], [start for _, start in sums]],
        )
        for series_id, starts_at, *values in cursor.fetchall():
            sums[series_id, starts_at].add(values)
        updates = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS)
        marks = ", ".join(["%s"] * (2 + len(COLUMNS)))
        cursor.executemany(
            f"insert into {table} (series_id, starts_at, {_NAMES}) values ({marks}) "
            f"on conflict (series_id, starts_at) do update set {updates}",
            [(*place, *total.values()) for place, total in sums.items()],
        )


def drop_old_cells(at: datetime | None = None) -> int:
    """Delete minute and hour cells past their time; how many."""
    at = at or now()
    deleted = 0
    with connection.cursor() as cursor:
        for table, kept in (("rollup_minute", MINUTES_KEPT), ("rollup_hour", HOURS_KEPT)):
            # A day more than is read: a range that begins at the limit must find whole cells.
            cursor.execute(f"delete from {table} where starts_at < %s", [at - kept - _SLACK])
            deleted += cursor.rowcount
    return deleted


def places(series: Iterable[int], starts: Iterable[datetime]) -> list[tuple[int, datetime]]:
    """Where each call's increment goes: its series, and the minute it started in."""
    return [(one, minute_start(at)) for one, at in zip(series, starts, strict=True)]
