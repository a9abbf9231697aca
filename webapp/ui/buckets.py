"""Summaries by bucket, laid onto every bucket of the range."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TypeVar

from webapp.domain.periods import BUCKETS, Bucket, bucket_edges
from webapp.telemetry.queries import COUNTS, MONEY, Scope, Summary
from webapp.ui.filters import PageFilters

NONE = "(none)"
OTHER = "Other"
K = TypeVar("K", bound=Hashable)


def starts_of(scope: Scope, filters: PageFilters) -> list[datetime]:
    """Starts of all buckets of a scope, empty ones included."""
    bucket: Bucket = next(each for each in BUCKETS if each == filters.bucket)
    return bucket_edges(scope.start, scope.end, bucket, filters.zone)[:-1]


def local_texts(starts: Iterable[datetime], filters: PageFilters) -> list[str]:
    """Times as the charts' axes show them: on the reader's clock."""
    return [start.astimezone(filters.zone).strftime("%Y-%m-%d %H:%M") for start in starts]


def name_of(row: Summary) -> str:
    return OTHER if row.is_other else row.key or NONE


def costs_by_group(rows: Sequence[Summary], starts: Sequence[datetime]) -> dict[str, list[Decimal]]:
    """Cost by group, one value a bucket; a bucket without calls cost nothing."""
    places = {start: place for place, start in enumerate(starts)}
    found: dict[str, list[Decimal]] = {}
    for row in rows:
        values = found.setdefault(name_of(row), [Decimal(0)] * len(starts))
        if row.starts_at in places:
            values[places[row.starts_at]] += row.cost_usd
    return found


def on_buckets(rows: Sequence[Summary], starts: Sequence[datetime]) -> list[Summary | None]:
    """One summary a bucket, None where no call started."""
    by_start = {row.starts_at: row for row in rows}
    return [by_start.get(start) for start in starts]


def merged(
    rows: Iterable[Summary], key_of: Callable[[Summary], K], sketches: Sequence[str] = ()
) -> dict[K, Summary]:
    """Rows with the same key summed into one; of the distributions only those asked for."""
    found: dict[K, Summary] = {}
    for row in rows:
        key = key_of(row)
        if key not in found:
            found[key] = Summary(key=row.key, is_other=row.is_other, starts_at=row.starts_at)
        into = found[key]
        for name in (*COUNTS, *MONEY):
            setattr(into, name, getattr(into, name) + getattr(row, name))
        for name in sketches:
            if not row.sketches[name].is_empty():
                into.sketches.add_packed(name, row.sketches[name].to_bytes())
    return found


def whole(rows: Iterable[Summary], sketches: Sequence[str] = ()) -> Summary:
    """All rows as one."""
    return merged(rows, lambda row: None, sketches).get(None, Summary())
