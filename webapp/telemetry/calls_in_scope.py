"""A scope as a query over `span`."""

from collections.abc import Callable

from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.functions import Coalesce, NullIf

from webapp.servers.models import Server
from webapp.telemetry.models import Span
from webapp.telemetry.scope import Scope

# The model a call names: what answered, else what was asked for.
MODEL_NAME = Coalesce(
    NullIf("response_model", Value("")), "request_model", output_field=TextField()
)

Narrow = Callable[[QuerySet[Span], str, int], QuerySet[Span]]


def calls_in(scope: Scope) -> QuerySet[Span]:
    calls = Span.objects.filter(
        project_id=scope.project_id,
        started_at__gte=scope.start,
        started_at__lt=scope.end,
        cost_state__isnull=False,
    )
    for name, value in scope.dimensions().items():
        calls = _NARROW.get(name, _plainly(name))(calls, value, scope.project_id)
    return calls


def _by_server(calls: QuerySet[Span], value: str, project_id: int) -> QuerySet[Span]:
    if not value:
        return calls.filter(server_id__isnull=True)
    server = Server.objects.filter(project_id=project_id, name=value).values_list("pk", flat=True)
    return calls.filter(server_id=server.first() or 0)


def _by_model(calls: QuerySet[Span], value: str, project_id: int) -> QuerySet[Span]:
    calls = calls.annotate(model_name=MODEL_NAME)
    return calls.filter(model_name=value) if value else calls.filter(_empty("model_name"))


def _plainly(name: str) -> Narrow:
    def narrow(calls: QuerySet[Span], value: str, project_id: int) -> QuerySet[Span]:
        return calls.filter(**{name: value}) if value else calls.filter(_empty(name))

    return narrow


_NARROW: dict[str, Narrow] = {"server": _by_server, "model": _by_model}


def _empty(name: str) -> Q:
    return Q(**{f"{name}__isnull": True}) | Q(**{name: ""})
