"""The simulator against arithmetic that can be done by hand, and against the engine's own rules."""

import numpy as np
import pytest

from engine.config import EngineConfig
from engine.sim.simulate import Stopped, simulate
from engine.sim.step_time import StepFeatures, StepTimeModel, fit_step_times
from engine.sim.workload import SimCall, faster

CONFIG = EngineConfig(block_size=16, num_blocks=4096, max_num_seqs=8, max_batched_tokens=512)
FLAT = StepTimeModel(
    weights_s=0.01, overhead_s=0.0, sequence_s=0.0, context_token_s=0.0, prefill_token_s=0.001
)


def test_a_call_alone_takes_its_steps():
    result = simulate([SimCall(5.0, 100, 11)], CONFIG, FLAT)
    assert result.ttft_s[0] == pytest.approx(0.11)
    assert result.e2e_s[0] == pytest.approx(0.11 + 10 * 0.01)
    assert result.tpot_s[0] == pytest.approx(0.01)
    assert result.queue_s[0] == pytest.approx(0.0)
    assert (result.steps, result.busy_s) == (11, pytest.approx(0.21))
    assert result.makespan_s == pytest.approx(0.21)


def test_gaps_between_steps_pass_but_are_not_busy():
    model = StepTimeModel(0.01, 0.0, 0.0, 0.0, 0.0, gap_s=0.005)
    result = simulate([SimCall(0.0, 10, 11)], CONFIG, model)
    assert result.e2e_s[0] == pytest.approx(11 * 0.01 + 10 * 0.005)
    assert result.busy_s == pytest.approx(0.11)


def test_two_at_once_share_every_step():
    one = simulate([SimCall(0.0, 16, 20)], CONFIG, FLAT)
    two = simulate([SimCall(0.0, 16, 20)] * 2, CONFIG, FLAT)
    assert two.steps == one.steps
    assert two.e2e_s[0] == two.e2e_s[1] == pytest.approx(one.e2e_s[0] + 0.016)


def test_one_at_a_time_waits_its_turn():
    config = EngineConfig(max_num_seqs=1, num_blocks=4096)
    result = simulate([SimCall(0.0, 10, 10)] * 3, config, FLAT)
    alone = simulate([SimCall(0.0, 10, 10)], config, FLAT).e2e_s[0]
    assert result.e2e_s.tolist() == pytest.approx([alone, 2 * alone, 3 * alone])
    assert result.queue_s.tolist() == pytest.approx([0.0, alone, 2 * alone])


def test_deterministic_arrivals_below_capacity_never_queue_and_above_it_grow():
    service = 0.02 + 9 * 0.01
    config = EngineConfig(max_num_seqs=1, num_blocks=4096)
    slow = simulate([SimCall(n * service * 1.1, 10, 10) for n in range(50)], config, FLAT)
    fast = simulate([SimCall(n * service * 0.8, 10, 10) for n in range(50)], config, FLAT)
    assert slow.queue_s.max() == pytest.approx(0.0, abs=1e-9)
    assert fast.queue_s[-1] == pytest.approx(49 * service * 0.2, rel=0.01)


def test_poisson_arrivals_wait_as_queueing_theory_says():
    # M/D/1: mean wait = rho * service / (2 (1 - rho)).
    service, rho = 0.11, 0.6
    rng = np.random.default_rng(7)
    arrivals = np.cumsum(rng.exponential(service / rho, 40_000))
    config = EngineConfig(max_num_seqs=1, num_blocks=4096)
    result = simulate([SimCall(float(at), 10, 10) for at in arrivals], config, FLAT)
    assert result.queue_s.mean() == pytest.approx(rho * service / (2 * (1 - rho)), rel=0.05)


def test_more_replicas_never_make_the_queue_longer():
    rng = np.random.default_rng(3)
    calls = [SimCall(float(at), 200, 30) for at in np.sort(rng.random(200) * 10)]
    waits = [simulate(calls, CONFIG, FLAT, replicas=n).queue_s.mean() for n in (1, 2, 4)]
    assert waits[0] > waits[1] >= waits[2]


def test_prefix_cache_saves_what_the_hashes_share():
    hashes = tuple(range(1, 9))
    calls = [SimCall(float(n), 128, 2, hashes) for n in range(5)]
    with_cache = simulate(calls, CONFIG, FLAT)
    without = simulate(calls, EngineConfig(num_blocks=4096, enable_prefix_cache=False), FLAT)
    assert with_cache.cached_tokens == 4 * 112
    assert without.cached_tokens == 0
    assert with_cache.ttft_s[1] < without.ttft_s[1]


