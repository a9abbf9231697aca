from typing import Any

from django.core.management.base import BaseCommand

from webapp.telemetry.retention import keep_partitions


class Command(BaseCommand):
    help = "Make the partitions of the coming days and drop what is past its retention."

    def handle(self, *args: Any, **options: Any) -> None:
        kept = keep_partitions()
        dropped = ", ".join(map(str, kept.partitions_dropped)) or "none"
        self.stdout.write(f"days made: {kept.partitions_made}; days dropped: {dropped}")
        self.stdout.write(f"other rows deleted: {kept.rows_deleted}")
