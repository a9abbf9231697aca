"""Why a page has nothing to show, and what to do about it."""

from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from webapp.ui.filters import PageFilters

_FIRST_RECORD = """\
# any OpenTelemetry SDK: send its spans here
export OTEL_EXPORTER_OTLP_ENDPOINT={host}
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer YOUR_INGEST_KEY"

# or one call through the engine that runs beside this page
curl http://127.0.0.1:8100/v1/chat/completions -H 'Content-Type: application/json' \\
  -d '{{"messages": [{{"role": "user", "content": "Hello"}}], "max_tokens": 32}}'"""


def empty_state(
    request: HttpRequest, filters: PageFilters, last: datetime | None
) -> dict[str, str]:
    """Nothing ever received, filters that exclude everything, or nothing in this range."""
    if last is None:
        return {
            "title": "No call has arrived yet",
            "text": "Send the first one with a key from Settings; it shows here at once.",
            "command": _FIRST_RECORD.format(host=request.build_absolute_uri("/").rstrip("/")),
            "action_url": reverse("ui:project", kwargs=_slug(request)) + "settings/",
            "action_label": "Make an ingest key",
        }
    if filters.chips or request.GET.get("status"):
        kept = {
            name: request.GET[name] for name in ("range", "from", "to", "tz") if name in request.GET
        }
        return {
            "title": "No call matches these filters",
            "text": "In this range there is none with all of the chosen values.",
            "action_url": "?" + urlencode(kept),
            "action_label": "Clear the filters",
        }
    day = last.astimezone(filters.zone).date().isoformat()
    return {
        "title": "No call in this range",
        "text": f"The newest record came on {day}.",
        "action_url": "?" + urlencode({"range": "custom", "from": day, "to": day}),
        "action_label": f"Show {day}",
    }


def _slug(request: HttpRequest) -> dict[str, str]:
    match = request.resolver_match
    return {"slug": str(match.kwargs["slug"])} if match else {"slug": ""}
