"""`manage.py run_whatif --project default --precision int8 --max-num-seqs 8,32`, broker or not."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.timezone import now

from webapp.accounts.models import Project
from webapp.ui import numbers
from webapp.whatif import running
from webapp.whatif.asking import question_of
from webapp.whatif.create import checked_run
from webapp.whatif.models import Run
from webapp.whatif.params import BadRun
from webapp.whatif.reading import checks_of, scenarios_of
from webapp.whatif.replay import run_claimed

_CHOICES = ("precision", "hardware", "max_num_seqs", "count", "replicas", "arrival_scale")


class Command(BaseCommand):
    help = "Simulates recorded calls under other settings and prints each scenario."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", required=True, help="its slug")
        parser.add_argument("--server", help="without: the own server with the most calls")
        parser.add_argument("--hours", type=float, default=24.0, help="look back from now")
        for name in _CHOICES:
            parser.add_argument(f"--{name.replace('_', '-')}", help="several with commas")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']!r}.")
        end = now()
        given = {name: options[name] for name in ("server", *_CHOICES)}
        given |= {"from": end - timedelta(hours=options["hours"]), "to": end}
        try:
            run = checked_run(project, question_of(project, given))
        except BadRun as error:
            raise CommandError(str(error)) from error
        _work_out(run)
        self._print(Run.objects.get(pk=run.pk))

    def _print(self, run: Run) -> None:
        scenarios = scenarios_of(run)
        for one in scenarios:
            if one.result is None:
                self.stdout.write(f"{one.words}: {one.state}. {one.error}")
                continue
            cost = one.result["cost"]
            p95 = one.result["percentiles"]["e2e_s"]["p95"]
            self.stdout.write(
                f"{one.words}: p95 E2E {numbers.seconds(p95)}, "
                f"{numbers.rate(one.result['throughput_tokens_per_s'])} tokens/s, "
                f"{numbers.money_exact(cost['per_call'])} a call, "
                f"{numbers.money_exact(cost['per_million_output'])} per 1M output tokens"
            )
        for check in checks_of(run, scenarios):
            self.stdout.write(
                f"{check.label} {check.percentile}: recorded {numbers.seconds(check.recorded)}, "
                f"simulated {numbers.seconds(check.simulated)}"
            )


def _work_out(run: Run) -> None:
    for index in run.scenarios.values_list("index", flat=True):
        scenario = running.claim(run.pk, index)
        if scenario is not None:
            run_claimed(scenario)
    running.finish_run(run.pk)
