"""Makes an installation usable: tables, the first organisation, its administrator, keys, engine.

Run again it changes nothing that is there. Needs Django set up and the database reached.
"""

import json
import secrets
from dataclasses import dataclass
from decimal import Decimal

import psutil
from django.conf import settings
from django.core.management import call_command
from django.db import transaction
from django.utils.timezone import now

from webapp.accounts.keys import issue_key
from webapp.accounts.models import ApiKey, Member, Organisation, Project, User
from webapp.embedded.installation import Installation
from webapp.servers.models import Server, ServerRate
from webapp.telemetry.partitions import make_partitions_ahead

ORGANISATION, PROJECT, ADMIN, ENGINE = "Default", "default", "admin", "engine"
_MODEL = "SmolLM2-135M-Instruct"
_ASSUMED = "Assumed price of this machine; replace it with what yours costs."
# plotly's Python package carries sample data and a second bundle that no page needs.
_NOT_SERVED = ["datasets/*", "*.json", "*.csv.gz"]


@dataclass(frozen=True)
class Keys:
    """Secrets the programs of the stack use; they exist in the clear only in `var/`."""

    api_key: str
    engine_ingest_key: str
    gateway_ingest_key: str
    gateway_read_key: str
    gateway_key: str


def prepare_database() -> None:
    """Tables as this version wants them, the coming days' partitions, and static files."""
    call_command("migrate", interactive=False, verbosity=0)
    make_partitions_ahead(now().date())
    call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=_NOT_SERVED)


def create_first_project(installation: Installation) -> None:
    """Organisation, administrator, project, keys and the embedded engine, if there are none yet."""
    if installation.credentials.exists() and installation.keys():
        return
    with transaction.atomic():
        project = _project()
        password = _administrator(project)
        keys = _keys(project)
        _engine(project, installation, keys.engine_ingest_key)
    installation.write_private("keys.json", json.dumps(keys.__dict__, indent=1))
    credentials = {
        "url": installation.url("web"),
        "username": ADMIN,
        "password": password,
        "project": project.slug,
        "api_key": keys.api_key,
        "engine_url": installation.url("engine"),
        "gateway_url": installation.url("gateway"),
        "gateway_key": keys.gateway_key,
    }
    installation.write_private("credentials.json", json.dumps(credentials, indent=1) + "\n")


def refresh_addresses(installation: Installation) -> None:
    """Ports may have changed since the last start; names and secrets have not."""
    found = json.loads(installation.credentials.read_text())
    urls = {
        "url": installation.url("web"),
        "engine_url": installation.url("engine"),
        "gateway_url": installation.url("gateway"),
    }
    if {name: found[name] for name in urls} != urls:
        installation.write_private("credentials.json", json.dumps(found | urls, indent=1) + "\n")
    base_url, metrics_url = _engine_urls(installation)
    Server.objects.filter(project__slug=found["project"], name=ENGINE).update(
        base_url=base_url, metrics_url=metrics_url
    )


def _project() -> Project:
    organisation, _ = Organisation.objects.get_or_create(
        slug=PROJECT, defaults={"name": ORGANISATION}
    )
    project, _ = Project.objects.get_or_create(
        slug=PROJECT, defaults={"organisation": organisation, "name": ORGANISATION}
    )
    return project


def _administrator(project: Project) -> str:
    """The administrator with a fresh password: only its hash is kept in the database."""
    password = secrets.token_urlsafe(12)
    user, _ = User.objects.get_or_create(username=ADMIN, defaults={"is_staff": True})
    user.set_password(password)
    user.save()
    Member.objects.update_or_create(
        project=project, user=user, defaults={"role": Member.Role.ADMIN}
    )
    return password


def _keys(project: Project) -> Keys:
    scope = ApiKey.Scope
    wanted: dict[str, tuple[str, list[str]]] = {
        "api_key": ("First key", [scope.READ, scope.WRITE, scope.INGEST]),
        "engine_ingest_key": ("Embedded engine", [scope.INGEST]),
        "gateway_ingest_key": ("Gateway, telemetry", [scope.INGEST]),
        "gateway_read_key": ("Gateway, server list", [scope.READ]),
        "gateway_key": ("Gateway, callers", [scope.GATEWAY]),
    }
    return Keys(**{name: issue_key(project, *row)[1] for name, row in wanted.items()})


def _engine(project: Project, installation: Installation, ingest_secret: str) -> None:
    key = ApiKey.objects.filter(project=project, name="Embedded engine").latest("pk")
    base_url, metrics_url = _engine_urls(installation)
    server, _ = Server.objects.update_or_create(
        project=project,
        name=ENGINE,
        defaults={
            "kind": Server.Kind.ENGINE,
            "base_url": base_url,
            "metrics_url": metrics_url,
            "model": _MODEL,
            "location": "This machine",
            "owner": ADMIN,
            "exposure": f"Programs that reach {installation.host}",
            "hardware": f"CPU, {psutil.cpu_count(logical=False) or 1} cores",
            "ingest_key": key,
        },
    )
    if not server.rates.exists():
        ServerRate.objects.create(
            server=server,
            price_per_hour=Decimal(settings.INFEROMETER["ENGINE_PRICE_PER_HOUR"]),
            valid_from=project.created_at.replace(hour=0, minute=0, second=0, microsecond=0),
            is_assumption=True,
            note=_ASSUMED,
        )


def _engine_urls(installation: Installation) -> tuple[str, str]:
    url = installation.url("engine")
    return url, f"{url}/metrics"
