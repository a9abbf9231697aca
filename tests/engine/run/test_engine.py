import copy
import json
import struct
import zlib
from dataclasses import replace

import pytest
import torch

from engine.call import Admitted, CallSpec, Refused, Text
from engine.otlp import STEP_COLUMNS
from engine.sampler import SamplingParams
from engine.tiny import tiny_model
from tests.engine.run.receiver import attributes
from tests.engine.run.waiting import until

GREEDY = SamplingParams(temperature=0.0)


def spec(prompt, max_tokens=16, **rest):
    rest.setdefault("sampling", GREEDY)
    rest.setdefault("ignore_eos", True)
    return CallSpec(prompt_token_ids=list(prompt), max_tokens=max_tokens, **rest)


def expected_text(loaded, call):
    reference = copy.deepcopy(loaded.model)
    reference.set_attn_implementation("sdpa")
    never = loaded.vocab_size
    prompt = torch.tensor([call.prompt_token_ids])
    out = reference.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=call.max_tokens,
        do_sample=False,
        eos_token_id=never if call.ignore_eos else loaded.eos_ids[0],
        pad_token_id=0,
    )
    tokens = out[0, len(call.prompt_token_ids) :].tolist()
    return loaded.tokenizer.backend_tokenizer.decode(tokens, skip_special_tokens=True)


def timeline(packed):
    """Decode a packed token timeline: [(offset µs, tokens)]."""
    assert packed[0] == 1
    numbers, value, shift = [], 0, 0
    for byte in packed[1:]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(value)
            value = shift = 0
    events, at, rest = [], 0, iter(numbers)
    for number in rest:
        at += number >> 1
        events.append((at, next(rest) if number & 1 else 1))
    return events


