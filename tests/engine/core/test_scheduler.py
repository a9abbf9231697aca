"""The scheduler by its promises: nothing lost, nothing twice, nobody overtaken, blocks add up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.block_pool import BlockPool, block_hashes
from engine.config import EngineConfig
from engine.events import Finished, TokensEmitted
from engine.request import Request
from engine.scheduler import Scheduler

SMALL = {
    "block_size": 4,
    "num_blocks": 32,
    "max_num_seqs": 4,
    "max_batched_tokens": 16,
    "max_model_len": 128,
}


def request(name, prompt=8, output=4, **rest):
    ids = prompt if isinstance(prompt, list) else list(range(1, prompt + 1))
    return Request(name, ids, output, ignore_eos=True, **rest)


def drive(scheduler, steps=10_000):
    """Run to the end with made-up tokens; events in order, and tokens computed each step."""
    events, loads = [], []
    now = 0.0
    while scheduler.has_work:
        plan = scheduler.schedule(now)
        scheduler.check_integrity()
        assert not plan.is_empty or plan.preempted
        assert len({entry.request.request_id for entry in plan.entries}) == len(plan.entries)
        loads.append(sum(entry.num_tokens for entry in plan.entries))
        tokens = {e.request.request_id: [7] for e in plan.entries if e.samples}
        now += 1.0
        events += scheduler.commit(plan, tokens, now)
        scheduler.check_integrity()
        steps -= 1
        assert steps > 0, "it never ends"
    return events, loads


def finished(events):
    return [event.request_id for event in events if isinstance(event, Finished)]


def test_one_request_is_read_and_answered():
    scheduler = Scheduler(EngineConfig(**SMALL))
    assert scheduler.submit(request("a", 8, 4), 0.0) is None
    events, loads = drive(scheduler)
    assert loads == [8, 1, 1, 1]
    assert sum(e.count for e in events if isinstance(e, TokensEmitted)) == 4
    assert finished(events) == ["a"]
    assert scheduler.num_used_blocks == 0


def test_long_prompt_is_read_in_chunks_beside_a_running_answer():
    scheduler = Scheduler(EngineConfig(**SMALL))
    scheduler.submit(request("short", 4, 20), 0.0)
    plan = scheduler.schedule(0.0)
    scheduler.commit(plan, {"short": [1]}, 1.0)
    scheduler.submit(request("long", 40, 1), 1.0)
    plan = scheduler.schedule(1.0)
    assert [(e.request.request_id, e.num_tokens, e.samples) for e in plan.entries] == [
        ("short", 1, True),
        ("long", 15, False),
    ]


def test_equal_prefix_is_computed_once():
    scheduler = Scheduler(EngineConfig(**SMALL))
    prompt = list(range(12))
    scheduler.submit(request("a", prompt, 1), 0.0)
    drive(scheduler)
    scheduler.submit(request("b", [*prompt, 99], 1), 0.0)
    plan = scheduler.schedule(0.0)
    assert (plan.entries[0].start, plan.entries[0].num_tokens) == (12, 1)
    scheduler.check_integrity()


def test_whole_prompt_in_the_cache_still_computes_its_last_token():
    scheduler = Scheduler(EngineConfig(**SMALL))
    for name in "ab":
        scheduler.submit(request(name, list(range(8)), 1), 0.0)
        plan = scheduler.schedule(0.0)
        assert plan.entries[0].samples
        scheduler.commit(plan, {name: [1]}, 1.0)
    assert plan.entries[0].num_tokens == 4


def test_last_admitted_gives_its_blocks_back_and_comes_first_again():
    scheduler = Scheduler(EngineConfig(**{**SMALL, "num_blocks": 10, "enable_prefix_cache": False}))
    for name in ("a", "b", "c"):
        scheduler.submit(request(name, 8, 20), 0.0)
    events, _ = drive(scheduler)
    assert finished(events) == ["a", "b", "c"]


def test_priority_goes_first_and_equals_wait_their_turn():
    scheduler = Scheduler(EngineConfig(**{**SMALL, "max_num_seqs": 1}))
    for name, priority in (("a", 0), ("b", 0), ("urgent", -1)):
        scheduler.submit(request(name, 4, 2, priority=priority), 0.0)
    events, _ = drive(scheduler)
    assert finished(events) == ["urgent", "a", "b"]


@pytest.mark.parametrize(
    ("made", "config", "why"),
    [
        (request("x", 100, 100), {}, "together|at most 128"),
        (request("x", 60, 60), {"num_blocks": 20}, "cache holds 80"),
        (request("x", 20, 1), {"enable_chunked_prefill": False}, "without chunked prefill"),
        (request("x", 4, 0), {}, "At least one token"),
    ],
)
def test_what_never_fits_is_rejected_with_a_reason(made, config, why):
    rejected = Scheduler(EngineConfig(**{**SMALL, **config})).submit(made, 0.0)
    assert rejected is not None
    assert any(part in rejected.reason for part in why.split("|"))


def test_full_queue_rejects_and_a_repeated_id_too():
    scheduler = Scheduler(EngineConfig(**{**SMALL, "max_waiting": 1}))
    assert scheduler.submit(request("a"), 0.0) is None
    assert "already" in scheduler.submit(request("a"), 0.0).reason
    assert "full" in scheduler.submit(request("b"), 0.0).reason


def test_abort_frees_everything_once():
    scheduler = Scheduler(EngineConfig(**SMALL))
    for name in "ab":
        scheduler.submit(request(name, 8, 50), 0.0)
    plan = scheduler.schedule(0.0)
    assert scheduler.abort("a", 0.0, "gone").reason == "gone"
    assert scheduler.abort("a", 0.0, "gone") is None
    events = scheduler.commit(plan, {"a": [1], "b": [1]}, 1.0)
    assert {event.request_id for event in events} == {"b"}
    scheduler.check_integrity()
    assert scheduler.abort("b", 1.0, "gone")
    assert not scheduler.has_work
    assert scheduler.num_used_blocks == 0


def test_end_tokens_end_and_what_follows_them_is_dropped():
    scheduler = Scheduler(EngineConfig(**SMALL))
    one = Request("a", [1, 2], 10, eos_ids=frozenset({9}))
    scheduler.submit(one, 0.0)
    events = scheduler.commit(scheduler.schedule(0.0), {"a": [5, 9, 6]}, 1.0)
    assert one.output_token_ids == [5, 9]
    assert [e.reason for e in events if isinstance(e, Finished)] == ["stop"]


WORK = st.lists(
    st.tuples(
        st.integers(1, 60),  # prompt
        st.integers(1, 30),  # output
        st.integers(0, 30),  # submitted before this step
        st.booleans(),  # a prompt that shares a prefix
        st.one_of(st.none(), st.integers(0, 40)),  # aborted before this step
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(
    work=WORK,
    num_blocks=st.integers(24, 60),
    max_num_seqs=st.integers(1, 6),
    budget=st.integers(4, 70),
    cache=st.booleans(),
    chunked=st.booleans(),
)
def test_every_request_ends_once_and_blocks_add_up(
    work, num_blocks, max_num_seqs, budget, cache, chunked
):
    config = EngineConfig(
        block_size=4,
        num_blocks=num_blocks,
        max_num_seqs=max_num_seqs,
        max_batched_tokens=budget,
        max_model_len=200,
        enable_chunked_prefill=chunked,
        enable_prefix_cache=cache,
    )
    scheduler = Scheduler(config)
    ends, made, step = {}, {}, 0
    pending = dict(enumerate(work))
    while pending or scheduler.has_work:
        for index, (prompt, output, at, shared, _) in list(pending.items()):
            if at > step and scheduler.has_work:
                continue
            del pending[index]
            ids = [0 if shared else index + 1] * prompt
            made[str(index)] = one = request(str(index), ids, output)
            if scheduler.submit(one, step):
                ends[str(index)] = "rejected"
        for index, (*_, aborted_at) in enumerate(work):
            due = aborted_at is not None and aborted_at <= step
            if due and scheduler.abort(str(index), step, "gone"):
                assert str(index) not in ends
                ends[str(index)] = "aborted"
        plan = scheduler.schedule(step)
        assert sum(entry.num_tokens for entry in plan.entries) <= budget
        scheduler.check_integrity()
        tokens = {e.request.request_id: [3] for e in plan.entries if e.samples}
        for event in scheduler.commit(plan, tokens, step + 1):
            if isinstance(event, Finished):
                assert event.request_id not in ends
                ends[event.request_id] = "finished"
        scheduler.check_integrity()
        step += 1
        assert step < 5000
    assert ends.keys() == made.keys()
    for name, end in ends.items():
        if end == "finished":
            assert made[name].num_output_tokens == work[int(name)][1]
    assert scheduler.num_used_blocks == 0


def test_hashes_are_chained_and_the_same_in_every_process():
    hashes = block_hashes(list(range(12)), 4)
    assert len(hashes) == 3
    assert block_hashes([*range(4), 99, *range(5, 12)], 4)[0] == hashes[0]
    assert block_hashes([99, *range(1, 12)], 4)[2] != hashes[2]
    assert block_hashes([1, 2, 3], 4) == []


def test_pool_keeps_a_prefix_until_its_place_is_needed():
    pool = BlockPool(3)
    first = pool.take(2)
    for block, value in zip(first, (11, 12), strict=True):
        pool.remember(block, value)
    pool.release(first)
    assert pool.find_prefix([11, 12, 13], 3) == first
    pool.take(2)  # the one never used, then the end of the prefix
    assert pool.find_prefix([11, 12], 2) == first[:1]
