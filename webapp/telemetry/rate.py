"""The price per hour that a call's engine time was charged at."""

from django.db.models import Q

from webapp.servers.models import ServerRate
from webapp.telemetry.call import CallDetail


def rate_of(call: CallDetail) -> ServerRate | None:
    """The server's rate at the call's start; None where it was not priced by engine time."""
    if call.cost_basis != "engine_seconds" or call.server_id is None:
        return None
    open_then = Q(valid_to__isnull=True) | Q(valid_to__gt=call.started_at)
    rates = ServerRate.objects.filter(open_then, server_id=call.server_id)
    return rates.filter(valid_from__lte=call.started_at).first()