def steps_of(records):
    rows = []
    for record in records:
        found = attributes(record)
        raw = zlib.decompress(found["inferometer.steps.columns"])
        count = found["inferometer.steps.count"]
        flat = struct.unpack(f"<{count * len(STEP_COLUMNS)}i", raw)
        columns = [flat[i * count : (i + 1) * count] for i in range(len(STEP_COLUMNS))]
        rows += [dict(zip(STEP_COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]
    return rows


LENGTHS = [1, 5, 8, 9, 40, 100, 130, 17]
PROMPTS = [[(7 * n + i * i) % 250 for i in range(n)] for n in LENGTHS]


@pytest.mark.parametrize("together", [1, 3, 8])
def test_greedy_tokens_equal_generate_in_any_batch(start_engine, together):
    running = start_engine(max_batched_tokens=32)
    loaded = running.engine.loaded
    calls = [spec(prompt, 12 + i) for i, prompt in enumerate(PROMPTS)]
    got = []
    for first in range(0, len(calls), together):
        got += [text for text, _ in running.generate(*calls[first : first + together])]
    assert got == [expected_text(loaded, call) for call in calls]


def test_tokens_are_the_same_with_prefix_cache_hits(start_engine):
    running = start_engine()
    shared = [(3 * i) % 250 for i in range(64)]
    calls = [spec([*shared, i, i + 1]) for i in range(4)]
    (first,) = running.generate(calls[0])
    rest = running.generate(*calls[1:])
    assert [text for text, _ in [first, *rest]] == [
        expected_text(running.engine.loaded, call) for call in calls
    ]
    assert first[1].cached_tokens == 0
    assert all(done.cached_tokens >= 56 for _, done in rest)


def test_tokens_and_timelines_survive_preemption(start_engine):
    running = start_engine(
        num_blocks=24, max_num_seqs=6, enable_prefix_cache=False, max_model_len=160
    )
    calls = [spec([i + 1] * 20, 60) for i in range(6)]
    got = running.generate(*calls)
    assert [text for text, _ in got] == [
        expected_text(running.engine.loaded, call) for call in calls
    ]
    found = [attributes(span) for span in running.spans(6)]
    assert sum(one["inferometer.preemptions"] for one in found) > 0
    assert sum(one["inferometer.preempted_us"] for one in found) > 0
    for one in found:
        events = timeline(one["inferometer.token_timeline"])
        assert sum(tokens for _, tokens in events) == 60
        assert [at for at, _ in events] == sorted(at for at, _ in events)


def test_end_of_sequence_token_ends_the_answer(start_engine):
    loaded = tiny_model(seed=3)
    with torch.no_grad():  # a model that likes to end
        loaded.model.lm_head.weight[loaded.eos_ids[0]] *= 3
    running = start_engine(loaded)
    calls = [spec([i, 2 * i, 9], 200, ignore_eos=False) for i in range(1, 7)]
    got = running.generate(*calls)
    assert [text for text, _ in got] == [expected_text(loaded, call) for call in calls]
    assert "stop" in {done.finish_reason for _, done in got}


def test_same_seed_same_text_whatever_the_batch(start_engine):
    running = start_engine()
    seeded = spec([1, 2, 3], 24, sampling=SamplingParams(temperature=0.9, top_p=0.95, seed=11))
    others = [spec([i] * 30, 24, sampling=SamplingParams(seed=i)) for i in range(5)]
    ((alone, _),) = running.generate(seeded)
    batched = running.generate(*others[:3], seeded, *others[3:])[3][0]
    assert alone == batched
    other_seed = replace(seeded, sampling=replace(seeded.sampling, seed=12))
    assert running.generate(other_seed)[0][0] != alone


def test_stop_string_ends_the_call_and_counts_its_tokens(start_engine):
    running = start_engine()
    ((full, _),) = running.generate(spec([5, 6, 7], 40))
    word = full[10:13]
    ((text, done),) = running.generate(spec([5, 6, 7], 40, stop=(word,)))
    assert text == full[: full.index(word)]
    assert done.finish_reason == "stop"
    assert done.output_tokens < 40
    span = attributes(running.spans(2)[1])
    assert span["gen_ai.usage.output_tokens"] == done.output_tokens
    assert sum(n for _, n in timeline(span["inferometer.token_timeline"])) == done.output_tokens


def test_cancel_frees_blocks_and_leaves_a_cancelled_span(start_engine):
    running = start_engine()
    listening = running.listen(spec([1] * 50, 400))
    listening.wait_for(Text)
    running.engine.cancel(listening.call)
    _, done = listening.finish()
    assert done.status == "cancelled"
    until(lambda: running.engine.gauges().kv_usage == 0.0)
    assert running.engine.gauges().running == 0
    span = running.spans(1)[0]
    found = attributes(span)
    assert found["inferometer.status"] == "cancelled"
    assert 0 < found["gen_ai.usage.output_tokens"] < 400
    assert found["inferometer.busy_us"] > 0


def test_full_queue_refuses_and_leaves_a_rejected_span(start_engine):
    running = start_engine(max_num_seqs=1, max_waiting=1)
    busy = running.listen(spec([1], 400))
    busy.wait_for(Text)
    waiting = running.listen(spec([2], 4))
    waiting.wait_for(Admitted)
    refused = running.listen(spec([3], 4)).wait_for(Refused)
    assert refused.retry_after_s > 0
    running.engine.cancel(busy.call)
    waiting.finish()
    found = [attributes(span) for span in running.spans(3)]
    assert sorted(one["inferometer.status"] for one in found) == ["cancelled", "ok", "rejected"]


def test_shares_of_steps_sum_to_the_steps(start_engine):
    running = start_engine(num_blocks=40, max_model_len=160)
    running.generate(*[spec(prompt, 20) for prompt in PROMPTS])
    running.engine.shutdown()
    spans = [attributes(span) for span in running.spans(len(PROMPTS))]
    steps = steps_of(running.receiver.steps)
    assert sum(one["inferometer.busy_us"] for one in spans) == sum(s["duration_us"] for s in steps)
    assert {s["num_seqs"] for s in steps} != {1}
    assert sum(s["prefill_tokens"] for s in steps) >= sum(LENGTHS)


def test_span_holds_phases_that_fit_together(start_engine):
    running = start_engine()
    running.generate(spec(PROMPTS[5], 10))
    span = running.spans(1)[0]
    found = attributes(span)
    duration_us = (span.end_time_unix_nano - span.start_time_unix_nano) // 1000
    events = timeline(found["inferometer.token_timeline"])
    assert abs(found["inferometer.ttft_us"] - events[0][0]) <= 1
    queue_and_prefill = found["inferometer.queue_us"] + found["inferometer.prefill_us"]
    assert abs(queue_and_prefill - found["inferometer.ttft_us"]) <= 2
    assert abs(events[-1][0] - duration_us) <= 1
    assert abs(events[0][0] + found["inferometer.decode_us"] - events[-1][0]) <= 2
    assert found["inferometer.last_step"] - found["inferometer.first_step"] >= 10
    assert len(found["inferometer.prefix_hashes"]) == 8 * (len(PROMPTS[5]) // 8)
    assert found["inferometer.mean_logprob"] < 0 < found["inferometer.mean_entropy"]


def test_two_engines_run_side_by_side(start_engine):
    one, two = start_engine(tiny_model(seed=1)), start_engine(tiny_model(seed=2))
    call = spec([4, 5, 6], 30)
    first, second = one.listen(call), two.listen(call)
    assert first.finish()[0] == expected_text(one.engine.loaded, call)
    assert second.finish()[0] == expected_text(two.engine.loaded, call)


def test_shutdown_cancels_what_runs_and_keeps_its_span(start_engine):
    running = start_engine()
    listening = [running.listen(spec([i], 500)) for i in range(1, 4)]
    listening[0].wait_for(Text)
    running.engine.shutdown()
    assert {one.finish()[1].status for one in listening} == {"cancelled"}
    assert {attributes(s)["inferometer.status"] for s in running.spans(3)} == {"cancelled"}


def test_failing_step_ends_its_calls_with_an_error_and_the_engine_goes_on(start_engine):
    running = start_engine()
    vocabulary = running.engine.loaded.vocab_size
    _, done = running.listen(spec([vocabulary + 5], 4)).finish()
    assert done.status == "error"
    assert running.generate(spec([1, 2], 4))[0][1].status == "ok"
    found = [attributes(span)["inferometer.status"] for span in running.spans(2)]
    assert found == ["error", "ok"]


QUESTIONS = ["What is the capital of France?", "Write one line about the sea.", "2+2="]


def questions_asked(loaded, max_tokens=24):
    tokenizer = loaded.tokenizer
    texts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], tokenize=False, add_generation_prompt=True
        )
        for question in QUESTIONS
    ]
    encode = tokenizer.backend_tokenizer.encode
    return [
        spec(encode(text, add_special_tokens=False).ids, max_tokens, ignore_eos=False)
        for text in texts
    ]


