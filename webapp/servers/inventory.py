"""Changes of the inventory, each with its audit entry, and the key a server sends with."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.timezone import now

from webapp.accounts import audit
from webapp.accounts.keys import forget_key, issue_key, revoke_key
from webapp.accounts.models import ApiKey, Project
from webapp.servers.models import Server


class BadServer(ValueError):
    """A server that cannot be registered so; the message names the field."""


def register(project: Project, actor: str, values: Mapping[str, Any]) -> Server:
    """Add a server; BadServer where a value is not allowed or the name is taken."""
    server = Server(project=project, **values)
    _check(server)
    with transaction.atomic():
        server.save()
        audit.record(project, actor, "server.added", server.name, kind=server.kind)
    return server


def change(server: Server, actor: str, values: Mapping[str, Any]) -> Server:
    before = {name: getattr(server, name) for name in values}
    for name, value in values.items():
        setattr(server, name, value)
    _check(server)
    changed = {name: value for name, value in values.items() if before[name] != value}
    if changed:
        with transaction.atomic():
            server.save()
            audit.record(server.project, actor, "server.changed", server.name, **changed)
    return server


def archive(server: Server, actor: str) -> None:
    """Take a server out of use: its calls stay, its key is refused."""
    with transaction.atomic():
        server.archived_at = now()
        key, server.ingest_key = server.ingest_key, None
        server.save(update_fields=["archived_at", "ingest_key"])
        if key is not None:
            revoke_key(key)
        audit.record(server.project, actor, "server.archived", server.name)


def new_ingest_key(server: Server, actor: str) -> str:
    """A fresh key bound to the server; the former one is revoked. Its secret, readable only now."""
    with transaction.atomic():
        former = server.ingest_key
        key, secret = issue_key(server.project, f"{server.name} telemetry", [ApiKey.Scope.INGEST])
        server.ingest_key = key
        server.save(update_fields=["ingest_key"])
        if former is not None:
            revoke_key(former)
            forget_key(former)
        audit.record(server.project, actor, "server.key_issued", server.name, prefix=key.prefix)
    return secret


def _check(server: Server) -> None:
    try:
        server.full_clean()
    except ValidationError as error:
        found = error.message_dict
        name, sentences = next(iter(found.items()))
        where = "" if name == "__all__" else f"{name}: "
        raise BadServer(f"{where}{sentences[0]}") from error
