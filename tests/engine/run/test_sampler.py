import math
from collections import Counter

import pytest
import torch

from engine.sampler import SampleRow, SamplingParams, sample, uniform

LOGITS = torch.tensor([2.0, 1.0, 0.0, -1.0, -8.0])
PROBABILITIES = torch.softmax(LOGITS, -1).tolist()


def _draws(params, count=4000, logits=LOGITS):
    rows = [SampleRow(params, index) for index in range(count)]
    return Counter(s.token for s in sample(logits.expand(count, -1), rows))


def test_temperature_zero_takes_the_most_likely():
    assert _draws(SamplingParams(temperature=0.0), 20) == {0: 20}


def test_draws_follow_the_distribution():
    found = _draws(SamplingParams(seed=3))
    for token, probability in enumerate(PROBABILITIES):
        margin = 4 * math.sqrt(probability * (1 - probability) / 4000) + 1e-3
        assert abs(found[token] / 4000 - probability) < margin


def test_temperature_sharpens():
    found = _draws(SamplingParams(temperature=0.5, seed=3))
    expected = torch.softmax(LOGITS / 0.5, -1)[0].item()
    assert abs(found[0] / 4000 - expected) < 0.03


def test_top_k_keeps_the_k_most_likely():
    assert set(_draws(SamplingParams(top_k=2, seed=1))) == {0, 1}


def test_top_p_keeps_the_smallest_set_that_holds_it():
    held_by_two = PROBABILITIES[0] + PROBABILITIES[1]
    assert set(_draws(SamplingParams(top_p=held_by_two - 0.01, seed=1))) == {0, 1}
    assert set(_draws(SamplingParams(top_p=held_by_two + 0.01, seed=1))) == {0, 1, 2}


def test_tiny_top_p_is_greedy():
    assert set(_draws(SamplingParams(top_p=1e-6, seed=1), 50)) == {0}


def test_top_p_over_a_flat_vocabulary_looks_past_the_first_candidates():
    flat = torch.zeros(2000)
    found = _draws(SamplingParams(top_p=0.9, seed=5), 3000, flat)
    assert len(found) > 1000


def test_same_seed_and_position_give_the_same_token_in_any_batch():
    params = SamplingParams(seed=42)
    logits = torch.randn(6, 300, generator=torch.Generator().manual_seed(0))
    alone = [sample(logits[i : i + 1], [SampleRow(params, i)])[0].token for i in range(6)]
    together = [s.token for s in sample(logits, [SampleRow(params, i) for i in range(6)])]
    assert alone == together


def test_different_seeds_differ():
    assert _draws(SamplingParams(seed=1), 50) != _draws(SamplingParams(seed=2), 50)


def test_negative_seed_is_a_seed():
    assert 0 <= uniform(-5, 0) < 1
    assert uniform(-5, 0) != uniform(5, 0)


def test_uniform_numbers_are_uniform():
    numbers = [uniform(7, index) for index in range(20000)]
    assert abs(sum(numbers) / len(numbers) - 0.5) < 0.01
    assert max(Counter(int(n * 10) for n in numbers).values()) < 2200


def test_logprob_and_entropy_are_the_models_own():
    (got,) = sample(LOGITS[None], [SampleRow(SamplingParams(temperature=0.0), 0)])
    assert got.logprob == pytest.approx(math.log(PROBABILITIES[0]), abs=1e-5)
    entropy = -sum(p * math.log(p) for p in PROBABILITIES)
    assert got.entropy == pytest.approx(entropy, abs=1e-5)


def test_mixed_rows_each_keep_their_parameters():
    rows = [
        SampleRow(SamplingParams(temperature=0.0), 0),
        SampleRow(SamplingParams(top_k=1), 0),
        SampleRow(SamplingParams(seed=9), 4),
    ]
    tokens = [s.token for s in sample(LOGITS.expand(3, -1), rows)]
    alone = sample(LOGITS[None], [SampleRow(SamplingParams(seed=9), 4)])[0].token
    assert tokens == [0, 0, alone]
