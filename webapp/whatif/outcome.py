"""What a simulated scenario says, as the JSON that is stored, shown and answered."""

from __future__ import annotations

from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from engine.config import EngineConfig
from engine.sim.simulate import SimResult
from webapp.domain.compare import (
    Cost,
    Percentiles,
    bound_by,
    cost_of,
    errors,
    interval,
    percentiles_of,
    weighted_percentiles,
)
from webapp.whatif.models import Run
from webapp.whatif.params import Params
from webapp.whatif.plan import Route, ground_of, risk_of

if TYPE_CHECKING:
    from webapp.whatif.replay import StepTimes, Window


def outcome(
    run: Run,
    params: Params,
    window: Window,
    route: Route,
    times: StepTimes,
    config: EngineConfig,
    simulated: SimResult,
) -> dict[str, Any]:
    """Everything a reader needs to judge the scenario; amounts as exact decimals in text."""
    percentiles = _percentiles(simulated)
    served = len(window.traffic.calls) - simulated.rejected
    duration_s = _duration_s(run, params, simulated)
    cards = route.setup.count * params.replicas
    busy_share = min(simulated.busy_s / (duration_s * params.replicas), 1.0) if duration_s else 0.0
    output_tokens = window.traffic.output_tokens
    cost = cost_of(
        route.setup.card.price_per_hour,
        cards=cards,
        duration_s=duration_s,
        busy_share=busy_share,
        calls=served,
        input_tokens=window.traffic.input_tokens,
        output_tokens=output_tokens,
    )
    return {
        "words": params.words(),
        "calls": served,
        "rejected": simulated.rejected,
        "percentiles": percentiles,
        "interval_e2e_p95_s": interval(_at(percentiles, "e2e_s", "p95"), times.spread),
        "spread": times.spread,
        "throughput_tokens_per_s": output_tokens / simulated.makespan_s
        if simulated.makespan_s
        else None,
        "makespan_s": simulated.makespan_s,
        "steps": simulated.steps,
        "batch_mean": simulated.batch_mean,
        "busy_share": busy_share,
        "cards": cards,
        "hardware": f"{cards} × {route.setup.card.name}",
        "precision": route.setup.precision.name,
        "replicas": params.replicas,
        "config": asdict(config),
        "cache_peak": simulated.cache_peak,
        "cached_tokens": simulated.cached_tokens,
        "preemptions": simulated.preemptions,
        "bound_by": bound_by(
            queue_p95_s=_at(percentiles, "queue_s", "p95"),
            e2e_p95_s=_at(percentiles, "e2e_s", "p95"),
            cache_peak_share=simulated.cache_peak,
            preemptions=simulated.preemptions,
            shares=_shares(simulated),
        ),
        "cost": _cost(cost),
        "price_source": route.setup.card.price_source,
        "risk": _risk(run, params),
        "notes": [*times.notes, *_assumptions(params, window, simulated)],
        "errors": errors(percentiles, window.recorded.percentiles)
        if params.is_as_recorded
        else None,
    }


def _percentiles(simulated: SimResult) -> dict[str, Percentiles | None]:
    return {
        "ttft_s": percentiles_of(simulated.ttft_s),
        "itl_s": weighted_percentiles(simulated.itl_s, simulated.itl_counts),
        "tpot_s": percentiles_of(simulated.tpot_s),
        "e2e_s": percentiles_of(simulated.e2e_s),
        "queue_s": percentiles_of(simulated.queue_s),
    }


def _duration_s(run: Run, params: Params, simulated: SimResult) -> float:
    """How long the machines are paid for: the window at the scenario's pace, and any overrun."""
    window_s = (run.window_end - run.window_start).total_seconds() / params.arrival_scale
    return max(window_s, simulated.makespan_s)


def _shares(simulated: SimResult) -> dict[str, float]:
    total = sum(simulated.parts_s.values())
    return {name: value / total if total else 0.0 for name, value in simulated.parts_s.items()}


def _cost(cost: Cost) -> dict[str, str | None]:
    return {
        name: None if amount is None else _plain(amount) for name, amount in asdict(cost).items()
    }


def _plain(amount: Decimal) -> str:
    """Without an exponent, and no longer than is stored of a call's cost."""
    return f"{amount.quantize(Decimal(1).scaleb(-18)).normalize():f}"


def _risk(run: Run, params: Params) -> dict[str, str]:
    ground = ground_of(
        run.server,
        at=run.window_end,
        precision=run.filters.get("recorded_precision") or "bf16",
        model=run.filters.get("model"),
        has_steps=True,
    )
    return asdict(risk_of(ground, params))


def _assumptions(params: Params, window: Window, simulated: SimResult) -> list[str]:
    notes = []
    if params.max_num_seqs is None or params.max_batched_tokens is None:
        notes += [f"Assumed: {each}." for each in window.config.assumed]
    if window.traffic.left_out:
        notes.append(
            f"{window.traffic.left_out:,} calls of the window are left out: refused, or without "
            "known token counts."
        )
    if simulated.rejected:
        notes.append(f"{simulated.rejected:,} calls do not fit this scenario and were refused.")
    return notes


def _at(percentiles: dict[str, Percentiles | None], metric: str, name: str) -> float | None:
    found = percentiles.get(metric)
    return None if found is None else found.get(name)
