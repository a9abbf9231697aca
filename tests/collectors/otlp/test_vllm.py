"""What vLLM 0.32 sent, against what was counted from its streams."""

import json
from pathlib import Path
from typing import Any

from collectors.otlp import PROTOBUF, decode_traces
from collectors.record import SpanRecord

FIXTURES = Path(__file__).parents[2] / "fixtures" / "vllm"


def records() -> list[SpanRecord]:
    bodies = [(FIXTURES / f"vllm-0.32.0-otlp-{n}.pb").read_bytes() for n in range(1, 7)]
    decoded = [decode_traces(body, PROTOBUF) for body in bodies]
    assert not any(one.rejected for one in decoded)
    return [record for one in decoded for record in one.spans]


def usages() -> dict[str, dict[str, Any]]:
    found = {}
    for line in (FIXTURES / "vllm-0.32.0-streams.jsonl").read_text().splitlines():
        request = json.loads(line)
        if request["stream"]:
            events = [text for _, text in request["events"] if text.startswith("data: {")]
            chunks = [json.loads(text[6:]) for text in events]
        else:
            body = request["body"]
            chunks = [json.loads(body) if isinstance(body, str) else body]
        found[chunks[0]["id"]] = next(c["usage"] for c in chunks if c.get("usage"))
    return found


def test_twelve_calls_with_the_tokens_of_their_streams() -> None:
    calls = [record for record in records() if record.is_call]
    assert len(calls) == 12
    truth = usages()
    for call in calls:
        usage = truth[call.extra["gen_ai.request.id"]]
        assert call.input_tokens == usage["prompt_tokens"]
        assert call.output_tokens == usage["completion_tokens"]
    assert sum(call.input_tokens or 0 for call in calls) == 464
    assert sum(call.output_tokens or 0 for call in calls) == 311


def test_phases_are_the_servers_and_add_up() -> None:
    for call in (record for record in records() if record.is_call):
        assert call.queue_us is not None
        assert call.prefill_us is not None
        assert call.decode_us is not None
        assert call.ttft_us is not None
        assert call.duration_us is not None
        assert call.queue_us + call.prefill_us <= call.ttft_us + 1
        assert call.ttft_us + call.decode_us <= call.duration_us + 3000
        assert call.client_ttft_us is None


def test_start_up_spans_are_kept_and_are_no_calls() -> None:
    others = [record for record in records() if not record.is_call]
    assert len(others) > 12
    assert {record.kind for record in others} == {"other"}
    assert not any(record.model for record in records())
