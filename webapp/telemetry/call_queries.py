"""Calls one by one, from `span`: lists, a call, a trace, what filters offer."""

import uuid
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.db import connection
from django.db.models import F

from webapp.servers.models import Server
from webapp.telemetry.call import CallDetail, CallPage, FilterOptions, TraceTotals
from webapp.telemetry.calls_in_scope import calls_in
from webapp.telemetry.cursors import SORTS, Cursor, after
from webapp.telemetry.models import Span
from webapp.telemetry.rows import detail_of, row_of
from webapp.telemetry.scope import Scope
from webapp.telemetry.summaries import summarise

MAX_LIMIT = 1000
_OPTIONS = 200


def list_calls(
    scope: Scope,
    *,
    status: str | None = None,
    trace_id: str | None = None,
    session_id: str | None = None,
    sort: str = "-started_at",
    limit: int = 50,
    cursor: str | None = None,
) -> CallPage:
    """A page of calls. Sorts: started_at, duration, ttft, cost, tokens; "-" for descending.

    ValueError, with a sentence, for an unknown sort or a cursor that is not one.
    """
    column = SORTS.get(sort.removeprefix("-"))
    if column is None:
        raise ValueError(f"Sort by one of {', '.join(SORTS)}, not {sort!r}.")
    limit = max(1, min(limit, MAX_LIMIT))
    calls = calls_in(scope)
    if status:
        calls = calls.filter(status=status)
    if trace_id:
        trace = _trace(trace_id)
        calls = calls.filter(trace_id=trace) if trace else calls.none()
    if session_id:
        calls = calls.filter(session_id=session_id)
    calls = column.annotated(calls)
    descending = sort.startswith("-")
    if cursor:
        calls = calls.filter(after(Cursor.read(cursor, sort), column, descending=descending))
    order = (
        F(column.name).desc(nulls_last=True) if descending else F(column.name).asc(nulls_last=True)
    )
    ties = (
        ("-started_at", "-trace_id", "-span_id")
        if descending
        else (
            "started_at",
            "trace_id",
            "span_id",
        )
    )
    spans = list(calls.order_by(order, *ties).defer("content", "extra", "tags")[: limit + 1])
    names = _server_names(scope.project_id)
    more = len(spans) > limit
    return CallPage(
        items=[row_of(span, names) for span in spans[:limit]],
        next_cursor=Cursor.of(spans[limit - 1], sort, column).text() if more else None,
    )


def count_calls(scope: Scope) -> int:
    """How many calls the scope holds, from rollups."""
    return summarise(scope)[0].calls


def get_call(project_id: int, call_id: str) -> CallDetail | None:
    """The span with this id (`<32 hex>-<16 hex>`); None if the project has none."""
    trace_hex, _, span_hex = call_id.partition("-")
    trace, span_id = _trace(trace_hex), _span_id(span_hex)
    if trace is None or span_id is None:
        return None
    spans = Span.objects.filter(project_id=project_id, trace_id=trace)
    span = spans.filter(span_id=span_id).order_by("started_at").first()
    if span is None:
        return None
    parent = span.parent_span_id
    missing = parent is not None and not spans.filter(span_id=parent).exists()
    return detail_of(span, _server_names(project_id), parent_missing=missing)


def get_trace(project_id: int, trace_id: str) -> list[CallDetail]:
    """All spans of a trace by start; empty if the project has none of it."""
    trace = _trace(trace_id)
    if trace is None:
        return []
    spans = list(
        Span.objects.filter(project_id=project_id, trace_id=trace).order_by("started_at", "span_id")
    )
    names = _server_names(project_id)
    known = {span.span_id for span in spans}
    return [
        detail_of(
            span,
            names,
            parent_missing=span.parent_span_id is not None and span.parent_span_id not in known,
        )
        for span in spans
    ]


def trace_totals(spans: Sequence[CallDetail]) -> TraceTotals:
    """Sums over the calls of a trace, wrappers not counted twice."""
    calls = _innermost([span for span in spans if span.is_call], spans)
    starts = [span.started_at for span in spans]
    wall_us = None
    if spans and all(span.duration_us is not None for span in spans):
        first = min(starts)
        wall_us = max(
            round((span.started_at - first).total_seconds() * 1e6) + (span.duration_us or 0)
            for span in spans
        )
    return TraceTotals(
        calls=len(calls),
        input_tokens=sum(call.input_tokens or 0 for call in calls),
        output_tokens=sum(call.output_tokens or 0 for call in calls),
        cost_usd=sum((call.cost_usd or Decimal(0) for call in calls), Decimal(0)),
        unpriced_calls=sum(call.cost_state != "priced" for call in calls),
        wall_us=wall_us,
        busy_call_us=sum(call.duration_us or 0 for call in calls),
    )


def filter_options(project_id: int) -> FilterOptions:
    """What the filters of a project offer."""
    found = {
        name: _values(project_id, name)
        for name in ("server", "model", "provider", "team", "feature", "environment")
    }
    return FilterOptions(
        servers=found["server"][:_OPTIONS],
        models=found["model"][:_OPTIONS],
        providers=found["provider"][:_OPTIONS],
        teams=found["team"][:_OPTIONS],
        features=found["feature"][:_OPTIONS],
        environments=found["environment"][:_OPTIONS],
        truncated=any(len(values) > _OPTIONS for values in found.values()),
    )


def last_record_at(project_id: int) -> datetime | None:
    """When the newest span of the project was taken in."""
    newest = Span.objects.filter(project_id=project_id).order_by("-started_at")
    return newest.values_list("ingested_at", flat=True).first()


def _innermost(calls: list[CallDetail], spans: Sequence[CallDetail]) -> list[CallDetail]:
    """Calls inside which no other call of the trace lies: a wrapper repeats its inner call."""
    parents = {span.span_id: span.parent_span_id for span in spans}
    wrapping: set[str] = set()
    for call in calls:
        above, seen = call.parent_span_id, {call.span_id}
        while above is not None and above not in seen:
            wrapping.add(above)
            seen.add(above)
            above = parents.get(above)
    return [call for call in calls if call.span_id not in wrapping]


def _server_names(project_id: int) -> dict[int, str]:
    return dict(Server.objects.filter(project_id=project_id).values_list("pk", "name"))


def _trace(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(hex=text) if len(text) == 32 else None
    except ValueError:
        return None


def _span_id(text: str) -> int | None:
    try:
        return int.from_bytes(bytes.fromhex(text), "big", signed=True) if len(text) == 16 else None
    except ValueError:
        return None


def _values(project_id: int, name: str) -> list[str]:
    """Values of a dimension among the project's series, the busiest of the last days first."""
    column = "server.name" if name == "server" else f"s.{name}"
    with connection.cursor() as cursor:
        cursor.execute(
            f"select {column} from rollup_series s "
            "left join servers_server server on server.id = s.server_id "
            "left join lateral (select sum(calls) as calls from ("
            "select calls from rollup_day d where d.series_id = s.id "
            "union all select calls from rollup_increment i where i.series_id = s.id) c) busy "
            f"on true where s.project_id = %s and coalesce({column}, '') <> '' "
            f"group by {column} order by coalesce(sum(busy.calls), 0) desc, {column} limit %s",
            [project_id, _OPTIONS + 1],
        )
        return [value for (value,) in cursor.fetchall()]
