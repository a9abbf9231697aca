"""How long telemetry is kept: spans by dropping their day, the rest by deleting old rows."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.conf import settings
from django.utils.timezone import now

from webapp.accounts.models import Project
from webapp.telemetry.models import ServerSample, Span, StepBatch
from webapp.telemetry.partitions import drop_partitions_before, make_partitions_ahead
from webapp.telemetry.rollups import drop_old_cells


@dataclass(frozen=True)
class Kept:
    """What one round of upkeep did."""

    partitions_made: int
    partitions_dropped: list[date]
    rows_deleted: int


def oldest_day(at: datetime) -> date:
    """The first day whose spans are kept by any project."""
    kept = [settings.INFEROMETER["SPAN_RETENTION_DAYS"]]
    own = Project.objects.filter(span_retention_days__isnull=False)
    kept += own.values_list("span_retention_days", flat=True)
    return at.astimezone(UTC).date() - timedelta(days=max(kept))


def keep_partitions(at: datetime | None = None) -> Kept:
    """Make the partitions of the coming days, and let go of what is past its time."""
    at = at or now()
    first = oldest_day(at)
    limit = datetime(first.year, first.month, first.day, tzinfo=UTC)
    deleted = StepBatch.objects.filter(ended_at__lt=limit).delete()[0]
    deleted += ServerSample.objects.filter(at__lt=limit).delete()[0]
    deleted += _delete_of_short_keepers(at)
    return Kept(
        partitions_made=make_partitions_ahead(at.astimezone(UTC).date()),
        partitions_dropped=drop_partitions_before(first),
        rows_deleted=deleted + drop_old_cells(at),
    )


def _delete_of_short_keepers(at: datetime) -> int:
    """Spans of projects that keep theirs for less time than the partitions live."""
    deleted = 0
    default = settings.INFEROMETER["SPAN_RETENTION_DAYS"]
    for project in Project.objects.all():
        days = project.span_retention_days or default
        limit = at - timedelta(days=days)
        deleted += Span.objects.filter(project_id=project.pk, started_at__lt=limit)._raw_delete(
            using="default"
        )
    return deleted
