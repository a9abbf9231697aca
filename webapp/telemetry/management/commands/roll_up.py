from typing import Any

from django.core.management.base import BaseCommand

from webapp.telemetry.rollups import fold_increments


class Command(BaseCommand):
    help = "Fold waiting rollup increments into minute, hour and day cells."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{fold_increments()} increments folded")
