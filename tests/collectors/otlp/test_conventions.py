"""One table a generation of names: what is on the wire, and what is understood."""

import json
from typing import Any

import pytest

from collectors.otlp import JSON, decode_traces
from collectors.record import SpanRecord

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
START = 1_790_000_000_000_000_000


def value_of(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [value_of(item) for item in value]}}
    return {"stringValue": value}


def body_of(attributes: dict[str, Any], resource: dict[str, Any], **span: Any) -> bytes:
    def pairs(found: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"key": key, "value": value_of(value)} for key, value in found.items()]

    one = {
        "traceId": TRACE,
        "spanId": SPAN,
        "name": "chat",
        "startTimeUnixNano": str(START),
        "endTimeUnixNano": str(START + 2_000_000_000),
        "attributes": pairs(attributes),
        **span,
    }
    scopes = [{"spans": [one]}]
    holder = {"resource": {"attributes": pairs(resource)}, "scopeSpans": scopes}
    return json.dumps({"resourceSpans": [holder]}).encode()


def understood(
    attributes: dict[str, Any], resource: dict[str, Any] | None = None, **span: Any
) -> SpanRecord:
    decoded = decode_traces(body_of(attributes, resource or {}, **span), JSON)
    assert decoded.rejected == []
    (record,) = decoded.spans
    return record


GENERATIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "genai 0.1": (
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-5",
            "gen_ai.response.model": "gpt-5-2026",
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 20,
            "gen_ai.usage.cache_read.input_tokens": 60,
            "gen_ai.usage.cache_write.input_tokens": 10,
            "gen_ai.usage.reasoning.output_tokens": 5,
            "gen_ai.response.finish_reasons": ["stop"],
            "gen_ai.conversation.id": "s",
            "gen_ai.response.time_to_first_chunk": 0.25,
        },
        {
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-5",
            "response_model": "gpt-5-2026",
            "input_tokens": 100,
            "output_tokens": 20,
            "cached_input_tokens": 60,
            "cache_write_tokens": 10,
            "reasoning_tokens": 5,
            "finish_reason": "stop",
            "session_id": "s",
            "client_ttft_us": 250_000,
            "ttft_us": None,
        },
    ),
    "1.40": (
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "anthropic",
            "gen_ai.request.model": "claude",
            "gen_ai.usage.input_tokens": 50,
            "gen_ai.usage.output_tokens": 3,
            "gen_ai.usage.cache_creation.input_tokens": 7,
        },
        {"kind": "llm", "cache_write_tokens": 7, "input_tokens": 50},
    ),
    "1.36": (
        {
            "gen_ai.operation.name": "embeddings",
            "gen_ai.system": "az.ai.openai",
            "gen_ai.request.model": "ada",
            "gen_ai.usage.input_tokens": 9,
            "gen_ai.openai.response.service_tier": "flex",
        },
        {"kind": "embedding", "provider": "azure.ai.openai", "service_tier": "flex"},
    ),
    "1.26": (
        {
            "gen_ai.system": "openai",
            "gen_ai.request.model": "gpt-4",
            "gen_ai.usage.prompt_tokens": 9,
            "gen_ai.usage.completion_tokens": 4,
        },
        {"kind": "llm", "input_tokens": 9, "output_tokens": 4},
    ),
    "OpenInference": (
        {
            "openinference.span.kind": "LLM",
            "llm.model_name": "gpt-4o",
            "llm.provider": "openai",
            "llm.token_count.prompt": 12,
            "llm.token_count.completion": 3,
            "llm.token_count.prompt_details.cache_read": 4,
            "session.id": "x",
            "llm.input_messages.0.message.content": "secret",
        },
        {
            "kind": "llm",
            "request_model": "gpt-4o",
            "input_tokens": 12,
            "cached_input_tokens": 4,
            "session_id": "x",
            "content": {"llm.input_messages.0.message.content": "secret"},
            "extra": {},
        },
    ),
    "OpenLLMetry": (
        {
            "llm.request.type": "completion",
            "gen_ai.request.model": "m",
            "llm.usage.prompt_tokens": 8,
            "llm.usage.total_tokens": 11,
            "traceloop.association.properties.user_id": "u",
        },
        {"kind": "llm", "input_tokens": 8, "output_tokens": 3, "user_id": "u"},
    ),
    "OpenLLMetry workflow": ({"traceloop.span.kind": "workflow"}, {"kind": "agent"}),
    "Vercel call": (
        {
            "ai.operationId": "ai.streamText.doStream",
            "ai.model.id": "gpt-4o",
            "ai.usage.promptTokens": 7,
            "ai.usage.completionTokens": 2,
            "ai.response.msToFirstChunk": 120.5,
        },
        {"kind": "llm", "input_tokens": 7, "client_ttft_us": 120_500},
    ),
    "Vercel wrapper": (
        {"ai.operationId": "ai.streamText", "ai.usage.promptTokens": 7},
        {"kind": "agent"},
    ),
    "SGLang": (
        {
            "gen_ai.latency.time_in_queue": 0.002,
            "gen_ai.latency.time_to_first_token": 0.05,
            "gen_ai.usage.prompt_tokens": 37,
            "gen_ai.usage.completion_tokens": 24,
        },
        {"kind": "llm", "queue_us": 2000, "ttft_us": 50_000, "client_ttft_us": None},
    ),
    "no call": ({"http.request.method": "GET"}, {"kind": "other", "input_tokens": None}),
    "agent with usage": (
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 5},
        {"kind": "agent"},
    ),
}


