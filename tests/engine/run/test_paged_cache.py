"""Guards the one file that depends on how transformers calls caches and attention."""

import copy

import pytest
import torch
from transformers import AutoModelForCausalLM, Gemma3TextConfig, MistralConfig, Qwen3Config

from engine.loader import ModelUnsupported, finish_loading
from engine.model_runner import ModelRunner, RunEntry
from engine.paged_cache import ATTENTION_NAME, attention_mask, register_attention
from engine.sampler import SampleRow, SamplingParams
from engine.tiny import byte_tokenizer, tiny_model

GREEDY = SampleRow(SamplingParams(temperature=0.0), 0)
LAYERS = ["sliding_attention", "full_attention"]
COMMON = {
    "vocab_size": 258,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
    "initializer_range": 0.3,
    "eos_token_id": 256,
    "pad_token_id": 0,
}


def _expected(network, prompt, count):
    reference = copy.deepcopy(network)
    reference.set_attn_implementation("sdpa")
    tokens = torch.tensor([prompt])
    out = reference.generate(tokens, max_new_tokens=count, do_sample=False, eos_token_id=-1)
    return out[0, len(prompt) :].tolist()


def _run_paged(loaded, prompts, count, chunk):
    """Prompts of different lengths in one batch, read `chunk` tokens a step, then decoded."""
    runner = ModelRunner(loaded, num_blocks=16 * len(prompts), block_size=8)
    sequences = [list(prompt) for prompt in prompts]
    computed = [0] * len(prompts)
    while any(len(s) < len(p) + count for s, p in zip(sequences, prompts, strict=True)):
        entries = []
        for i, sequence in enumerate(sequences):
            new = sequence[computed[i] : computed[i] + chunk]
            ends = computed[i] + len(new) == len(sequence)
            # Blocks in falling order: nothing may rely on neighbours being neighbours.
            blocks = [16 * i + 15 - j for j in range(16)]
            entries.append(RunEntry(new, computed[i], blocks, GREEDY if ends else None))
            computed[i] += len(new)
        for sequence, sampled in zip(sequences, runner.run(entries), strict=True):
            if sampled is not None:
                sequence.append(sampled.token)
    return [s[len(p) : len(p) + count] for s, p in zip(sequences, prompts, strict=True)]


def _load(config):
    register_attention()
    torch.manual_seed(5)
    network = AutoModelForCausalLM.from_config(config, attn_implementation=ATTENTION_NAME).eval()
    return finish_loading(
        network, byte_tokenizer(), "test", torch.device("cpu"), torch.float32, 0.0
    )


PROMPTS = [[7, 8, 9], list(range(20, 61)), [5] * 17, list(range(100, 130))]


@pytest.mark.parametrize("chunk", [1, 7, 16, 64])
def test_paged_tokens_equal_generate_for_any_chunk(chunk):
    loaded = tiny_model()
    expected = [_expected(loaded.model, prompt, 24) for prompt in PROMPTS]
    assert len({token for tokens in expected for token in tokens}) > 20
    assert _run_paged(loaded, PROMPTS, 24, chunk) == expected


@pytest.mark.parametrize(
    "config",
    [
        MistralConfig(**COMMON, sliding_window=12),
        Qwen3Config(**COMMON),
        Gemma3TextConfig(**COMMON, sliding_window=12, layer_types=LAYERS),
    ],
    ids=lambda config: config.model_type,
)  # fmt: skip
def test_other_families_run_paged_unmodified(config):
    loaded = _load(config)
    expected = [_expected(loaded.model, prompt, 16) for prompt in PROMPTS]
    assert _run_paged(loaded, PROMPTS, 16, 16) == expected


def test_a_stale_block_never_shows_through():
    loaded = tiny_model()
    runner = ModelRunner(loaded, num_blocks=8, block_size=8)
    first = runner.run([RunEntry(list(range(40)), 0, [0, 1, 2, 3, 4], GREEDY)])
    runner.run([RunEntry(list(range(90, 130)), 0, [4, 3, 2, 1, 0], GREEDY)])
    again = runner.run([RunEntry(list(range(40)), 0, [0, 1, 2, 3, 4], GREEDY)])
    assert first[0].token == again[0].token
    assert first[0].logprob == again[0].logprob


def test_step_without_a_sample_returns_none_for_each():
    runner = ModelRunner(tiny_model(), num_blocks=8, block_size=8)
    assert runner.run([RunEntry([1, 2], 0, [0], None), RunEntry([3], 0, [1], None)]) == [None] * 2


def test_mask_hides_the_future_the_padding_and_what_left_the_window():
    mask = attention_mask(torch.tensor([4, 2]), 2, 4, torch.float32, window=2)
    seen = (mask == 0).squeeze(1).int().tolist()
    assert seen == [[[0, 1, 1, 0], [0, 0, 1, 1]], [[1, 0, 0, 0], [1, 1, 0, 0]]]


def test_model_that_needs_more_than_attention_is_refused_by_name():
    config = Qwen3Config(**COMMON)
    config.layer_types = ["full_attention", "linear_attention"]
    with pytest.raises(ModelUnsupported, match="linear_attention"):
        finish_loading(
            type("Network", (), {"config": config})(),
            byte_tokenizer(),
            "odd",
            torch.device("cpu"),
            torch.float32,
            0.0,
        )
