"""REST: calls, traces and summaries."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

from django.http import HttpRequest
from django.utils.timezone import is_naive, now
from ninja import Query, Router, Schema
from pydantic import ConfigDict, Field

from webapp.api.auth import READ
from webapp.api.problems import Problem
from webapp.domain.periods import zone_named
from webapp.telemetry.call import CallDetail, CallRow
from webapp.telemetry.queries import (
    COUNTS,
    METRICS,
    MONEY,
    Scope,
    Summary,
    get_call,
    get_trace,
    list_calls,
    summarise,
)

router = Router(tags=["telemetry"])

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
_DEFAULT = timedelta(days=1)
_LONGEST = timedelta(days=400)
Dimension = Literal["server", "model", "provider", "team", "feature", "environment"]


class Window(Schema):
    """A range of time and dimensions; without a range, the last day."""

    model_config = ConfigDict(populate_by_name=True)

    from_: datetime | None = Field(None, alias="from", description="inclusive, with an offset")
    to: datetime | None = Field(None, description="exclusive, with an offset")
    server: str | None = None
    model: str | None = None
    provider: str | None = None
    team: str | None = None
    feature: str | None = None
    environment: str | None = None

    def scope(self, project_id: int) -> Scope:
        end = self.to or now()
        start = self.from_ or end - _DEFAULT
        if is_naive(start) or is_naive(end):
            raise Problem(422, "Not valid", "from and to need an offset, as in 2026-11-30T00:00Z.")
        if start >= end:
            raise Problem(422, "Not valid", "from must be before to.")
        if end - start > _LONGEST:
            raise Problem(422, "Not valid", f"At most {_LONGEST.days} days can be asked for.")
        dimensions = self.dict(include=set(Dimension.__args__))  # type: ignore[attr-defined]
        return Scope(project_id, start, end, **dimensions)


class CallOut(Schema):
    """A call as a row. Times in µs, absent is null; `cost_usd` is an exact decimal."""

    id: str
    trace_id: str
    span_id: str
    name: str
    kind: str
    server: str | None
    provider: str | None
    request_model: str | None
    response_model: str | None
    team: str | None
    feature: str | None
    environment: str | None
    session_id: str | None
    user_id: str | None
    source: str
    started_at: datetime
    duration_us: int | None
    queue_us: int | None
    ttft_us: int | None
    client_ttft_us: int | None
    tpot_us: int | None
    input_tokens: int | None
    cached_input_tokens: int | None
    output_tokens: int | None
    tokens_source: str
    status: str
    finish_reason: str | None
    error_type: str | None
    cost_usd: str | None
    cost_state: str | None
    flags: list[str]


class CallDetailOut(CallOut):
    """All that is stored of a call; `token_timeline`: offset in µs and tokens (0: unknown)."""

    model_config = ConfigDict(extra="allow")

    token_timeline: list[tuple[int, int]] | None


class CallListOut(Schema):
    items: list[CallOut]
    next_cursor: str | None


class TraceOut(Schema):
    trace_id: str
    spans: list[CallDetailOut]


class SummaryOut(Schema):
    """One row a group and bucket: counts, money as exact decimals; `p50 p90 p95 p99 p99.9`, each an
    object of `ttft_s itl_s tpot_s e2e_s queue_s cost_usd …`; and the latencies the other way round,
    with `mean` and `count`. Percentiles are within 1 % of the exact ones.
    """

    rows: list[dict[str, Any]]


@router.get("calls", auth=READ, response=CallListOut, summary="Calls, newest first")
def calls(
    request: HttpRequest,
    window: Query[Window],
    status: str | None = None,
    trace_id: str | None = None,
    session_id: str | None = None,
    sort: str = "-started_at",
    limit: int = 50,
    cursor: str | None = None,
) -> dict[str, Any]:
    if not 1 <= limit <= 1000:
        raise Problem(422, "Not valid", "limit must be from 1 to 1000.")
    try:
        page = list_calls(
            window.scope(request.auth.project_id),
            status=status,
            trace_id=trace_id,
            session_id=session_id,
            sort=sort,
            limit=limit,
            cursor=cursor,
        )
    except ValueError as error:
        raise Problem(422, "Not valid", str(error)) from error
    return {"items": [_row(call) for call in page.items], "next_cursor": page.next_cursor}


@router.get("calls/{call_id}", auth=READ, response=CallDetailOut, summary="One call")
def call(request: HttpRequest, call_id: str) -> dict[str, Any]:
    found = get_call(request.auth.project_id, call_id)
    if found is None:
        raise Problem(404, "Not found", "This project has no call of this id.")
    return _detail(found)


@router.get("traces/{trace_id}", auth=READ, response=TraceOut, summary="All spans of a trace")
def trace(request: HttpRequest, trace_id: str) -> dict[str, Any]:
    spans = get_trace(request.auth.project_id, trace_id)
    if not spans:
        raise Problem(404, "Not found", "This project has no trace of this id.")
    return {"trace_id": trace_id, "spans": [_detail(span) for span in spans]}


@router.get("summary", auth=READ, response=SummaryOut, summary="Sums and percentiles of a range")
def summary(
    request: HttpRequest,
    window: Query[Window],
    tz: str = "UTC",
    bucket: Literal["minute", "hour", "day"] | None = None,
    group_by: Dimension | None = None,
) -> dict[str, Any]:
    try:
        zone_named(tz)
        rows = summarise(
            window.scope(request.auth.project_id), group_by=group_by, bucket=bucket, tz=tz
        )
    except ValueError as error:
        raise Problem(422, "Not valid", str(error)) from error
    return {"rows": [_summary(row, group_by, bucket) for row in rows]}


def _row(call: CallRow) -> dict[str, Any]:
    found = {name: getattr(call, name) for name in CallOut.model_fields}
    return found | {"cost_usd": plain(call.cost_usd), "flags": list(call.flags)}


def _detail(call: CallDetail) -> dict[str, Any]:
    found = dict(call.__dict__)
    packed = found.pop("packed_timeline")
    timeline = call.timeline if packed else None
    hashes = found.pop("prefix_hashes")
    money = {
        name: plain(found[name])
        for name in found
        if name.startswith("cost_")
        and isinstance(found[name], Decimal | None)
        and name.endswith("_usd")
    }
    return (
        found
        | money
        | {
            "flags": list(call.flags),
            "prefix_hashes": None if hashes is None else hashes.hex(),
            "token_timeline": None
            if timeline is None
            else list(zip(timeline.offsets_us.tolist(), timeline.tokens.tolist(), strict=True)),
        }
    )


def _summary(row: Summary, group_by: str | None, bucket: str | None) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if group_by:
        shown |= {"key": row.key, "is_other": row.is_other}
    if bucket:
        shown["starts_at"] = row.starts_at
    shown |= {name: getattr(row, name) for name in COUNTS}
    shown |= {name: plain(getattr(row, name)) for name in MONEY}
    for name, q in QUANTILES.items():
        shown[name] = {metric: row.percentile(metric, q) for metric in METRICS}
    # The same by metric, with means, where no sum has the name already.
    for metric in METRICS:
        shown.setdefault(metric, _distribution(row, metric))
    return shown


def _distribution(row: Summary, metric: str) -> dict[str, Any]:
    found: dict[str, Any] = {name: row.percentile(metric, q) for name, q in QUANTILES.items()}
    return found | {"mean": row.mean(metric), "count": row.observed(metric)}


def plain(amount: Decimal | None) -> str | None:
    """An exact amount as text, without an exponent."""
    return None if amount is None else f"{amount.normalize() + 0:f}"
