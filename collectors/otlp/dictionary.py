"""Every attribute name that is understood, of all convention generations at once, and its field.

OpenTelemetry GenAI up to 1.26, 1.27–1.36, 1.37–1.41 and the repository that followed it;
OpenInference; OpenLLMetry; the Vercel AI SDK; vLLM and SGLang; and our own `inferometer.*`. Where
several name one field, the first present in its list wins.
"""

from __future__ import annotations

TEXT: dict[str, tuple[str, ...]] = {
    "operation": ("gen_ai.operation.name", "llm.request.type"),
    "provider": ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system"),
    "request_model": (
        "gen_ai.request.model",
        "llm.request.model_name",
        "llm.model_name",
        "embedding.model_name",
        "ai.model.id",
    ),
    "response_model": ("gen_ai.response.model", "llm.response.model_name", "ai.response.model"),
    "session_id": (
        "gen_ai.conversation.id",
        "session.id",
        "langfuse.session.id",
        "traceloop.association.properties.session_id",
    ),
    "user_id": (
        "user.id",
        "enduser.id",
        "gen_ai.user",
        "llm.user",
        "gen_ai.request.user",
        "traceloop.association.properties.user_id",
    ),
    "team": ("inferometer.team", "traceloop.association.properties.team", "team"),
    "feature": ("inferometer.feature", "traceloop.association.properties.feature", "feature"),
    "environment": ("deployment.environment.name", "deployment.environment"),
    "server": ("inferometer.server",),
    "error_type": ("error.type", "exception.type"),
    "service_tier": (
        "openai.response.service_tier",
        "openai.request.service_tier",
        "gen_ai.openai.response.service_tier",
        "gen_ai.openai.request.service_tier",
    ),
    "processing": ("inferometer.processing",),
    "region": ("inferometer.region", "cloud.region"),
}
COUNTS: dict[str, tuple[str, ...]] = {
    "input_tokens": (
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
        "llm.usage.prompt_tokens",
        "ai.usage.inputTokens",
        "ai.usage.promptTokens",
    ),
    "output_tokens": (
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
        "llm.usage.completion_tokens",
        "ai.usage.outputTokens",
        "ai.usage.completionTokens",
    ),
    "total_tokens": (
        "gen_ai.usage.total_tokens",
        "llm.usage.total_tokens",
        "llm.token_count.total",
        "ai.usage.totalTokens",
    ),
    "cached_input_tokens": (
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.cache_read_tokens",
        "gen_ai.usage.cached_tokens",
        "gen_ai.usage.prompt_tokens_details.cached_tokens",
        "llm.token_count.prompt_details.cache_read",
        "llm.token_count.prompt_details.cache_input",
        "ai.usage.cachedInputTokens",
    ),
    "cache_write_tokens": (
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_write_tokens",
        "gen_ai.usage.prompt_tokens_details.cache_creation_tokens",
        "llm.token_count.prompt_details.cache_write",
    ),
    "reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.completion_tokens_details.reasoning_tokens",
        "llm.usage.reasoning_tokens",
        "llm.token_count.completion_details.reasoning",
        "ai.usage.reasoningTokens",
    ),
    "audio_input_tokens": (
        "gen_ai.usage.audio.input_tokens",
        "llm.token_count.prompt_details.audio",
    ),
    "audio_output_tokens": (
        "gen_ai.usage.audio.output_tokens",
        "llm.token_count.completion_details.audio",
    ),
    "image_input_tokens": ("gen_ai.usage.image.input_tokens",),
    "image_output_tokens": ("gen_ai.usage.image.output_tokens",),
    "http_status": ("http.response.status_code", "http.status_code"),
    "attempts": ("inferometer.attempts",),
    "queue_us": ("inferometer.queue_us",),
    "prefill_us": ("inferometer.prefill_us",),
    "decode_us": ("inferometer.decode_us",),
    "preempted_us": ("inferometer.preempted_us",),
    "ttft_us": ("inferometer.ttft_us",),
    "client_ttft_us": ("inferometer.client_ttft_us",),
    "busy_us": ("inferometer.busy_us",),
    "preemptions": ("inferometer.preemptions",),
    "drafted_tokens": ("inferometer.drafted_tokens",),
    "accepted_tokens": ("inferometer.accepted_tokens",),
}
# Latencies that come in seconds, or in milliseconds, and are kept in microseconds.
SECONDS: dict[str, tuple[str, ...]] = {
    "queue_us": ("gen_ai.latency.time_in_queue",),
    "prefill_us": ("gen_ai.latency.time_in_model_prefill",),
    "decode_us": ("gen_ai.latency.time_in_model_decode",),
    "ttft_us": ("gen_ai.server.time_to_first_token", "gen_ai.latency.time_to_first_token"),
    "client_ttft_us": ("gen_ai.response.time_to_first_chunk",),
}
MILLISECONDS: dict[str, tuple[str, ...]] = {
    "client_ttft_us": ("ai.response.msToFirstChunk", "ai.stream.msToFirstChunk"),
}
NUMBERS: dict[str, tuple[str, ...]] = {
    "batch_mean": ("inferometer.batch_mean",),
    "mean_logprob": ("inferometer.mean_logprob",),
    "mean_entropy": ("inferometer.mean_entropy",),
    "repetition": ("inferometer.repetition",),
}
COSTS = (
    "gen_ai.usage.cost",
    "llm.cost.total",
    "langfuse.observation.cost_details",
    "_signoz.gen_ai.total_cost",
)
FINISH = (
    "gen_ai.response.finish_reasons",
    "gen_ai.response.finish_reason",
    "gen_ai.response.stop_reason",
    "llm.response.finish_reason",
    "llm.finish_reason",
    "ai.response.finishReason",
)
# Read by their own rules.
SPECIAL = (
    "inferometer.source",
    "inferometer.status",
    "inferometer.tokens_source",
    "inferometer.token_timeline",
    "inferometer.prefix_hashes",
    "inferometer.refusal",
    "openinference.span.kind",
    "traceloop.span.kind",
    "ai.operationId",
    "tag.tags",
)
TAG_PREFIX = "inferometer.tag."
# What a prompt or an answer says; kept only where a project asks for it.
CONTENT = frozenset(
    {
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.tool.definitions",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "gen_ai.tool.input",
        "gen_ai.tool.output",
        "gen_ai.tool.args",
        "gen_ai.prompt",
        "gen_ai.completion",
        "input.value",
        "output.value",
        "traceloop.entity.input",
        "traceloop.entity.output",
        "tool.parameters",
        "langfuse.observation.input",
        "langfuse.observation.output",
    }
)
CONTENT_PREFIXES = (
    "gen_ai.prompt.",
    "gen_ai.completion.",
    "llm.input_messages.",
    "llm.output_messages.",
    "llm.prompts",
    "llm.completions",
    "ai.prompt",
    "ai.response.text",
    "ai.response.object",
    "ai.response.toolCalls",
    "ai.toolCall.",
    "retrieval.documents",
)
PROVIDERS = {
    "vertex_ai": "gcp.vertex_ai",
    "gemini": "gcp.gemini",
    "az.ai.openai": "azure.ai.openai",
    "az.ai.inference": "azure.ai.inference",
    "xai": "x_ai",
    "mistralai": "mistral_ai",
}
OPERATION_KINDS = {
    "chat": "llm",
    "completion": "llm",
    "generate_content": "llm",
    "text_completion": "llm",
    "llm_request": "llm",
    "embeddings": "embedding",
    "embedding": "embedding",
    "execute_tool": "tool",
    "execute_task": "other",
    "retrieval": "retrieval",
    "rerank": "retrieval",
    "vector_db_retrieve": "retrieval",
    "create_agent": "agent",
    "invoke_agent": "agent",
    "invoke_workflow": "agent",
    "plan": "agent",
}
# OpenInference and OpenLLMetry, both lower-case.
SPAN_KINDS = {
    "llm": "llm",
    "embedding": "embedding",
    "tool": "tool",
    "agent": "agent",
    "workflow": "agent",
    "retriever": "retrieval",
    "reranker": "retrieval",
    "guardrail": "guard",
    "chain": "other",
    "task": "other",
    "evaluator": "other",
    "prompt": "other",
    "unknown": "other",
}


def _known() -> frozenset[str]:
    names = {*COSTS, *FINISH, *SPECIAL}
    for table in (TEXT, COUNTS, SECONDS, MILLISECONDS, NUMBERS):
        for accepted in table.values():
            names.update(accepted)
    return frozenset(names)


KNOWN = _known()
