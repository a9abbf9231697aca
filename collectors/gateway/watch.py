"""What one answer says, read beside the client: output events with their times, usage, its end.

Understands the OpenAI shapes (vLLM, SGLang, llama.cpp, TGI, providers), TGI's own `/generate` and
Ollama's `/api`. Times are microseconds since the request arrived.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_OUTPUT_FIELDS = ("content", "reasoning_content", "reasoning", "refusal")
_FINISHED = "done"


@dataclass
class Watch:
    """Fills while an answer passes. Absent is None, never 0."""

    response_model: str | None = None
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    finish_reason: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    prefill_us: int | None = None
    decode_us: int | None = None
    events: list[tuple[int, int]] = field(default_factory=list)
    _logprobs: list[float] = field(default_factory=list)

    @property
    def ttft_us(self) -> int | None:
        return self.events[0][0] if self.events else None

    @property
    def mean_logprob(self) -> float | None:
        return sum(self._logprobs) / len(self._logprobs) if self._logprobs else None

    def timeline(self) -> list[tuple[int, int]]:
        """Events with their tokens, 0 where unknown. As many events as tokens means one each."""
        if self.output_tokens == len(self.events) and not any(n for _, n in self.events):
            return [(at, 1) for at, _ in self.events]
        return self.events

    def see(self, found: Mapping[str, Any], at_us: int) -> None:
        """Take in one object of a stream, or a whole answer."""
        if found.get("error"):
            self._failed(found)
        model = found.get("model")
        if isinstance(model, str) and model:
            self.response_model = model
        if isinstance(found.get("token"), dict):
            self._tgi(found, at_us)
        elif _FINISHED in found:
            self._ollama(found, at_us)
        else:
            self._openai(found, at_us)

    def _failed(self, found: Mapping[str, Any]) -> None:
        error = found["error"]
        if isinstance(error, dict):
            kind = error.get("type") or error.get("code")
            message = error.get("message")
        else:
            kind, message = found.get("error_type"), error
        self.error_type = str(kind or "error")
        self.error_message = None if message is None else str(message)[:500]

    def _openai(self, found: Mapping[str, Any], at_us: int) -> None:
        before = self.output_tokens or 0
        self._usage(found.get("usage"))
        choices = found.get("choices")
        made = False
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                made = _has_output(choice) or made
                if isinstance(choice.get("finish_reason"), str):
                    self.finish_reason = choice["finish_reason"]
        self._timings(found.get("timings"))
        if made:
            # Usage in every chunk is cumulative: the difference is this chunk's tokens, exactly.
            counted = (self.output_tokens or 0) - before if found.get("usage") else 0
            self.events.append((at_us, max(counted, 0)))

    def _usage(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        self.input_tokens = _count(usage, "prompt_tokens", "input_tokens", self.input_tokens)
        self.output_tokens = _count(usage, "completion_tokens", "output_tokens", self.output_tokens)
        for name in ("prompt_tokens_details", "input_tokens_details"):
            self.cached_input_tokens = _count(
                usage.get(name), "cached_tokens", "", self.cached_input_tokens
            )
        for name in ("completion_tokens_details", "output_tokens_details"):
            self.reasoning_tokens = _count(
                usage.get(name), "reasoning_tokens", "", self.reasoning_tokens
            )

    def _timings(self, timings: Any) -> None:
        """llama.cpp: `prompt_n` leaves out what was cached."""
        if not isinstance(timings, dict):
            return
        cached, computed = timings.get("cache_n"), timings.get("prompt_n")
        if isinstance(cached, int) and isinstance(computed, int):
            self.cached_input_tokens = cached
            self.input_tokens = self.input_tokens or cached + computed
        self.output_tokens = self.output_tokens or _count(timings, "predicted_n", "", None)
        self.prefill_us = _scaled(timings.get("prompt_ms"), 1000)
        self.decode_us = _scaled(timings.get("predicted_ms"), 1000)

    def _tgi(self, found: Mapping[str, Any], at_us: int) -> None:
        self.events.append((at_us, 1))
        logprob = found["token"].get("logprob")
        if isinstance(logprob, int | float):
            self._logprobs.append(float(logprob))
        details = found.get("details")
        if isinstance(details, dict):
            self.finish_reason = details.get("finish_reason")
            self.output_tokens = _count(details, "generated_tokens", "", None)
            self.input_tokens = _count(details, "input_length", "", self.input_tokens)

    def _ollama(self, found: Mapping[str, Any], at_us: int) -> None:
        message = found.get("message")
        text = message if isinstance(message, dict) else {"content": found.get("response")}
        if _says_something(text):
            self.events.append((at_us, 0))
        if not found[_FINISHED]:
            return
        self.finish_reason = found.get("done_reason") or "stop"
        self.input_tokens = _count(found, "prompt_eval_count", "", self.input_tokens)
        self.output_tokens = _count(found, "eval_count", "", None)
        if self.finish_reason == "load":
            self.output_tokens = 0
        self.prefill_us = _scaled(found.get("prompt_eval_duration"), 1e-3)
        self.decode_us = _scaled(found.get("eval_duration"), 1e-3)


def _has_output(choice: Mapping[str, Any]) -> bool:
    """Whether a choice carries output; a role alone, or an empty piece, is none."""
    if choice.get("text"):
        return True
    for name in ("delta", "message"):
        part = choice.get(name)
        if isinstance(part, dict) and _says_something(part):
            return True
    return False


def _says_something(part: Mapping[str, Any]) -> bool:
    return any(part.get(name) for name in _OUTPUT_FIELDS) or bool(part.get("tool_calls"))


def _count(found: Any, name: str, other: str, before: int | None) -> int | None:
    if not isinstance(found, dict):
        return before
    value = found.get(name, found.get(other) if other else None)
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if whole else before


def _scaled(value: Any, factor: float) -> int | None:
    return round(value * factor) if isinstance(value, int | float) and value >= 0 else None
