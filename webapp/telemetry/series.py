"""Rollup series: the combinations of dimensions a project has shown, up to its cap."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction

_LOCK_CLASS = 7_305
_DIMENSIONS = "server_id, provider, model, team, feature, environment"
_OPEN = f"""
insert into rollup_series (project_id, {_DIMENSIONS}, is_other)
values (%s, %s, %s, %s, %s, %s, %s, %s) on conflict do nothing
"""


class SeriesKey(NamedTuple):
    """What calls of one series have in common; None: unknown."""

    server_id: int | None = None
    provider: str | None = None
    model: str | None = None
    team: str | None = None
    feature: str | None = None
    environment: str | None = None


# Where calls go whose series would be one too many.
OTHER = SeriesKey()


@dataclass
class _KnownSeries:
    """Ids this process looked up; series are never renumbered."""

    by_project: dict[int, dict[SeriesKey, int]] = field(default_factory=dict)


_known = _KnownSeries()


def series_ids(project_id: int, keys: Collection[SeriesKey]) -> dict[SeriesKey, int]:
    """The id of each key's series, opened where it is new; past the cap, the id of "other"."""
    known = _known.by_project.setdefault(project_id, {})
    missing = [key for key in keys if key not in known]
    if missing:
        known.update(_looked_up(project_id, missing))
    return {key: known[key] for key in keys}


def forget_series() -> None:
    """Drop what this process remembers, after a transaction that opened series was undone."""
    _known.by_project.clear()


def _looked_up(project_id: int, keys: list[SeriesKey]) -> dict[SeriesKey, int]:
    """Opens series in a transaction of its own, so that no batch waits for another's."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_xact_lock(%s, %s)", [_LOCK_CLASS, project_id])
        present, other = _present(project_id)
        room = settings.INFEROMETER["MAX_SERIES"] - len(present)
        fresh = [key for key in keys if key not in present]
        _open(project_id, fresh[: max(room, 0)])
        if len(fresh) > room and other is None:
            _open(project_id, [OTHER], is_other=True)
        if fresh:
            present, other = _present(project_id)
    return {key: present.get(key, other) for key in keys}  # type: ignore[misc]


def _present(project_id: int) -> tuple[dict[SeriesKey, int], int | None]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"select id, is_other, {_DIMENSIONS} from rollup_series where project_id = %s",
            [project_id],
        )
        rows = cursor.fetchall()
    series = {SeriesKey(*row[2:]): row[0] for row in rows if not row[1]}
    return series, next((row[0] for row in rows if row[1]), None)


def _open(project_id: int, keys: list[SeriesKey], *, is_other: bool = False) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(_OPEN, [(project_id, *key, is_other) for key in keys])
