"""Drift statistics: no false alarms where nothing changed, every change that matters found."""

import math

import numpy as np
import pytest

from webapp.domain.drift import Comparison, adjusted, compare, shares_up_to
from webapp.domain.sketch import Sketch

LATENCY = {"mean": math.log(400_000), "sigma": 0.6}


def latencies(generator, count, factor=1.0):
    return (generator.lognormal(size=count, **LATENCY) * factor).astype(np.int64)


def sketch(values):
    return Sketch.of(values)


def test_same_distribution_raises_no_more_than_five_in_a_hundred_false_alarms():
    generator = np.random.default_rng(7)
    alarms = 0
    for _ in range(1000):
        size = int(generator.integers(40, 2000))
        pair = [sketch(latencies(generator, size)) for _ in range(2)]
        alarms += adjusted({"only": compare(*pair)})["only"].state == "changed"
    assert alarms <= 50


@pytest.mark.parametrize("count", [400, 2000, 50_000])
def test_thirty_percent_slower_is_found(count):
    generator = np.random.default_rng(11)
    for _ in range(20):
        found = compare(
            sketch(latencies(generator, count)), sketch(latencies(generator, count, 1.3))
        )
        found = adjusted({"only": found})["only"]
        assert found.state == "changed"
        median = next(change for change in found.changes if change.effect == "p50")
        assert median.relative == pytest.approx(0.3, abs=0.2)


def test_one_percent_slower_is_sure_and_still_no_finding():
    generator = np.random.default_rng(3)
    pair = [sketch(latencies(generator, 200_000, factor)) for factor in (1.0, 1.01)]
    found = adjusted({"only": compare(*pair)})["only"]
    assert min(change.p_value for change in found.changes) < 0.01
    assert found.state == "steady"


def test_slow_tail_is_found_by_the_p95_while_the_median_stays():
    generator = np.random.default_rng(5)
    before, after = latencies(generator, 20_000), latencies(generator, 20_000)
    after[:1600] *= 5
    found = adjusted({"only": compare(sketch(before), sketch(after))})["only"]
    by_effect = {change.effect: change for change in found.changes}
    assert by_effect["p95"].is_drift
    assert not by_effect["p50"].is_drift


def test_evidence_is_that_of_the_normal_approximation():
    before, after = np.arange(1, 61), np.arange(11, 71)
    change = compare(sketch(before), sketch(after)).changes[0]
    u = sum((b > a) + (b == a) / 2 for a in before for b in after)
    pooled = np.concatenate([before, after])
    ties = sum(count**3 - count for count in np.unique(pooled, return_counts=True)[1])
    spread = math.sqrt(60 * 60 / 12 * (121 - ties / (120 * 119)))
    assert change.p_value == pytest.approx(
        math.erfc(abs(u - 1800) / spread / math.sqrt(2)), rel=0.02
    )


def test_mean_is_compared_exactly():
    found = compare(sketch([100] * 50 + [300] * 50), sketch([110] * 50 + [330] * 50), ("mean",))
    (change,) = found.changes
    assert (change.reference, change.current) == (200, 220)
    assert change.relative == pytest.approx(0.1)


def test_too_few_of_either_window_say_nothing():
    many, few = sketch(range(1, 200)), sketch(range(1, 20))
    assert compare(many, few).state == compare(few, many).state == "too_few"
    assert compare(many, Sketch()).largest is None


def test_gaps_of_few_calls_are_as_much_evidence_as_their_calls():
    generator = np.random.default_rng(2)
    before, after = (sketch(latencies(generator, 6400, factor)) for factor in (1.0, 1.12))
    sure = compare(before, after).changes[0].p_value
    calls = compare(before, after, independent=(40, 40)).changes[0].p_value
    assert sure < 1e-6 < 0.01 < calls
    assert compare(before, after, independent=(12, 40)).state == "too_few"


def test_many_monitors_together_need_stronger_evidence():
    generator = np.random.default_rng(9)
    pairs = {
        place: compare(sketch(latencies(generator, 500)), sketch(latencies(generator, 500)))
        for place in range(200)
    }
    assert sum(one.state == "changed" for one in adjusted(pairs).values()) <= 1
    raw = {key: [change.p_value for change in one.changes] for key, one in pairs.items()}
    for key, one in adjusted(pairs).items():
        assert [change.p_value for change in one.changes] == raw[key]
        assert all(change.p_adjusted >= change.p_value for change in one.changes)


def test_constant_and_zero_values_do_not_divide_by_zero():
    same, zero = sketch([5] * 100), sketch([0] * 100)
    assert compare(same, same, ("p50", "p95", "mean")).state == "steady"
    found = compare(zero, same, ("p50", "mean"))
    assert [change.log_ratio for change in found.changes] == [None, None]


def test_curve_ends_at_the_whole():
    values, shares = shares_up_to(sketch([0, 0, 10, 20]))
    assert values[0] == 0.0
    assert shares[0] == 0.5
    assert shares[-1] == 1.0
    assert shares_up_to(Sketch()) == ([], [])


def test_nothing_to_adjust():
    assert adjusted({}) == {}
    assert adjusted({"empty": Comparison(0, 0, ())})["empty"].state == "too_few"
