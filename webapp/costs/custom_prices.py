"""Prices of the organisation's own: a new row closes the one before it, and calls are repriced."""

from datetime import datetime
from decimal import Decimal

from celery import current_app
from django.db import transaction
from django.db.models import Q

from webapp.accounts import audit
from webapp.accounts.models import Project, User
from webapp.costs.models import CustomPrice

RATES = ("input_per_million", "cache_read_per_million", "cache_write_per_million")
RATES += ("output_per_million", "per_call")


class BadPrice(ValueError):
    """A price that cannot be set; the message is the sentence a person reads."""


def set_custom_price(
    project: Project,
    actor: User,
    model: str,
    valid_from: datetime,
    rates: dict[str, Decimal | None],
    *,
    provider: str = "",
    note: str = "",
) -> CustomPrice:
    """A model's price from an instant on; calls since then are priced again in the background."""
    given = {name: rates.get(name) for name in RATES}
    if all(amount is None for amount in given.values()):
        raise BadPrice("Give at least one price; 0 is one.")
    with transaction.atomic():
        same = CustomPrice.objects.filter(
            project=project, model__iexact=model, provider__iexact=provider
        )
        same.filter(valid_from__gte=valid_from).delete()
        same.filter(Q(valid_to__isnull=True) | Q(valid_to__gt=valid_from)).update(
            valid_to=valid_from
        )
        row = CustomPrice.objects.create(
            project=project,
            provider=provider,
            model=model,
            valid_from=valid_from,
            note=note,
            created_by=actor,
            **given,
        )
        detail = {name: amount for name, amount in given.items() if amount is not None}
        audit.record(project, str(actor), "price.set", model, valid_from=valid_from, **detail)
        reprice_later(project.pk, valid_from, model=model)
    return row


def end_custom_price(row: CustomPrice, actor: User) -> None:
    """Take a row back: calls it priced go to the price list again."""
    with transaction.atomic():
        audit.record(row.project, str(actor), "price.removed", row.model)
        reprice_later(row.project_id, row.valid_from, model=row.model)
        row.delete()


def reprice_later(project_id: int, since: datetime, *, model: str = "") -> None:
    """Ask a worker to price calls again, once what was changed is committed."""
    transaction.on_commit(
        lambda: current_app.send_task(
            "costs.reprice_calls", [project_id, since.isoformat()], {"model": model}
        ),
        robust=True,
    )
