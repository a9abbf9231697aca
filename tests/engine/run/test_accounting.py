from hypothesis import given
from hypothesis import strategies as st

from engine.accounting import StepCost, split_step


def test_one_sequence_gets_the_whole_step():
    assert split_step(1234, 1000, [7]) == [1234]


def test_fixed_part_is_equal_and_the_rest_goes_by_tokens():
    assert split_step(1200, 600, [1, 1, 10]) == [250, 250, 700]


def test_ties_go_to_the_first():
    assert split_step(10, 10, [1, 1, 1]) == [4, 3, 3]


def test_nothing_ran_nothing_is_shared():
    assert split_step(50, 10, []) == []


@given(
    duration=st.integers(0, 10**9),
    share=st.floats(0, 1),
    tokens=st.lists(st.integers(1, 4096), min_size=1, max_size=64),
)
def test_shares_sum_to_the_step_and_none_is_negative(duration, share, tokens):
    shares = split_step(duration, int(duration * share), tokens)
    assert sum(shares) == duration
    assert min(shares) >= 0


def test_fixed_part_is_found_from_steps_of_different_sizes():
    cost = StepCost()
    for number in range(200):
        tokens = 1 + number % 40
        cost.observe(tokens, 5000 + 100 * tokens)
    assert abs(cost.fixed_us(9000) - 5000) <= 1


def test_fixed_part_is_half_while_every_step_looks_the_same():
    cost = StepCost()
    for _ in range(100):
        cost.observe(8, 4000)
    assert cost.fixed_us(4000) == 2000


def test_fixed_part_never_exceeds_the_step():
    cost = StepCost()
    for number in range(200):
        cost.observe(1 + number % 10, 8000 + number % 10)
    assert cost.fixed_us(500) == 500