@pytest.mark.parametrize("name", sorted(GENERATIONS))
def test_generation_is_understood(name: str) -> None:
    attributes, expected = GENERATIONS[name]
    record = understood(attributes)
    assert {field: getattr(record, field) for field in expected} == expected


def test_exclusive_counts_become_inclusive() -> None:
    record = understood(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 10,
            "gen_ai.usage.output_tokens": 5,
            "gen_ai.usage.cache_read_input_tokens": 80,
            "gen_ai.usage.cache_creation_input_tokens": 20,
        }
    )
    assert record.input_tokens == 110
    assert "exclusive_tokens" in record.flags


def test_absent_is_none_and_unusable_is_absent() -> None:
    record = understood(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": -3,
            "gen_ai.usage.output_tokens": "12",
            "gen_ai.usage.cost": "NaN",
            "inferometer.mean_logprob": "inf",
        }
    )
    assert record.input_tokens is None
    assert record.output_tokens == 12
    assert record.client_cost_usd is None
    assert record.mean_logprob is None


@pytest.mark.parametrize(
    ("attributes", "failed", "status"),
    [
        ({}, False, "ok"),
        ({}, True, "error"),
        ({"error.type": "timeout"}, True, "timeout"),
        ({"http.response.status_code": 429}, True, "rejected"),
        ({"error.type": "asyncio.CancelledError"}, True, "cancelled"),
        ({"inferometer.status": "cancelled"}, False, "cancelled"),
        ({"inferometer.status": "nonsense"}, True, "error"),
    ],
)
def test_outcome(attributes: dict[str, Any], failed: bool, status: str) -> None:
    record = understood(attributes, status={"code": 2 if failed else 0})
    assert record.status == status


def test_resource_names_the_origin() -> None:
    record = understood(
        {"gen_ai.operation.name": "chat"},
        {"service.name": "shop", "inferometer.server": "gpu-1", "deployment.environment": "prod"},
    )
    assert (record.service_name, record.server, record.environment) == ("shop", "gpu-1", "prod")


def test_end_before_start_is_kept_and_flagged() -> None:
    record = understood({}, endTimeUnixNano=str(START - 1_000_000))
    assert record.duration_us is None
    assert record.flags == {"clock_skew"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"traceId": "0" * 32}, "trace id"),
        ({"spanId": "ab"}, "span id"),
        ({"startTimeUnixNano": "0"}, "no start time"),
        ({"startTimeUnixNano": "12"}, "between 2015 and 2100"),
        ({"startTimeUnixNano": "soon"}, "must be an integer"),
        ({"name": 5}, "must be a string"),
    ],
)
def test_bad_span_is_refused_by_name_and_the_good_one_stays(
    change: dict[str, Any], why: str
) -> None:
    body = json.loads(body_of({"gen_ai.operation.name": "chat"}, {}))
    spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans.append({**spans[0], **change})
    decoded = decode_traces(json.dumps(body).encode(), JSON)
    assert len(decoded.spans) == 1
    (rejection,) = decoded.rejected
    assert why in rejection.why
