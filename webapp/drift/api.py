"""REST: what has drifted."""

from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from webapp.api.auth import READ
from webapp.api.problems import Problem
from webapp.domain.drift import ALPHA, FLOORS, MIN_COUNT, Change
from webapp.drift.queries import Finding, findings
from webapp.drift.windows import BadWindow, reference_of
from webapp.telemetry.api import Window

router = Router(tags=["drift"])


class DriftWindow(Window):
    """The current window; its reference is the window of the same length right before, or given."""

    ref_from: datetime | None = Field(None, description="start of the reference window")
    ref_to: datetime | None = Field(None, description="end of the reference window, exclusive")


class ChangeOut(Schema):
    """`log_ratio` = ln(current / reference); `is_drift`: over the floor and p_adjusted ≤ alpha."""

    effect: Literal["p50", "p95", "mean"]
    reference: float
    current: float
    log_ratio: float | None
    change: float | None
    floor: float
    p_value: float
    p_adjusted: float
    is_drift: bool


class FindingOut(Schema):
    server: str | None
    model: str | None
    metric: str
    state: Literal["changed", "steady", "too_few"]
    reference_count: int
    current_count: int
    changes: list[ChangeOut]


class SpanOfTime(Schema):
    start: datetime
    end: datetime


class DriftOut(Schema):
    """Drift first, largest first. Values in the metric's unit: seconds, tokens, USD."""

    reference: SpanOfTime
    current: SpanOfTime
    alpha: float
    min_count: int
    findings: list[FindingOut]


@router.get("drift", auth=READ, response=DriftOut, summary="Reference against current window")
def drift(request: HttpRequest, window: Query[DriftWindow]) -> dict[str, Any]:
    scope = window.scope(request.auth.project_id)
    try:
        reference = reference_of(scope, "custom" if window.ref_from else "previous", window)
    except BadWindow as error:
        raise Problem(422, "Not valid", str(error)) from error
    return {
        "reference": {"start": reference.start, "end": reference.end},
        "current": {"start": scope.start, "end": scope.end},
        "alpha": ALPHA,
        "min_count": MIN_COUNT,
        "findings": [_shown(one) for one in findings(scope, reference)],
    }


def _shown(finding: Finding) -> dict[str, Any]:
    return {
        "server": finding.stratum.server,
        "model": finding.stratum.model,
        "metric": finding.metric.name,
        "state": finding.state,
        "reference_count": finding.comparison.reference_count,
        "current_count": finding.comparison.current_count,
        "changes": [_change(one, finding.metric.scale) for one in finding.comparison.changes],
    }


def _change(change: Change, scale: int) -> dict[str, Any]:
    return {
        "effect": change.effect,
        "reference": change.reference / scale,
        "current": change.current / scale,
        "log_ratio": change.log_ratio,
        "change": change.relative,
        "floor": FLOORS[change.effect],
        "p_value": change.p_value,
        "p_adjusted": change.p_adjusted,
        "is_drift": change.is_drift,
    }
