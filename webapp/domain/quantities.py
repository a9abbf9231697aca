"""Usage as each provider reports it, as inclusive token counts.

OpenAI counts cached tokens inside the prompt and reasoning inside the completion; Anthropic counts
cache reads and writes beside the input; Gemini counts thoughts beside the candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webapp.domain.pricing import Usage

Raw = Mapping[str, Any]


class BadUsage(ValueError):
    """A usage object that is none; the message says what was expected."""


def usage_of(raw: Raw) -> Usage:
    """Inclusive counts of a usage object in whichever provider's shape."""
    if "promptTokenCount" in raw or "candidatesTokenCount" in raw:
        return _gemini(raw)
    if "inputTokens" in raw or "outputTokens" in raw:
        return _bedrock(raw)
    if "cache_read_input_tokens" in raw or "cache_creation_input_tokens" in raw:
        return _anthropic(raw)
    if "prompt_tokens" in raw or "completion_tokens" in raw:
        return _openai(raw, "prompt_tokens", "completion_tokens")
    if "input_tokens" in raw or "output_tokens" in raw:
        return _openai(raw, "input_tokens", "output_tokens")
    raise BadUsage(
        "The usage holds no token counts; send it as the provider returned it, "
        'for example {"prompt_tokens": 10, "completion_tokens": 5}.'
    )


def _openai(raw: Raw, inputs: str, outputs: str) -> Usage:
    into, out = _table(raw, f"{inputs}_details"), _table(raw, f"{outputs}_details")
    cached = _count(into, "cached_tokens")
    if cached is None:
        cached = _count(raw, "prompt_cache_hit_tokens")  # DeepSeek
    text, image = _count(out, "text_tokens"), _count(out, "image_tokens")
    output = _count(raw, outputs)
    if image is None and text is None and "image_tokens" in into and output is not None:
        image = output  # an image model that makes images only
    return Usage(
        input=_count(raw, inputs),
        cached_input=cached,
        cache_write=_count(into, "cache_write_tokens"),
        output=output,
        reasoning=_count(out, "reasoning_tokens"),
        audio_input=_count(into, "audio_tokens"),
        audio_output=_count(out, "audio_tokens"),
        image_input=_count(into, "image_tokens"),
        image_output=image,
    )


def _anthropic(raw: Raw) -> Usage:
    read = _count(raw, "cache_read_input_tokens") or 0
    written = _count(raw, "cache_creation_input_tokens") or 0
    one_hour = _count(_table(raw, "cache_creation"), "ephemeral_1h_input_tokens")
    beside = _count(raw, "input_tokens")
    return Usage(
        input=None if beside is None else beside + read + written,
        cached_input=read,
        cache_write=written,
        cache_write_1h=one_hour,
        output=_count(raw, "output_tokens"),
    )


def _gemini(raw: Raw) -> Usage:
    made, thoughts = _count(raw, "candidatesTokenCount"), _count(raw, "thoughtsTokenCount")
    tools = _count(raw, "toolUsePromptTokenCount") or 0
    prompt = _count(raw, "promptTokenCount")
    output = None if made is None and thoughts is None else (made or 0) + (thoughts or 0)
    return Usage(
        input=None if prompt is None else prompt + tools,
        cached_input=_count(raw, "cachedContentTokenCount"),
        output=output,
        reasoning=thoughts,
    )


def _bedrock(raw: Raw) -> Usage:
    read = _count(raw, "cacheReadInputTokens") or 0
    written = _count(raw, "cacheWriteInputTokens") or 0
    beside = _count(raw, "inputTokens")
    return Usage(
        input=None if beside is None else beside + read + written,
        cached_input=read,
        cache_write=written,
        output=_count(raw, "outputTokens"),
    )


def _table(raw: Raw, name: str) -> Raw:
    found = raw.get(name)
    return found if isinstance(found, Mapping) else {}


def _count(raw: Raw, name: str) -> int | None:
    value = raw.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadUsage(f"{name} must be a whole number of at least 0, not {value!r}.")
    return value
