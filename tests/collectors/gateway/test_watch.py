"""Every recorded stream is understood as its expectation says."""

import base64
import json
from pathlib import Path

import pytest

from collectors.gateway.stream import EventReader
from collectors.gateway.watch import Watch

FIXTURES = Path(__file__).parents[2] / "fixtures" / "streams"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text())


def watched(name: str) -> Watch:
    reads = [json.loads(line) for line in (FIXTURES / name).read_text().splitlines()]
    reader = EventReader("lines" if name.startswith("ollama") else "sse")
    watch = Watch()
    for read in reads:
        data = base64.b64decode(read["b64"]) if "b64" in read else read["s"].encode()
        for found in reader.feed(data):
            watch.see(found, round(read["t"] * 1e6))
    for found in reader.end():
        watch.see(found, round(reads[-1]["t"] * 1e6))
    return watch


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_stream_is_understood(name: str) -> None:
    expect = EXPECTED[name]["expect"]
    watch = watched(name)
    assert (watch.error_type is not None) == (expect["status"] == "error")
    if "ttft" in expect:
        ttft = expect["ttft"]
        assert watch.ttft_us == (None if ttft is None else round(ttft * 1e6))
    if "last_token" in expect:
        assert watch.events[-1][0] == round(expect["last_token"] * 1e6)
    if "timeline" in expect:
        assert watch.timeline() == [(round(at * 1e6), n) for at, n in expect["timeline"]]
    if "chunks" in expect:
        assert len(watch.events) == expect["chunks"]
    if "mean_logprob" in expect:
        assert watch.mean_logprob == pytest.approx(expect["mean_logprob"], abs=1e-5)
    for part in ("prefill", "decode"):
        if f"{part}_s" in expect:
            assert getattr(watch, f"{part}_us") == round(expect[f"{part}_s"] * 1e6)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_numbers_of_the_stream_are_kept(name: str) -> None:
    expect = EXPECTED[name]["expect"]
    watch = watched(name)
    if watch.error_type is None:
        for field in ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens"):
            if field in expect:
                assert getattr(watch, field) == expect[field], field
    if "finish" in expect:
        assert watch.finish_reason == expect["finish"]
    if "error_type" in expect:
        assert watch.error_type == expect["error_type"]


def test_unread_rubbish_changes_nothing() -> None:
    reader = EventReader("sse")
    rubbish = b"data: {\n\ndata: [1]\n\n\xff\xfe\ndata: " + b"[" * 10_000 + b"\n\n"
    assert list(reader.feed(rubbish)) == []
    assert list(reader.feed(b'data: {"a": 1}\n\n')) == [{"a": 1}]
