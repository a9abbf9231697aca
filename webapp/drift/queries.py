"""What has drifted: each metric of each server and model, a window against a reference window."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from webapp.domain.drift import Comparison, Effect, adjusted, compare
from webapp.domain.sketch import Sketch
from webapp.telemetry.queries import Scope, Summary, summarise


@dataclass(frozen=True)
class Metric:
    """A watched metric: the sketch it is read from, how many of its units are one, its effects."""

    name: str
    label: str
    sketch: str
    scale: int
    unit: str
    effects: tuple[Effect, ...]
    more_is_worse: bool | None


METRICS: tuple[Metric, ...] = (
    Metric("ttft_s", "TTFT", "ttft_us", 10**6, "s", ("p50", "p95"), True),
    Metric("itl_s", "ITL", "itl_us", 10**6, "s", ("p50", "p95"), True),
    Metric("output_tokens", "Output length", "output_length", 1, "tokens", ("p50", "p95"), None),
    Metric("cost_usd", "Cost per call", "cost_pico_usd", 10**12, "USD", ("mean",), True),
)
BY_NAME = {metric.name: metric for metric in METRICS}


@dataclass(frozen=True)
class Stratum:
    """Where calls are alike enough to compare: one server and model. None: they name none."""

    server: str | None
    model: str | None

    @property
    def words(self) -> str:
        return f"{self.model or 'no model'} on {self.server or 'no server'}"


@dataclass(frozen=True)
class Finding:
    """One metric of one stratum in both windows."""

    stratum: Stratum
    metric: Metric
    comparison: Comparison
    reference: Sketch
    current: Sketch

    @property
    def state(self) -> str:
        return self.comparison.state

    @property
    def tone(self) -> str:
        """bad, good or warn where it has changed, as the direction is welcome or not."""
        change = self.comparison.largest
        if self.state != "changed" or change is None:
            return ""
        if self.metric.more_is_worse is None:
            return "warn"
        return "bad" if (change.log_ratio or 0.0) > 0 else "good"

    @property
    def words(self) -> str:
        """What happened, in a few words."""
        change = self.comparison.largest
        if self.state == "too_few" or change is None or change.relative is None:
            return "too few calls" if self.state == "too_few" else "steady"
        if self.state == "steady":
            return "steady"
        direction = "higher" if change.relative > 0 else "lower"
        return f"{change.effect} {abs(change.relative):.0%} {direction}"


def findings(scope: Scope, reference: Scope) -> list[Finding]:
    """Every watched metric of every stratum seen in either window: drift first, largest first."""
    current, before = _strata(scope), _strata(reference)
    places = sorted(current.keys() | before.keys(), key=lambda one: one.words)
    compared: dict[tuple[Stratum, Metric], Comparison] = {}
    for stratum in places:
        old, new = before.get(stratum, Summary()), current.get(stratum, Summary())
        for metric in METRICS:
            compared[stratum, metric] = compare(
                old.sketches[metric.sketch],
                new.sketches[metric.sketch],
                metric.effects,
                independent=(old.calls, new.calls),
            )
    found = [
        Finding(
            stratum,
            metric,
            comparison,
            before.get(stratum, Summary()).sketches[metric.sketch],
            current.get(stratum, Summary()).sketches[metric.sketch],
        )
        for (stratum, metric), comparison in adjusted(compared).items()
        if comparison.reference_count or comparison.current_count
    ]
    return sorted(found, key=_order)


def counts_by_state(found: Sequence[Finding]) -> dict[str, int]:
    return {
        state: sum(one.state == state for one in found)
        for state in ("changed", "steady", "too_few")
    }


def _strata(scope: Scope) -> dict[Stratum, Summary]:
    strata = {}
    for server in summarise(scope, group_by="server"):
        if server.is_other:
            continue  # past the cap of series: their server and model are not known
        within = replace(scope, server=server.key or "")
        for row in summarise(within, group_by="model"):
            strata[Stratum(server.key or None, row.key or None)] = row
    return strata


def _order(finding: Finding) -> tuple[int, float, str, str]:
    rank = {"changed": 0, "steady": 1, "too_few": 2}[finding.state]
    change = finding.comparison.largest
    size = abs(change.log_ratio or 0.0) if change else 0.0
    return rank, -size if rank == 0 else 0.0, finding.stratum.words, finding.metric.name
