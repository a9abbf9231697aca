"""From what a form or the API was given to a question, in one way for both."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils.timezone import now

from webapp.accounts.models import Project
from webapp.servers.models import Server
from webapp.telemetry.queries import Scope, count_calls
from webapp.whatif.create import Question
from webapp.whatif.params import BadRun

# What may be tried, the names a reader may know it by, and how a value of it is read.
_NAMES = {
    "precision": "precision",
    "kv_precision": "kv_precision",
    "max_num_seqs": "max_num_seqs",
    "batch_limit": "max_num_seqs",
    "max_batch": "max_num_seqs",
    "max_batched_tokens": "max_batched_tokens",
    "chunked_prefill": "chunked_prefill",
    "prefix_cache": "prefix_cache",
    "hardware": "hardware",
    "count": "count",
    "replicas": "replicas",
    "arrival_scale": "arrival_scale",
    "price_per_hour": "price_per_hour",
}
_WHOLE = {"max_num_seqs", "max_batched_tokens", "count", "replicas"}
_YES_NO = {"chunked_prefill", "prefix_cache"}
_LOOK_BACK = timedelta(days=1)


def question_of(project: Project, given: Mapping[str, Any]) -> Question:
    """A question; every parameter takes one value or several. BadRun names what is wrong."""
    end = given.get("to") or now()
    start = given.get("from") or end - _LOOK_BACK
    return Question(
        server=given.get("server") or default_server(project, start, end),
        start=start,
        end=end,
        choices=choices_of(given),
        name=given.get("name") or "",
        model=given.get("model") or None,
        recorded_precision=given.get("recorded_precision") or "bf16",
        seed=int(given.get("seed") or 0),
    )


def choices_of(given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The values to try, by parameter; what is empty keeps what was recorded."""
    choices: dict[str, list[Any]] = {}
    for name, parameter in _NAMES.items():
        values = [
            _value(parameter, each)
            for each in _several(given.get(name))
            if each is not None and str(each).strip()
        ]
        if values:
            choices[parameter] = list(dict.fromkeys([*choices.get(parameter, []), *values]))
    return choices


def default_server(project: Project, start: datetime, end: datetime) -> str:
    """The server of our own with the most calls in the window."""
    servers = own_servers(project)
    if not servers:
        raise BadRun("No server of your own is registered; add one on the page Servers.")
    counted = {
        server.name: count_calls(Scope(project.pk, start, end, server=server.name))
        for server in servers
    }
    return max(counted, key=lambda name: counted[name])


def own_servers(project: Project) -> list[Server]:
    """Servers whose setup is the project's to change."""
    found = Server.objects.filter(project=project, archived_at=None)
    return list(found.exclude(kind=Server.Kind.PROVIDER).order_by("name"))


def _several(value: Any) -> Sequence[Any]:
    if isinstance(value, str):
        return value.split(",")
    return value if isinstance(value, list | tuple) else [value]


def _value(parameter: str, given: Any) -> Any:
    text = str(given).strip()
    try:
        if parameter in _WHOLE:
            return int(text)
        if parameter == "arrival_scale":
            return float(text)
    except ValueError:
        raise BadRun(f"{parameter} is a number, not {text[:40]!r}.") from None
    if parameter in _YES_NO:
        known = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
        if text.lower() not in known:
            raise BadRun(f"{parameter} is on or off, not {text[:40]!r}.")
        return known[text.lower()]
    return text
