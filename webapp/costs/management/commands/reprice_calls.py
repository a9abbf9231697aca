from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from webapp.accounts.models import Project
from webapp.costs.repricing import reprice_calls


class Command(BaseCommand):
    help = "Price recorded calls again with the prices that are known now."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="the project's slug")
        parser.add_argument("--since", required=True, help="as in 2026-11-01T00:00+00:00")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']!r}.")
        try:
            since = datetime.fromisoformat(options["since"])
        except ValueError as error:
            raise CommandError(f"--since: {error}; write it as 2026-11-01T00:00+00:00.") from error
        if since.tzinfo is None:
            raise CommandError("--since needs an offset, as in 2026-11-01T00:00+00:00.")
        self.stdout.write(f"{reprice_calls(project.pk, since)} calls changed")
