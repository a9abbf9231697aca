"""What the latency page shows: percentiles of each latency, over time and by group."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest

from webapp.charts.latency import percentiles_over_time
from webapp.telemetry.queries import Summary, summarise
from webapp.ui.buckets import local_texts, name_of, on_buckets, starts_of
from webapp.ui.filters import PageFilters

METRICS = {
    "ttft_s": ("TTFT", "time to first token", "from arrival to the first output token"),
    "itl_s": ("ITL", "inter-token latency", "gap between successive output events"),
    "tpot_s": ("TPOT", "time per output token", "after the first one, averaged over a call"),
    "e2e_s": ("E2E", "end to end", "from arrival to the end of the call"),
    "queue_s": ("Queue", "queue", "from arrival to the first scheduled step"),
}
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
_DRAWN = ("p50", "p95", "p99")


@dataclass(frozen=True)
class Percentiles:
    """One row of a percentile table: seconds by quantile, None where too few were seen."""

    name: str
    values: list[tuple[str, float | None, str]]
    mean: float | None
    observed: int
    title: str = ""
    url: str = ""


def percentile(summary: Summary, metric: str, label: str) -> float | None:
    """The percentile, if enough was observed for it to mean something: 1 / (1 - q)."""
    quantile = QUANTILES[label]
    if summary.observed(metric) < needed(label):
        return None
    return summary.percentile(metric, quantile)


def needed(label: str) -> int:
    return int(1 / (1 - Decimal(str(QUANTILES[label]))))


def row_of(summary: Summary, metric: str, name: str, title: str = "", url: str = "") -> Percentiles:
    seen = summary.observed(metric)
    values = []
    for label in QUANTILES:
        value = percentile(summary, metric, label)
        few = f"needs {needed(label):,} observations, has {seen:,}"
        values.append((label, value, few if value is None else f"n = {seen:,}"))
    return Percentiles(name, values, summary.mean(metric), seen, title, url)


def context_of(request: HttpRequest, filters: PageFilters, total: Summary) -> dict[str, Any]:
    metric = request.GET.get("metric") or "ttft_s"
    if metric not in METRICS:
        raise BadRequest(f"metric is one of {', '.join(METRICS)}, not {metric!r}.")
    group_by = request.GET.get("group_by") or "server"
    rows = summarise(filters.scope, group_by=group_by)
    starts = starts_of(filters.scope, filters)
    series = on_buckets(summarise(filters.scope, bucket=filters.bucket, tz=filters.tz), starts)
    drawn = {
        label: [percentile(row, metric, label) if row else None for row in series]
        for label in _DRAWN
    }
    short = METRICS[metric][0]
    return {
        "metric": metric,
        "metric_name": short,
        "metric_meaning": METRICS[metric][2],
        "metrics": [(key, names[0], names[1]) for key, names in METRICS.items()],
        "labels": list(QUANTILES),
        "table": [row_of(total, key, names[0], names[2]) for key, names in METRICS.items()],
        "figure": percentiles_over_time(local_texts(starts, filters), drawn, name=short),
        "group_by": group_by,
        "groups": [
            row_of(row, metric, name_of(row), url=_narrowed(request, group_by, row)) for row in rows
        ],
    }


def _narrowed(request: HttpRequest, group_by: str, row: Summary) -> str:
    """This page, for the row's calls only; nothing for calls that have no value to filter by."""
    if row.is_other or not row.key:
        return ""
    query = request.GET.copy()
    query[group_by] = row.key
    return "?" + query.urlencode()
