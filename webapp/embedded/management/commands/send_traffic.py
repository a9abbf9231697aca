from argparse import ArgumentParser
from typing import Any

import httpx
from django.core.management.base import BaseCommand, CommandError

from webapp.embedded.installation import Installation
from webapp.embedded.traffic import send_traffic


class Command(BaseCommand):
    help = "Ask a running engine a few questions, so that there is something to look at."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--engine-url", default="", help="else the embedded engine's")
        parser.add_argument("--count", type=int, default=30)
        parser.add_argument("--concurrency", type=int, default=4)

    def handle(self, *args: Any, **options: Any) -> None:
        installation = Installation.from_environment()
        url = options["engine_url"] or installation.url("engine")
        key = installation.keys().get("gateway_ingest_key", "")
        try:
            sent = send_traffic(
                url,
                count=options["count"],
                concurrency=options["concurrency"],
                otlp_url=installation.url("web") if key else "",
                otlp_key=key,
                say=self.stdout.write,
            )
        except httpx.HTTPError as error:
            raise CommandError(f"The engine at {url} cannot be reached: {error}") from error
        self.stdout.write(f"{sent.answered} answered, {sent.failed} failed")
