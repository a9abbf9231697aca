"""One partition of `span` a day (UTC): made before it is needed, dropped when its time is over."""

from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

from django.db import OperationalError, connection, transaction

PREFIX = "span_"
# Any constant does, as long as nothing else uses it.
_LOCK = 7_305_001
_ATTACHED = """
select child.relname from pg_inherits
join pg_class child on child.oid = inhrelid
where inhparent = 'span'::regclass order by child.relname
"""


def partition_name(day: date) -> str:
    return f"{PREFIX}{day:%Y%m%d}"


def partition_days() -> list[date]:
    """The days that have a partition, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(_ATTACHED)
        names = [name for (name,) in cursor.fetchall() if name.startswith(PREFIX)]
    return [datetime.strptime(name[len(PREFIX) :], "%Y%m%d").date() for name in names]


def make_partitions(days: Collection[date]) -> int:
    """Make what is missing; returns how many were.

    A new table is attached: `create … partition of` would lock out every writer of `span`.
    """
    made = 0
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_xact_lock(%s)", [_LOCK])
        for day in sorted(set(days) - set(partition_days())):
            _make(day)
            made += 1
    return made


def make_partitions_ahead(today: date, *, behind: int = 1, ahead: int = 3) -> int:
    """Make the partitions of the days around today, so that no batch has to."""
    return make_partitions([today + timedelta(days=n) for n in range(-behind, ahead + 1)])


def drop_partitions_before(day: date) -> list[date]:
    """Drop every partition older than `day`; one that is in use is left for the next time."""
    dropped = []
    for old in [known for known in partition_days() if known < day]:
        with suppress(OperationalError):  # lock_timeout: a long reader must not stop all writers
            _drop(old)
            dropped.append(old)
    return dropped


def _make(day: date) -> None:
    name = partition_name(day)
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    with connection.cursor() as cursor:
        cursor.execute(f"create table {name} (like span including defaults including constraints)")
        cursor.execute(
            f"alter table span attach partition {name} for values from (%s) to (%s)",
            [start, start + timedelta(days=1)],
        )


def _drop(day: date) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set local lock_timeout = '3s'")
        cursor.execute("select pg_advisory_xact_lock(%s)", [_LOCK])
        cursor.execute(f"drop table if exists {partition_name(day)}")
