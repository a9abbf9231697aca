"""Calls and steps of an engine whose every step takes one known time, sent as it sends them."""

from datetime import UTC, datetime, timedelta

from collectors.timeline import pack_timeline
from engine.otlp import StepBatch, encode_steps, logs_body
from tests.webapp.ingest.sending import post, send, span

STEP_US = 20_000
# 2026-11-12 is in the past and inside the days that are kept.
START = datetime(2026, 11, 12, 9, tzinfo=UTC)
WINDOW = timedelta(hours=1)


def alone(count, *, every_s=2.0, output=11, prompt=64):
    """Calls that never meet: each computes its prompt in one step, then decodes a token a step."""
    records = []
    for place in range(count):
        offsets = [STEP_US * (n + 1) for n in range(output)]
        records.append(
            span(
                started_at=START + timedelta(seconds=every_s * place),
                request_model="SmolLM2-135M-Instruct",
                provider="inferometer",
                queue_us=0,
                ttft_us=offsets[0],
                duration_us=offsets[-1],
                busy_us=offsets[-1],
                input_tokens=prompt,
                output_tokens=output,
                token_timeline=pack_timeline([(at, 1) for at in offsets]),
            )
        )
    return records


def steps_of(first, count, *, every_s=2.0, output=11, prompt=64):
    """The step records of `count` of those calls, from the `first` on."""
    rows = []
    for place in range(count):
        for n in range(output):
            at = int(every_s * place * 1e6) + STEP_US * n
            prefill, decode = (prompt, 0) if n == 0 else (0, 1)
            context = decode * (prompt + n)
            rows.append((at, STEP_US, prefill, decode, 1, context, prefill, 6, 250, 0, 0))
    began = START + timedelta(seconds=every_s * first)
    return StepBatch("run", first * output, int(began.timestamp() * 1e6) * 1000, rows)


def record(key, count, **given):
    """Send `count` calls and their steps with an ingest key bound to a server."""
    records = alone(count, **given)
    for first in range(0, count, 200):
        part = records[first : first + 200]
        assert send(key, part).status_code == 200
        body = logs_body([encode_steps(steps_of(first, len(part), **given))], {})
        assert post(key, body, path="/v1/logs").status_code == 200
