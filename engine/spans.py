"""A call's measurements as the attributes of its span, and as what it adds to the metrics."""

from __future__ import annotations

from engine.call import Call
from engine.metrics import CallFigures
from engine.otlp import SpanFacts, Value, pack_timeline

PROVIDER = "inferometer"
_HTTP_STATUS = {"ok": 200, "rejected": 429, "error": 500, "timeout": 504, "cancelled": 499}


def span_of(call: Call, model_name: str) -> SpanFacts:
    """The one span that a call leaves."""
    labels, seen = call.spec.labels, call.measured
    ended = seen.ended_ns or call.arrived_ns
    asked = labels.request_model or model_name
    return SpanFacts(
        trace_id=call.trace_id,
        span_id=call.span_id,
        parent_span_id=labels.parent_span_id,
        name=f"{labels.operation} {asked}",
        start_unix_ns=call.arrived_unix_ns,
        end_unix_ns=call.arrived_unix_ns + ended - call.arrived_ns,
        failed=call.status in ("error", "timeout", "rejected"),
        message=call.error or "",
        attributes={
            **_asked(call, asked),
            **_answered(call, model_name),
            **_phases(call),
            **_execution(call),
        },
    )


def _asked(call: Call, asked: str) -> dict[str, Value | None]:
    labels, sampling = call.spec.labels, call.spec.sampling
    return {
        "inferometer.source": "engine",
        "gen_ai.operation.name": labels.operation,
        "gen_ai.provider.name": PROVIDER,
        "gen_ai.request.model": asked,
        "gen_ai.request.stream": labels.stream,
        "gen_ai.request.max_tokens": call.spec.max_tokens,
        "gen_ai.request.temperature": float(sampling.temperature),
        "gen_ai.request.top_p": float(sampling.top_p),
        "gen_ai.request.top_k": sampling.top_k or None,
        "gen_ai.request.seed": labels.seed_asked,
        "gen_ai.conversation.id": labels.session_id,
        "user.id": labels.user_id,
        "inferometer.team": labels.team,
        "inferometer.feature": labels.feature,
        "deployment.environment.name": labels.environment,
    }


def _answered(call: Call, model_name: str) -> dict[str, Value | None]:
    seen, tokens = call.measured, call.output_tokens
    ran = seen.scheduled_ns is not None
    return {
        "gen_ai.response.model": model_name,
        "gen_ai.response.id": call.spec.labels.response_id,
        "gen_ai.response.finish_reasons": [call.finish_reason] if call.finish_reason else None,
        "gen_ai.usage.input_tokens": len(call.spec.prompt_token_ids),
        "gen_ai.usage.output_tokens": tokens,
        "gen_ai.usage.cache_read.input_tokens": seen.cached_tokens if ran else None,
        "inferometer.tokens_source": "reported",
        "inferometer.status": call.status,
        "error.type": _error_type(call),
        "http.response.status_code": _HTTP_STATUS[call.status],
        "inferometer.token_timeline": pack_timeline(seen.events) if seen.events else None,
        "inferometer.mean_logprob": seen.logprob_sum / tokens if tokens else None,
        "inferometer.mean_entropy": seen.entropy_sum / tokens if tokens else None,
    }


def _error_type(call: Call) -> str | None:
    return {"rejected": "queue_full", "error": "engine_error", "timeout": "timeout"}.get(
        call.status
    )


def _phases(call: Call) -> dict[str, Value | None]:
    seen = call.measured
    return {
        "inferometer.queue_us": _us(call.arrived_ns, seen.scheduled_ns),
        "inferometer.ttft_us": _us(call.arrived_ns, seen.first_token_ns),
        "inferometer.prefill_us": _us(seen.scheduled_ns, seen.first_token_ns),
        "inferometer.decode_us": _us(seen.first_token_ns, seen.last_token_ns),
        "inferometer.preempted_us": seen.preempted_ns // 1000,
    }


def _execution(call: Call) -> dict[str, Value | None]:
    seen = call.measured
    return {
        "inferometer.busy_us": seen.busy_us,
        "inferometer.batch_mean": seen.batch_sum / seen.steps if seen.steps else None,
        "inferometer.preemptions": seen.preemptions,
        "inferometer.drafted_tokens": 0,
        "inferometer.accepted_tokens": 0,
        "inferometer.first_step": seen.first_step,
        "inferometer.last_step": seen.last_step,
        "inferometer.prefix_hashes": call.prefix_hashes or None,
    }


def figures_of(call: Call) -> CallFigures:
    """What an ended call adds to the metrics."""
    seen = call.measured
    return CallFigures(
        finished_reason={"ok": call.finish_reason, "error": "error"}.get(call.status, "abort"),
        prompt_tokens=len(call.spec.prompt_token_ids),
        output_tokens=call.output_tokens,
        max_tokens=call.spec.max_tokens,
        num_choices=call.spec.labels.num_choices,
        e2e_s=((seen.ended_ns or call.arrived_ns) - call.arrived_ns) / 1e9,
        queue_s=_seconds(call.arrived_ns, seen.scheduled_ns),
        prefill_s=_seconds(seen.scheduled_ns, seen.first_token_ns),
        decode_s=_seconds(seen.first_token_ns, seen.last_token_ns),
    )


def _us(start_ns: int | None, end_ns: int | None) -> int | None:
    return None if start_ns is None or end_ns is None else (end_ns - start_ns) // 1000


def _seconds(start_ns: int | None, end_ns: int | None) -> float | None:
    return None if start_ns is None or end_ns is None else (end_ns - start_ns) / 1e9