def test_small_cache_preempts_and_still_answers_everything():
    config = EngineConfig(num_blocks=20, max_num_seqs=8, enable_prefix_cache=False)
    result = simulate([SimCall(0.0, 40, 100)] * 6, config, FLAT)
    assert result.preemptions > 0
    assert np.isfinite(result.e2e_s).all()
    assert result.cache_peak == 1.0


def test_call_that_never_fits_is_counted_and_undefined():
    config = EngineConfig(num_blocks=4)
    result = simulate([SimCall(0.0, 500, 5), SimCall(0.0, 10, 5)], config, FLAT)
    assert result.rejected == 1
    assert np.isnan(result.e2e_s[0])
    assert np.isfinite(result.e2e_s[1])


def test_same_calls_same_answer():
    rng = np.random.default_rng(5)
    calls = [
        SimCall(float(rng.random() * 5), int(rng.integers(1, 300)), int(rng.integers(1, 50)))
        for _ in range(100)
    ]
    one, two = (simulate(calls, CONFIG, FLAT) for _ in range(2))
    assert (one.e2e_s == two.e2e_s).all()


def test_progress_grows_to_the_end_and_stopping_stops():
    shares: list[float] = []
    calls = [SimCall(n * 0.01, 20, 40) for n in range(60)]
    simulate(calls, CONFIG, FLAT, on_progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    with pytest.raises(Stopped):
        simulate(calls, CONFIG, FLAT, should_stop=lambda: True)


def test_faster_traffic_arrives_sooner():
    assert [c.arrival_s for c in faster([SimCall(10.0, 1, 1)], 4.0)] == [2.5]
    with pytest.raises(ValueError, match="above 0"):
        faster([], 0)


def steps(count=2000, noise=0.02, seed=1):
    """Steps of a known machine: 8 ms, 0.1 ms a sequence, 2 µs a context token, 60 µs a prompt."""
    rng = np.random.default_rng(seed)
    seqs = rng.integers(1, 17, count)
    context = seqs * rng.integers(10, 400, count)
    prefill = rng.integers(0, 2, count) * rng.integers(1, 500, count)
    seconds = 0.008 + 0.0001 * seqs + 2e-6 * context + 60e-6 * prefill
    seconds = seconds * rng.lognormal(0, noise, count)
    duration = np.round(seconds * 1e6).astype(np.int64)
    started = np.concatenate([[0], np.cumsum(duration + 300)[:-1]])
    columns = {
        "duration_us": duration,
        "num_seqs": seqs,
        "context_tokens": context,
        "prefill_tokens": prefill,
        "prefill_context_tokens": prefill,
    }
    return started, columns


def test_fit_finds_the_machine_that_made_the_steps():
    fit = fit_step_times(*steps())
    assert fit is not None
    assert fit.model.weights_s == pytest.approx(0.008, rel=0.03)
    assert fit.model.context_token_s == pytest.approx(2e-6, rel=0.1)
    total = fit.model.prefill_token_s + fit.model.prefill_context_s
    assert total == pytest.approx(60e-6, rel=0.05)
    assert fit.model.gap_s == pytest.approx(300e-6, rel=0.01)
    assert fit.r_squared > 0.98
    assert abs(fit.residuals["p50"]) < 0.01


def test_fit_is_not_misled_by_a_few_absurd_steps():
    started, columns = steps()
    columns["duration_us"][:5] = 3_000_000
    fit = fit_step_times(started, columns)
    assert fit is not None
    assert fit.model.weights_s == pytest.approx(0.008, rel=0.05)
    assert fit.steps >= len(started) - 30


def test_too_few_steps_are_no_fit():
    started, columns = steps(20)
    assert fit_step_times(started, columns) is None
    assert fit_step_times(*[started, {"duration_us": columns["duration_us"]}]) is None


def test_parts_scale_apart():
    model = StepTimeModel(0.01, 0.0, 0.001, 1e-6, 1e-5).split(0.75)
    assert (model.weights_s, model.overhead_s) == (pytest.approx(0.0075), pytest.approx(0.0025))
    half = model.scaled(weights=0.5, context=1.0, prefill=0.25)
    step = StepFeatures(2, 100, 40, 40)
    assert model.step_s(step) == pytest.approx(0.01 + 0.002 + 1e-4 + 4e-4)
    assert half.step_s(step) == pytest.approx(0.00375 + 0.0025 + 0.002 + 1e-4 + 1e-4)
