"""The shapes of OpenAI answers: whole, chunk by chunk, and errors. Plain dictionaries."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.call import Done

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "invalid_request_error",
    405: "invalid_request_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    429: "rate_limit_error",
}


@dataclass(frozen=True)
class Envelope:
    """What every part of one answer repeats."""

    response_id: str
    created: int
    model: str
    chat: bool

    def chunk(
        self, index: int, text: str, finish_reason: str | None, *, role: bool = False
    ) -> dict[str, Any]:
        """One streamed piece of choice `index`."""
        choice: dict[str, Any] = {"index": index, "logprobs": None, "finish_reason": finish_reason}
        if self.chat:
            choice["delta"] = {"role": "assistant", "content": ""} if role else {"content": text}
        else:
            choice["text"] = text
        return self._around("chat.completion.chunk" if self.chat else "text_completion", [choice])

    def usage_chunk(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        """The last chunk of a stream that asked for usage."""
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        return {**self._around(kind, []), "usage": usage}

    def whole(self, texts: Sequence[str], done: Sequence[Done], num_choices: int) -> dict[str, Any]:
        """An answer in one piece."""
        choices = [
            self._choice(index, text, last.finish_reason)
            for index, (text, last) in enumerate(zip(texts, done, strict=True))
        ]
        kind = "chat.completion" if self.chat else "text_completion"
        return {**self._around(kind, choices), "usage": usage_of(done, num_choices)}

    def _choice(self, index: int, text: str, finish_reason: str) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": index, "logprobs": None, "finish_reason": finish_reason}
        if self.chat:
            choice["message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        return choice

    def _around(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self.response_id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        }


def envelope(response_id: str, model: str, *, chat: bool) -> Envelope:
    return Envelope(response_id, int(time.time()), model, chat)


def usage_of(done: Sequence[Done], num_choices: int) -> dict[str, Any]:
    """Tokens of a whole answer; a prompt counts once however many choices it had."""
    prompts = done[::num_choices]
    prompt_tokens = sum(last.prompt_tokens for last in prompts)
    cached = sum(last.cached_tokens for last in prompts)
    return usage(prompt_tokens, sum(last.output_tokens for last in done), cached)


def usage(prompt_tokens: int, output_tokens: int, cached_tokens: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": prompt_tokens + output_tokens,
    }
    if cached_tokens is not None:
        found["prompt_tokens_details"] = {"cached_tokens": cached_tokens}
    return found


def error_body(
    message: str, status: int, *, param: str | None = None, code: str | None = None
) -> dict[str, Any]:
    return {
        "error": {
            "message": message,
            "type": _ERROR_TYPES.get(status, "server_error"),
            "param": param,
            "code": code,
        }
    }


def event(data: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


DONE_EVENT = b"data: [DONE]\n\n"
