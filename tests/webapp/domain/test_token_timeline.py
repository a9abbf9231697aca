"""Packed timelines read back exactly, one or many at once, and broken ones are told apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.domain.token_timeline import TimelineError, decode, decode_many, encode

GOLDEN = bytes.fromhex("01c09a0cb0ea01c1b80203")

events = st.lists(
    st.tuples(st.integers(0, 2**40), st.sampled_from([0, 1, 1, 1, 2, 3, 127, 128, 129, 100_001])),
    max_size=30,
).map(lambda pairs: sorted(pairs, key=lambda pair: pair[0]))


def test_golden_bytes_mean_three_events():
    timeline = decode(GOLDEN)
    assert timeline.offsets_us.tolist() == [100_000, 115_000, 135_000]
    assert timeline.tokens.tolist() == [1, 1, 3]
    assert encode([(100_000, 1), (115_000, 1), (135_000, 3)]) == GOLDEN


def test_latencies_follow_their_definitions():
    timeline = decode(GOLDEN)
    assert timeline.ttft_us == 100_000
    assert timeline.itl_us.tolist() == [15_000, 20_000]
    assert timeline.last_us == 135_000
    assert timeline.token_count == 5
    assert timeline.tpot_us(5) == 35_000 / 4
    assert timeline.tpot_us(None) == 35_000 / 4


def test_the_reported_count_decides_time_per_token_where_chunks_are_not_tokens():
    ten_chunks = [(100_000 + 100_000 * i, 0) for i in range(10)]
    timeline = decode(encode(ten_chunks))
    assert timeline.tpot_us(46) == 900_000 / 45
    assert len(timeline.itl_us) == 9
    assert timeline.tpot_us(None) is None


def test_one_token_has_no_time_per_token():
    assert decode(encode([(5, 1)])).tpot_us(1) is None
    assert decode(encode([(5, 4)])).tpot_us(4) is None


def test_no_event_has_no_first_token():
    empty = decode(b"\x01")
    assert (empty.ttft_us, empty.last_us, empty.token_count, empty.tpot_us(9)) == (None,) * 4


@given(st.lists(events, max_size=8))
def test_many_timelines_read_back_exactly(calls):
    timelines = decode_many([encode(call) for call in calls])
    assert timelines.readable.all()
    for index, call in enumerate(calls):
        one = timelines[index]
        assert list(zip(one.offsets_us.tolist(), one.tokens.tolist(), strict=True)) == call


@given(st.lists(events, max_size=8))
def test_gaps_of_many_are_the_gaps_of_each(calls):
    timelines = decode_many([encode(call) for call in calls])
    gaps, owners = timelines.gaps()
    for index in range(len(calls)):
        assert gaps[owners == index].tolist() == timelines[index].itl_us.tolist()


BROKEN = {
    "nothing": b"",
    "another version": b"\x02\x04",
    "cut in a number": GOLDEN[:-2],
    "count missing": GOLDEN[:-1],
    "number past all sense": b"\x01" + b"\xfe" * 8 + b"\x01",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_timeline_is_refused_with_a_sentence(name):
    with pytest.raises(TimelineError, match="timeline"):
        decode(BROKEN[name])


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_timeline_leaves_its_neighbours_whole(name):
    timelines = decode_many([GOLDEN, BROKEN[name], GOLDEN])
    assert timelines.readable.tolist() == [True, False, True]
    assert len(timelines[1].offsets_us) == 0
    assert timelines[0].offsets_us.tolist() == timelines[2].offsets_us.tolist()
    assert timelines[2].tokens.tolist() == [1, 1, 3]


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_any_bytes_are_read_or_marked_but_never_crash(many):
    timelines = decode_many(many)
    assert len(timelines) == len(many)


def test_events_out_of_order_cannot_be_packed():
    with pytest.raises(TimelineError):
        encode([(10, 1), (9, 1)])


def test_a_hundred_tokens_take_at_most_three_bytes_each():
    packed = encode([(250_000 + 21_000 * i, 1) for i in range(100)])
    assert len(packed) <= 301
