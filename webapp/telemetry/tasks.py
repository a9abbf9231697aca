"""Upkeep of telemetry: each task can also be run by hand with a management command."""

from celery import shared_task

from webapp.telemetry.retention import keep_partitions
from webapp.telemetry.rollups import fold_increments


@shared_task(name="telemetry.fold_rollups", time_limit=300)
def fold_rollups() -> None:
    fold_increments()


@shared_task(name="telemetry.keep_partitions", time_limit=300)
def keep_partitions_task() -> None:
    keep_partitions()
