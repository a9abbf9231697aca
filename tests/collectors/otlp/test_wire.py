"""Both encodings say the same, rubbish is refused as a whole, and what is written can be read."""

import dataclasses
import json
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from collectors.otlp import (
    JSON,
    PROTOBUF,
    BadBody,
    decode_logs,
    decode_metrics,
    decode_traces,
    encode_response,
    encode_traces,
)
from collectors.record import Decoded, SpanRecord
from engine.otlp import STEP_COLUMNS, StepBatch, encode_steps, logs_body

AT = datetime(2026, 11, 30, 10, 0, 0, 123456, tzinfo=UTC)
FULL = SpanRecord(
    trace_id="0af7651916cd43dd8448eb211c80319c",
    span_id="b7ad6b7169203331",
    parent_span_id="00f067aa0ba902b7",
    started_at=AT,
    duration_us=1_234_567,
    name="chat m",
    kind="llm",
    session_id="s",
    user_id="u",
    team="t",
    feature="f",
    environment="e",
    tags={"a": "b"},
    server="gpu-1",
    provider="openai",
    request_model="m",
    response_model="m-1",
    source="gateway",
    queue_us=1,
    prefill_us=2,
    decode_us=3,
    preempted_us=4,
    ttft_us=5,
    client_ttft_us=6,
    input_tokens=100,
    cached_input_tokens=50,
    cache_write_tokens=20,
    output_tokens=30,
    reasoning_tokens=10,
    tokens_source="reported",
    token_timeline=bytes.fromhex("01c09a0cb0ea01c1b80203"),
    status="cancelled",
    finish_reason="abort",
    http_status=499,
    attempts=2,
    busy_us=77,
    batch_mean=3.5,
    preemptions=1,
    prefix_hashes=bytes(16),
    mean_logprob=-0.5,
    refusal=False,
    extra={"own.thing": "x"},
)


def json_of(request: Any) -> bytes:
    """A protobuf body as OTLP writes it in JSON: ids in hex, other bytes in base64."""
    found = MessageToDict(request)
    for holder in found.get("resourceSpans", []):
        for scope in holder["scopeSpans"]:
            for span, raw in zip(
                scope["spans"], request.resource_spans[0].scope_spans[0].spans, strict=True
            ):
                span["traceId"], span["spanId"] = raw.trace_id.hex(), raw.span_id.hex()
                span["parentSpanId"] = raw.parent_span_id.hex()
    return json.dumps(found).encode()


def test_record_survives_the_wire() -> None:
    (record,) = decode_traces(encode_traces([FULL], {"service.name": "g"}), PROTOBUF).spans
    assert record == dataclasses.replace(FULL, service_name="g")


def test_json_says_the_same_as_protobuf() -> None:
    body = encode_traces([FULL], {"service.name": "g"})
    request = ExportTraceServiceRequest.FromString(body)
    assert decode_traces(json_of(request), JSON) == decode_traces(body, PROTOBUF)


def test_steps_of_the_engine_are_read() -> None:
    rows = [tuple(range(start, start + len(STEP_COLUMNS))) for start in (0, 100)]
    batch = StepBatch("run", 7, int(AT.timestamp()) * 10**9, rows)
    body = logs_body([encode_steps(batch)], {"inferometer.server": "engine"})
    request = ExportLogsServiceRequest.FromString(body)
    for found in (decode_logs(body, PROTOBUF), decode_logs(json_of(request), JSON)):
        (steps,) = found.steps
        assert (steps.run_id, steps.first_index, steps.count) == ("run", 7, 2)
        assert steps.names == STEP_COLUMNS
        assert steps.server == "engine"
        assert len(zlib.decompress(steps.columns)) == 4 * 2 * len(STEP_COLUMNS)


def test_metrics_of_both_encodings() -> None:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="tokens")
    metric.sum.data_points.add(as_int=5, time_unix_nano=int(AT.timestamp()) * 10**9)
    metric.sum.data_points.add(as_double=float("nan"), time_unix_nano=1)
    for found in (
        decode_metrics(request.SerializeToString(), PROTOBUF),
        decode_metrics(json_of(request), JSON),
    ):
        (sample,) = found.samples
        assert (sample.name, sample.value) == ("tokens", 5.0)
        assert len(found.rejected) == 1


NO_REFUSAL = "It was read."


def refusal_of(decode: Callable[[bytes, str], Decoded], body: bytes, kind: str) -> str:
    """The sentence a body is refused with, anything but BadBody being a failure."""
    try:
        decode(body, kind)
    except BadBody as error:
        return str(error)
    return NO_REFUSAL


@pytest.mark.parametrize("kind", [PROTOBUF, JSON])
@given(body=st.binary(max_size=400))
def test_rubbish_is_refused_and_never_breaks(kind: str, body: bytes) -> None:
    for decode in (decode_traces, decode_metrics, decode_logs):
        assert refusal_of(decode, body, kind).endswith(".")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@given(
    spans=st.lists(
        st.dictionaries(
            st.sampled_from(
                ["traceId", "spanId", "name", "startTimeUnixNano", "attributes", "events", "status"]
            ),
            JSON_VALUES,
        ),
        max_size=3,
    )
)
def test_any_json_of_the_right_outline_is_answered(spans: list[dict[str, Any]]) -> None:
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()
    refusal = refusal_of(decode_traces, body, JSON)
    if refusal != NO_REFUSAL:
        assert "JSON" in refusal
        return
    decoded = decode_traces(body, JSON)
    assert len(decoded.spans) + len(decoded.rejected) == len(spans)


def test_answers_tell_what_was_refused() -> None:
    answer = ExportTraceServiceResponse.FromString(
        encode_response("traces", PROTOBUF, 2, "two were bad")
    )
    assert answer.partial_success.rejected_spans == 2
    found = json.loads(encode_response("traces", JSON + "; charset=utf-8", 2, "two were bad"))
    assert found == {"partialSuccess": {"rejectedSpans": "2", "errorMessage": "two were bad"}}
    assert encode_response("logs", PROTOBUF, 0, "") == b""
    assert encode_response("logs", JSON, 0, "") == b"{}"


def test_other_content_types_are_refused() -> None:
    with pytest.raises(BadBody, match="text/plain"):
        decode_traces(b"", "text/plain")
