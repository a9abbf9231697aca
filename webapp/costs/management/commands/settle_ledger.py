from typing import Any

from django.core.management.base import BaseCommand

from webapp.costs.ledger import settle_due


class Command(BaseCommand):
    help = "Work out the ledger's hours that may still change."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{settle_due()} hours written")
