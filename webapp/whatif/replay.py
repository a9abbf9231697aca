"""Works out one scenario: fits step times, replays the window, and writes what came of it."""

from dataclasses import dataclass, replace
from typing import Any

from engine.config import EngineConfig
from engine.sim.simulate import Stopped, simulate
from engine.sim.step_time import Fit, StepTimeModel, fit_step_times
from engine.sim.workload import faster
from webapp.domain.transfer import PRIOR, Terms, cache_tokens, prior, weights_share
from webapp.telemetry.queries import StepColumns, recorded_calls, recorded_steps
from webapp.whatif import running
from webapp.whatif.baseline import (
    BLOCK_TOKENS,
    Recorded,
    RecordedConfig,
    Traffic,
    recorded_config,
    recorded_outcome,
    scope_of,
    traffic_of,
)
from webapp.whatif.models import Calibration, Run, ScenarioResult
from webapp.whatif.outcome import outcome
from webapp.whatif.params import BadRun, Params
from webapp.whatif.plan import Ground, Route, ground_of, route_of

# Cache of a server that does not tell its own, in blocks: never the limit.
_UNKNOWN_BLOCKS = 1 << 20
_LONGEST_CALL = 1 << 20


@dataclass(frozen=True)
class Window:
    """What a run's window holds, read once."""

    traffic: Traffic
    recorded: Recorded
    steps: StepColumns
    config: RecordedConfig
    fit: Fit | None


@dataclass(frozen=True)
class StepTimes:
    """The step times of a scenario, and how far off they may be."""

    model: StepTimeModel
    spread: float
    notes: tuple[str, ...]


def run_claimed(scenario: ScenarioResult) -> None:
    """Bring a claimed scenario to its end: an answer, a reason, or cancelled."""
    report = running.Report(scenario)
    try:
        result = answer_of(scenario, report)
    except Stopped:
        running.cancel_scenario(scenario)
    except (BadRun, ValueError) as error:
        running.fail_scenario(scenario, str(error))
    except MemoryError:
        running.fail_scenario(scenario, "The worker ran out of memory; ask about a shorter window.")
    else:
        running.finish_scenario(scenario, result)


def answer_of(scenario: ScenarioResult, report: running.Report) -> dict[str, Any]:
    """What the scenario would have been like, as JSON."""
    run, params = scenario.run, Params.from_json(scenario.params)
    window = read_window(run)
    if not window.traffic.calls:
        raise BadRun("No call of the window tells its tokens, so none can be replayed.")
    ground = ground_of(
        run.server,
        at=run.window_end,
        precision=run.filters.get("recorded_precision") or "bf16",
        model=run.filters.get("model"),
        has_steps=window.fit is not None,
    )
    _keep_baseline(run, window)
    route = route_of(ground, params)
    times = step_times(ground, route, window.fit)
    config = config_of(window, ground, route, params)
    simulated = simulate(
        faster(window.traffic.calls, params.arrival_scale),
        config,
        times.model,
        replicas=params.replicas,
        on_progress=report.progress,
        should_stop=report.should_stop,
    )
    return outcome(run, params, window, route, times, config, simulated)


def read_window(run: Run) -> Window:
    calls = recorded_calls(scope_of(run))
    steps = recorded_steps(run.server_id, run.window_start, run.window_end)
    return Window(
        traffic=traffic_of(calls, run.window_start),
        recorded=recorded_outcome(calls, run.window_start, run.window_end),
        steps=steps,
        config=recorded_config(run.server, steps),
        fit=fit_step_times(steps.started_us, steps.columns) if len(steps) else None,
    )


def step_times(ground: Ground, route: Route, fit: Fit | None) -> StepTimes:
    """Fitted times carried to the scenario's hardware, or published peaks where none were."""
    if fit is not None and route.factors is not None:
        share, assumed = weights_share(fit.model.weights_s, ground.shape, ground.setup)
        carried = fit.model.split(share).scaled(
            weights=route.factors.weights,
            context=route.factors.context,
            prefill=route.factors.prefill,
        )
        own = (fit.residuals["p95"] - fit.residuals["p05"]) / 4
        moved = replace(route.factors, notes=()) != replace(type(route.factors)(), notes=())
        notes = list(route.notes)
        if assumed and moved:
            notes.append(
                f"{share:.0%} of a step's fixed time is assumed to be reading weights, since the "
                "recorded machine's bandwidth is not known."
            )
        return StepTimes(carried, max(own, 0.0) + route.factors.spread, tuple(notes))
    terms = prior(ground.shape, route.setup) if ground.shape is not None else None
    if terms is None:
        raise BadRun("Neither recorded steps nor published peaks tell how long a step takes.")
    return StepTimes(_from_terms(terms), PRIOR, route.notes)


def config_of(window: Window, ground: Ground, route: Route, params: Params) -> EngineConfig:
    """How the scenario's engine batches: as recorded, where the scenario says nothing."""
    found = window.config
    blocks = found.cache_blocks or _UNKNOWN_BLOCKS
    if ground.shape is not None and route.setup != ground.setup:
        tokens = cache_tokens(ground.shape, route.setup)
        blocks = blocks if tokens is None else max(tokens // BLOCK_TOKENS, 1)
    chunked = params.chunked_prefill
    return EngineConfig(
        block_size=BLOCK_TOKENS,
        num_blocks=blocks,
        max_num_seqs=params.max_num_seqs or found.max_num_seqs,
        max_batched_tokens=params.max_batched_tokens or found.max_batched_tokens,
        max_model_len=_LONGEST_CALL,
        enable_chunked_prefill=True if chunked is None else chunked,
        enable_prefix_cache=True if params.prefix_cache is None else params.prefix_cache,
    )


def _from_terms(terms: Terms) -> StepTimeModel:
    return StepTimeModel(
        weights_s=terms.weights_s,
        overhead_s=terms.overhead_s,
        sequence_s=terms.sequence_s,
        context_token_s=terms.context_token_s,
        prefill_token_s=terms.prefill_token_s,
    )


def _keep_baseline(run: Run, window: Window) -> None:
    """Write what was recorded, and the fit, once a run: the first scenario to get here does."""
    if run.baseline is not None:
        return
    claimed = Run.objects.filter(pk=run.pk, baseline__isnull=True).update(
        baseline=window.recorded.to_json()
    )
    if not claimed or window.fit is None:
        return
    fit = window.fit
    calibration = Calibration.objects.create(
        server=run.server,
        source=Calibration.Source.STEPS,
        window_start=run.window_start,
        window_end=run.window_end,
        coefficients={
            name: getattr(fit.model, name) for name in StepTimeModel.__dataclass_fields__
        },
        residual_quantiles=fit.residuals,
        r_squared=fit.r_squared,
        step_count=fit.steps,
    )
    Run.objects.filter(pk=run.pk).update(calibration=calibration)
