"""A run as pages and the API read it: what was recorded, and each scenario beside it."""

from dataclasses import dataclass
from typing import Any

from webapp.domain.compare import QUANTILES, change, pareto_front
from webapp.whatif.models import Run, ScenarioResult, State
from webapp.whatif.params import Params

LATENCIES = {"ttft_s": "TTFT", "tpot_s": "TPOT", "e2e_s": "E2E", "queue_s": "Queue"}


@dataclass(frozen=True)
class Scenario:
    """One scenario: its state, and once finished its answer, beside the simulated baseline.

    `changes` are relative, against the scenario "as recorded".
    """

    index: int
    words: str
    state: str
    error: str
    progress: float
    result: dict[str, Any] | None
    changes: dict[str, float | None]
    is_on_front: bool = False

    @property
    def is_baseline(self) -> bool:
        return self.index == 0


@dataclass(frozen=True)
class Check:
    """One recorded percentile beside the simulated one. Times in seconds, error relative."""

    metric: str
    label: str
    percentile: str
    recorded: float
    simulated: float | None
    error: float | None


def scenarios_of(run: Run) -> list[Scenario]:
    """Every scenario by index, the simulated recording first."""
    rows = list(run.scenarios.all())
    baseline = rows[0].result if rows else None
    front = _front(rows)
    return [
        Scenario(
            index=row.index,
            words=Params.from_json(row.params).words(),
            state=row.state,
            error=row.error,
            progress=row.progress,
            result=row.result,
            changes=_changes(row.result, baseline),
            is_on_front=row.index in front,
        )
        for row in rows
    ]


def progress_of(scenarios: list[Scenario]) -> float:
    """Share of all calls to replay that are replayed, 0 to 1."""
    ended = (State.FINISHED, State.FAILED, State.CANCELLED)
    done = [1.0 if one.state in ended else one.progress for one in scenarios]
    return sum(done) / len(done) if done else 0.0


def checks_of(run: Run, scenarios: list[Scenario]) -> list[Check]:
    """How near the simulator comes to what was recorded, where it ran the recorded setting."""
    result = scenarios[0].result if scenarios else None
    if run.baseline is None or result is None:
        return []
    errors = result.get("errors") or {}
    checks = []
    for metric, label in LATENCIES.items():
        recorded = run.baseline["percentiles"].get(metric) or {}
        simulated = result["percentiles"].get(metric) or {}
        for name in QUANTILES:
            if name in recorded:
                error = (errors.get(metric) or {}).get(name)
                checks.append(
                    Check(metric, label, name, recorded[name], simulated.get(name), error)
                )
    return checks


def _changes(
    result: dict[str, Any] | None, baseline: dict[str, Any] | None
) -> dict[str, float | None]:
    if result is None or baseline is None or result is baseline:
        return {}
    found: dict[str, float | None] = {
        f"{metric}_{name}": change(
            _percentile(result, metric, name), _percentile(baseline, metric, name)
        )
        for metric in LATENCIES
        for name in QUANTILES
    }
    for name in ("per_call", "per_million_output", "per_million_total", "per_month"):
        after, before = result["cost"][name], baseline["cost"][name]
        found[name] = change(_amount(after), _amount(before))
    found["throughput_tokens_per_s"] = change(
        result["throughput_tokens_per_s"], baseline["throughput_tokens_per_s"]
    )
    return found


def _front(rows: list[ScenarioResult]) -> set[int]:
    """Scenarios that no other beats in cost per output token without losing in p95 E2E."""
    finished = [(row.index, row.result) for row in rows if row.result is not None]
    points = [
        (
            _amount(result["cost"]["per_million_output"]),
            _percentile(result, "e2e_s", "p95"),
        )
        for _, result in finished
    ]
    return {finished[place][0] for place in pareto_front(points)}


def _amount(text: str | None) -> float | None:
    """Only for ratios and places on a chart; what is shown is the exact text."""
    return None if text is None else float(text)


def _percentile(result: dict[str, Any], metric: str, name: str) -> float | None:
    found = result["percentiles"].get(metric)
    return None if found is None else found.get(name)
