"""A sketch answers within its promise for any shape, adds without loss, and keeps its bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.domain.sketch import MAX_RELATIVE_ERROR, Sketch, bucket_bounds, bucket_indices

QUANTILES = (0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0)
RNG = np.random.default_rng(7)


def _bimodal(n):
    slow = RNG.random(n) < 0.03
    return np.where(slow, RNG.normal(4e6, 1e5, n), RNG.lognormal(11, 0.4, n))


SHAPES = {
    "one value": np.array([123_457]),
    "two values": np.array([1, 1_000_003]),
    "constant": np.full(1000, 81_919),
    "all zero": np.zeros(50),
    "mostly zero": np.concatenate((np.zeros(900), RNG.lognormal(9, 1, 100))),
    "small integers": RNG.integers(0, 40, 5000),
    "microseconds": RNG.integers(1, 300, 5000),
    "powers of two": 2 ** RNG.integers(0, 40, 3000),
    "uniform": RNG.uniform(1e3, 1e6, 20_000),
    "normal": RNG.normal(5e5, 2e4, 20_000),
    "exponential": RNG.exponential(2e5, 20_000),
    "log-normal narrow": RNG.lognormal(12, 0.2, 20_000),
    "log-normal wide": RNG.lognormal(12, 2.5, 20_000),
    "pareto": (RNG.pareto(0.9, 20_000) + 1) * 1e4,
    "weibull": RNG.weibull(0.5, 20_000) * 1e5,
    "bimodal, slow 3 %": _bimodal(20_000),
    "three modes": np.concatenate([RNG.normal(m, m / 50, 3000) for m in (2e4, 3e5, 7e6)]),
    "pico-dollars": RNG.lognormal(22, 1.5, 20_000),
    "ramp": np.arange(1, 10_000) * 37,
    "one outlier": np.append(np.full(999, 20_000), 60_000_000),
    "beta": RNG.beta(0.5, 0.5, 20_000) * 1e6 + 1,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_quantiles_are_within_the_promise_of_the_exact_ones(shape):
    values = np.rint(SHAPES[shape]).astype(np.int64)
    sketch = Sketch.of(values)
    for q in QUANTILES:
        assert sketch.quantile(q) == pytest.approx(np.quantile(values, q), rel=0.0055)


def test_the_promise_is_better_than_one_percent():
    assert MAX_RELATIVE_ERROR < 0.00545


def test_small_integers_are_exact():
    for value in range(90):
        assert Sketch.of([value] * 3).quantile(0.5) == value


@given(st.lists(st.integers(1, 2**60), min_size=1))
def test_a_bucket_holds_its_values(values):
    for value, index in zip(values, bucket_indices(np.array(values)).tolist(), strict=True):
        low, high = bucket_bounds(index)
        assert low * (1 - 1e-12) <= value <= high * (1 + 1e-12)


ints = st.lists(st.integers(0, 2**50), max_size=60)


@given(ints, ints)
def test_adding_sketches_equals_sketching_everything(left, right):
    assert Sketch.of(left) + Sketch.of(right) == Sketch.of(left + right)


@given(ints, ints)
def test_taking_away_restores_what_was_there(left, right):
    assert Sketch.of(left + right) - Sketch.of(right) == Sketch.of(left)


@given(ints)
def test_bytes_keep_everything(values):
    sketch = Sketch.of(values)
    again = Sketch.from_bytes(sketch.to_bytes())
    assert again == sketch
    assert (again.count, again.sum) == (len(values), sum(values))


def test_negative_counts_survive_packing_and_cancel_on_merge():
    minus = Sketch() - Sketch.of([5, 7_000, 0])
    packed = minus.to_bytes()
    assert Sketch.from_bytes(packed).count == -3
    assert Sketch.merged([packed, Sketch.of([5, 7_000, 0]).to_bytes()]).is_empty()


def test_counts_weigh_values():
    weighed = Sketch.of([10, 2_000], counts=[3, 300])
    assert weighed == Sketch.of([10] * 3 + [2_000] * 300)


def test_sums_stay_exact_past_64_bits():
    big = 2**61 + 1
    assert Sketch.of([big] * 100).sum == big * 100
    assert Sketch.of([big], counts=[100]).sum == big * 100


def test_nothing_observed_has_no_quantile_and_no_mean():
    assert Sketch().quantile(0.5) is None
    assert Sketch().mean is None
    assert Sketch.from_bytes(Sketch().to_bytes()) == Sketch()


def test_a_negative_value_is_refused():
    with pytest.raises(ValueError, match="negative"):
        Sketch.of([3, -1])


def test_bytes_of_a_later_version_are_refused_by_name():
    with pytest.raises(ValueError, match="version 9"):
        Sketch.from_bytes(b"\x09" + Sketch.of([1]).to_bytes()[1:])


def test_a_hundred_latencies_pack_small():
    values = np.rint(RNG.lognormal(12, 0.5, 100)).astype(np.int64)
    assert len(Sketch.of(values).to_bytes()) < 200
