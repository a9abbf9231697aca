"""What an hour of a server costs, with dates: a new price closes the one before it."""

from datetime import datetime
from decimal import Decimal

from celery import current_app
from django.db import transaction
from django.db.models import Q

from webapp.accounts import audit
from webapp.servers.models import Server, ServerRate


class BadPrice(ValueError):
    """A price that cannot be set; the message is the sentence a person reads."""


def price_at(server: Server, at: datetime) -> ServerRate | None:
    """The price in force at an instant."""
    return (
        server.rates.filter(valid_from__lte=at)
        .filter(Q(valid_to__isnull=True) | Q(valid_to__gt=at))
        .order_by("-valid_from")
        .first()
    )


def set_price(
    server: Server,
    actor: str,
    price_per_hour: Decimal,
    valid_from: datetime,
    *,
    currency: str = "USD",
    is_assumption: bool = False,
    note: str = "",
) -> ServerRate:
    """A price from an instant on; what was in force ends there, what was to come is replaced."""
    if not price_per_hour.is_finite() or price_per_hour < 0 or price_per_hour >= 10**9:
        raise BadPrice("The price per hour must be an amount of at least 0, as in 1.86.")
    if len(currency) != 3 or not currency.isalpha():
        raise BadPrice("The currency must be three letters, as in USD.")
    with transaction.atomic():
        Server.objects.select_for_update().get(pk=server.pk)
        server.rates.filter(valid_from__gte=valid_from).delete()
        server.rates.filter(Q(valid_to__isnull=True) | Q(valid_to__gt=valid_from)).update(
            valid_to=valid_from
        )
        rate = ServerRate.objects.create(
            server=server,
            price_per_hour=price_per_hour,
            currency=currency.upper(),
            valid_from=valid_from,
            is_assumption=is_assumption,
            note=note[:200],
        )
        audit.record(
            server.project,
            actor,
            "server.price_set",
            server.name,
            price_per_hour=price_per_hour,
            currency=rate.currency,
            valid_from=valid_from,
        )
        # By name: money is built on servers, and not the other way round.
        transaction.on_commit(
            lambda: current_app.send_task(
                "costs.reprice_calls",
                [server.project_id, valid_from.isoformat()],
                {"server_id": server.pk},
            ),
            robust=True,
        )
    return rate
