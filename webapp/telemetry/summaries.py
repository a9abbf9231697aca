"""Numbers over a range: from rollup cells, exactly, with spans only at ragged edges."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.db import connection
from django.utils.timezone import now

from webapp.accounts.models import Project
from webapp.domain.periods import BUCKETS, Bucket, Level, bucket_edges, split, zone_named
from webapp.telemetry.cell import COLUMNS, SPAN_COLUMNS, cells_of
from webapp.telemetry.scope import DIMENSIONS, Scope
from webapp.telemetry.summary import COUNTS, MONEY, SKETCHES, Summary

# How long cells of a level are kept; days are kept for good.
MINUTES_KEPT = timedelta(hours=48)
HOURS_KEPT = timedelta(days=90)
_TABLES: dict[Level, str] = {
    "day": "rollup_day",
    "hour": "rollup_hour",
    "minute": "rollup_minute",
}
_SERIES = """
select s.id, server.name, s.provider, s.model, s.team, s.feature, s.environment, s.is_other
from rollup_series s left join servers_server server on server.id = s.server_id
where s.project_id = %s
"""
_SPAN_DIMENSIONS = {
    "server": "server.name",
    "model": "coalesce(nullif(span.response_model, ''), span.request_model)",
    "provider": "span.provider",
    "team": "span.team",
    "feature": "span.feature",
    "environment": "span.environment",
}

Range = tuple[datetime, datetime]
Group = tuple[str | None, bool]


@dataclass(frozen=True)
class _Plan:
    """Which stretches of time are read from which cells, and the buckets they add up to."""

    edges: list[datetime]
    ranges: dict[Level, list[Range]]

    def bucket_of(self, at: datetime) -> datetime:
        return self.edges[bisect_right(self.edges, at) - 1]


def summarise(
    scope: Scope,
    *,
    group_by: str | None = None,
    bucket: str | None = None,
    tz: str = "UTC",
) -> list[Summary]:
    """One row per group and bucket that holds calls; always one row where neither is asked for.

    `group_by`: server model provider team feature environment. `bucket`: minute hour day, on the
    clock of `tz`. Rows come by bucket, then by cost, then calls, highest first.
    """
    if group_by is not None and group_by not in DIMENSIONS:
        raise ValueError(f"Group by one of {', '.join(DIMENSIONS)}, not {group_by!r}.")
    if bucket is not None and bucket not in BUCKETS:
        raise ValueError(f"Bucket is one of {', '.join(BUCKETS)}, not {bucket!r}.")
    found: dict[tuple[datetime | None, Group], Summary] = {}
    plan = _plan(scope, bucket, tz)
    groups = _series_of(scope, group_by)
    for series_id, at, values in _cells(plan.ranges, list(groups)):
        starts_at = plan.bucket_of(at) if bucket else None
        _add(_row(found, starts_at, groups[series_id]), values)
    for starts_at, group, values in _ragged(scope, plan, group_by):
        _add(_row(found, starts_at if bucket else None, group), values)
    rows = [row for row in found.values() if row.calls]
    if group_by is None and bucket is None:
        return list(found.values()) or [Summary()]
    return sorted(rows, key=_order)


def _order(row: Summary) -> tuple[Any, ...]:
    at = row.starts_at.timestamp() if row.starts_at else 0.0
    return at, row.is_other, -row.cost_usd, -row.calls, row.key or ""


def _plan(scope: Scope, bucket: str | None, tz: str) -> _Plan:
    organisation_zone = zone_named(_timezone_of(scope.project_id))
    at = now()
    limits = {"hours_from": at - HOURS_KEPT, "minutes_from": at - MINUTES_KEPT}
    edges = [scope.start, scope.end]
    if bucket:
        kind: Bucket = next(each for each in BUCKETS if each == bucket)
        edges = bucket_edges(scope.start, scope.end, kind, zone_named(tz))
    ranges: dict[Level, list[Range]] = {"day": [], "hour": [], "minute": [], "exact": []}
    for low, high in pairwise(edges):
        start, end = max(low, scope.start), min(high, scope.end)
        for piece in split(start, end, organisation_zone, **limits):
            _extend(ranges[piece.level], piece.start, piece.end)
    return _Plan(edges, ranges)


def _extend(ranges: list[Range], start: datetime, end: datetime) -> None:
    """Add a stretch, joined to the last one where they meet."""
    if ranges and ranges[-1][1] == start:
        ranges[-1] = (ranges[-1][0], end)
    else:
        ranges.append((start, end))


def _timezone_of(project_id: int) -> str:
    name = Project.objects.values_list("organisation__timezone", flat=True).get(pk=project_id)
    return str(name)


def _series_of(scope: Scope, group_by: str | None) -> dict[int, Group]:
    """Series that the scope includes, and the group each belongs to."""
    wanted = scope.dimensions()
    with connection.cursor() as cursor:
        cursor.execute(_SERIES, [scope.project_id])
        rows = cursor.fetchall()
    groups: dict[int, Group] = {}
    for series_id, server, provider, model, team, feature, environment, is_other in rows:
        values = {
            "server": server,
            "provider": provider,
            "model": model,
            "team": team,
            "feature": feature,
            "environment": environment,
        }
        # What is past the cap lost its dimensions: it belongs to no value of any of them.
        if wanted and is_other:
            continue
        if all((values[name] or "") == value for name, value in wanted.items()):
            groups[series_id] = (values[group_by], is_other) if group_by else (None, False)
    return groups


def _cells(
    ranges: dict[Level, list[Range]], series: list[int]
) -> Iterable[tuple[int, datetime, Sequence[Any]]]:
    """Cells and increments not folded yet, in one statement: a fold in between is not seen half."""
    parts: list[str] = []
    values: list[Any] = []
    columns = ", ".join(COLUMNS)
    for level, table in _TABLES.items():
        for place in (table, "rollup_increment"):
            for start, end in ranges[level]:
                parts.append(
                    f"select series_id, starts_at, {columns} from {place} "
                    "where series_id = any(%s) and starts_at >= %s and starts_at < %s"
                )
                values += [series, start, end]
    if not parts or not series:
        return
    with connection.cursor() as cursor:
        cursor.execute(" union all ".join(parts), values)
        for row in cursor.fetchall():
            yield row[0], row[1], row[2:]


def _ragged(
    scope: Scope, plan: _Plan, group_by: str | None
) -> Iterable[tuple[datetime, Group, Sequence[Any]]]:
    """Stretches no cell covers, from the spans themselves, summed by bucket and group."""
    ranges = plan.ranges["exact"]
    if not ranges:
        return
    conditions = " or ".join(["(span.started_at >= %s and span.started_at < %s)"] * len(ranges))
    values: list[Any] = [scope.project_id, *(edge for piece in ranges for edge in piece)]
    for name, value in scope.dimensions().items():
        conditions = f"({conditions}) and coalesce({_SPAN_DIMENSIONS[name]}, '') = %s"
        values.append(value)
    group = _SPAN_DIMENSIONS[group_by] if group_by else "null"
    columns = ", ".join(f"span.{name}" for name in SPAN_COLUMNS)
    with connection.cursor() as cursor:
        cursor.execute(
            f"select {group}, span.started_at, {columns} from span "
            "left join servers_server server on server.id = span.server_id "
            f"where span.project_id = %s and span.cost_state is not null and ({conditions})",
            values,
        )
        rows = cursor.fetchall()
    spans = [dict(zip(SPAN_COLUMNS, row[2:], strict=True)) for row in rows]
    keys = [(plan.bucket_of(row[1]), row[0] or None) for row in rows]
    for (at, key), cell in cells_of(spans, keys).items():
        yield at, (key, False), cell.values()


def _row(
    found: dict[tuple[datetime | None, Group], Summary], starts_at: datetime | None, group: Group
) -> Summary:
    place = (starts_at, group)
    if place not in found:
        found[place] = Summary(key=group[0], is_other=group[1], starts_at=starts_at)
    return found[place]


def _add(row: Summary, values: Sequence[Any]) -> None:
    for name, value in zip((*COUNTS, *MONEY), values, strict=False):
        setattr(row, name, getattr(row, name) + value)
    for name, packed in zip(SKETCHES, values[len(COUNTS) + len(MONEY) :], strict=True):
        if packed is not None:
            row.sketches.add_packed(name, bytes(packed))
