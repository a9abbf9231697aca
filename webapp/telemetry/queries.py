"""Everything other apps ask of telemetry, in one place to import from."""

from webapp.telemetry.call import (
    CallDetail,
    CallPage,
    CallRow,
    FilterOptions,
    TraceTotals,
)
from webapp.telemetry.call_queries import (
    count_calls,
    filter_options,
    get_call,
    get_trace,
    last_record_at,
    list_calls,
    trace_totals,
)
from webapp.telemetry.recorded import RecordedCall, StepColumns, recorded_calls, recorded_steps
from webapp.telemetry.scope import DIMENSIONS, Scope
from webapp.telemetry.summaries import summarise
from webapp.telemetry.summary import COUNTS, METRICS, MONEY, SKETCHES, Summary

__all__ = [
    "COUNTS",
    "DIMENSIONS",
    "METRICS",
    "MONEY",
    "SKETCHES",
    "CallDetail",
    "CallPage",
    "CallRow",
    "FilterOptions",
    "RecordedCall",
    "Scope",
    "StepColumns",
    "Summary",
    "TraceTotals",
    "count_calls",
    "filter_options",
    "get_call",
    "get_trace",
    "last_record_at",
    "list_calls",
    "recorded_calls",
    "recorded_steps",
    "summarise",
    "trace_totals",
]