@pytest.mark.engine
def test_bundled_model_equals_generate_token_for_token(start_engine, bundled_float32):
    running = start_engine(bundled_float32, block_size=16, num_blocks=200, max_model_len=1024)
    calls = questions_asked(bundled_float32)
    got = [text for text, _ in running.generate(*calls)]
    assert got == [expected_text(bundled_float32, call) for call in calls]
    assert "Paris" in got[0], json.dumps(got)


@pytest.mark.engine
def test_bundled_model_in_its_own_precision_leaves_generate_only_at_a_tie(start_engine, bundled):
    """bfloat16 keeps 8 bits: a batch rounds otherwise than one call, so two words whose logits
    are equal to that precision may change places. Anything beyond that is a fault."""
    running = start_engine(bundled, block_size=16, num_blocks=200, max_model_len=1024)
    calls = questions_asked(bundled)
    for call, (text, _) in zip(calls, running.generate(*calls), strict=True):
        expected = expected_text(bundled, call)
        if text != expected:
            assert gap_where_they_part(bundled, call, text, expected) <= 0.25


def gap_where_they_part(loaded, call, text, expected):
    """Logit of the expected token minus logit of the chosen one, where two answers part."""
    encode = loaded.tokenizer.backend_tokenizer.encode
    chosen, wanted = (encode(one, add_special_tokens=False).ids for one in (text, expected))
    same = next(i for i, (a, b) in enumerate(zip(chosen, wanted, strict=False)) if a != b)
    reference = copy.deepcopy(loaded.model)
    reference.set_attn_implementation("sdpa")
    with torch.no_grad():
        logits = reference(torch.tensor([call.prompt_token_ids + wanted[:same]])).logits[0, -1]
    return float(logits[wanted[same]] - logits[chosen[same]])
