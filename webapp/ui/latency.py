"""What the latency page shows: percentiles of each latency, over time and by group."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest

from webapp.charts.latency import percentiles_over_time
from webapp.charts.theme import Figure
from webapp.telemetry.queries import METRICS as SKETCH_OF
from webapp.telemetry.queries import Summary, summarise
from webapp.ui.buckets import local_texts, merged, name_of, on_buckets, starts_of, whole
from webapp.ui.filters import PageFilters
from webapp.ui.sides import LABELS, LATENCIES, Side, Sides, sides_of, summarise_groups

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


def context_of(
    request: HttpRequest, filters: PageFilters, servers: Sequence[str]
) -> dict[str, Any]:
    """Everything of the page, for the side that is asked for."""
    metric = _one_of(request, "metric", METRICS, "ttft_s")
    sides = sides_of(filters.scope, servers)
    side = _side(request, sides)
    group_by = request.GET.get("group_by") or "server"
    grid = summarise(filters.scope, group_by="server", bucket=filters.bucket, tz=filters.tz)
    grid = sides.of(side, grid)
    if group_by == "server":
        rows = list(merged(grid, lambda row: row.key, LATENCIES).values())
    else:
        rows = summarise_groups(filters.scope, sides, side, group_by)
    total = whole(grid, LATENCIES)
    short = METRICS[metric][0]
    return {
        "metric": metric,
        "metric_name": short,
        "metric_meaning": METRICS[metric][2],
        "metrics": [(key, names[0], names[1]) for key, names in METRICS.items()],
        "labels": list(QUANTILES),
        "table": [row_of(total, key, names[0], names[2]) for key, names in METRICS.items()],
        "figure": _figure(filters, grid, metric),
        "side": side,
        "sides": list(LABELS.items()) if sides.is_mixed else [],
        "side_name": LABELS[side].lower(),
        "group_by": group_by,
        "groups": [
            row_of(row, metric, name_of(row), url=_narrowed(request, group_by, row)) for row in rows
        ],
    }


def _figure(filters: PageFilters, grid: Sequence[Summary], metric: str) -> Figure:
    starts = starts_of(filters.scope, filters)
    sketch = SKETCH_OF[metric][0]
    rows = merged(grid, lambda row: row.starts_at, [sketch]).values()
    series = on_buckets(list(rows), starts)
    drawn = {
        label: [percentile(row, metric, label) if row else None for row in series]
        for label in _DRAWN
    }
    return percentiles_over_time(local_texts(starts, filters), drawn, name=METRICS[metric][0])


def _side(request: HttpRequest, sides: Sides) -> Side:
    chosen = _one_of(request, "side", LABELS, sides.first)
    return "client" if chosen == "client" else "server"


def _one_of(request: HttpRequest, name: str, allowed: Collection[str], otherwise: str) -> str:
    value = request.GET.get(name) or otherwise
    if value not in allowed:
        raise BadRequest(f"{name} is one of {', '.join(allowed)}, not {value!r}.")
    return value


def _narrowed(request: HttpRequest, group_by: str, row: Summary) -> str:
    """This page, for the row's calls only; nothing for calls that have no value to filter by."""
    if row.is_other or not row.key:
        return ""
    query = request.GET.copy()
    query[group_by] = row.key
    return "?" + query.urlencode()
