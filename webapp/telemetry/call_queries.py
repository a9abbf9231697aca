"""Calls one by one, from `span`: lists, a call, a trace, what filters offer."""

from collections.abc import Sequence
from datetime import datetime

from webapp.telemetry.call import CallDetail, CallPage, FilterOptions, TraceTotals
from webapp.telemetry.scope import Scope


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
    raise NotImplementedError


def count_calls(scope: Scope) -> int:
    """How many calls the scope holds, from rollups."""
    raise NotImplementedError


def get_call(project_id: int, call_id: str) -> CallDetail | None:
    """The span with this id (`<32 hex>-<16 hex>`); None if the project has none."""
    raise NotImplementedError


def get_trace(project_id: int, trace_id: str) -> list[CallDetail]:
    """All spans of a trace by start; empty if the project has none of it."""
    raise NotImplementedError


def trace_totals(spans: Sequence[CallDetail]) -> TraceTotals:
    """Sums over the calls of a trace, wrappers not counted twice."""
    raise NotImplementedError


def filter_options(project_id: int) -> FilterOptions:
    """What the filters of a project offer."""
    raise NotImplementedError


def last_record_at(project_id: int) -> datetime | None:
    """When the newest span of the project was taken in."""
    raise NotImplementedError
