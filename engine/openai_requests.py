"""OpenAI request bodies to calls: validation, chat template, tokens. Knows no HTTP."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.call import CallLabels, CallSpec
from engine.fields import BadRequest, Fields, is_token_list
from engine.loader import LoadedModel
from engine.sampler import SamplingParams

_ROLES = ("system", "developer", "user", "assistant", "tool")
_MOST_CHOICES = 16
_MOST_STOPS = 16
_MOST_PROMPTS = 64
_SEED_STEP = 0x9E3779B97F4A7C15

# Fields that would change the answer if they were obeyed, and the values that ask for nothing.
_NOT_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "repetition_penalty": (1,),
    "min_tokens": (0,),
    "min_p": (0,),
    "tools": ([],),
    "functions": ([],),
    "response_format": ({"type": "text"},),
    "audio": (),
    "echo": (False,),
    "suffix": ("",),
    "best_of": (1,),
}


@dataclass(frozen=True)
class Ask:
    """What one HTTP request wants: one spec a choice, and how to answer."""

    specs: tuple[CallSpec, ...]
    chat: bool
    stream: bool
    include_usage: bool
    continuous_usage: bool
    num_choices: int


class RequestReader:
    """Reads bodies for one served model."""

    def __init__(
        self, loaded: LoadedModel, *, names: Sequence[str], max_model_len: int, max_prompt: int
    ) -> None:
        self._tokenizer = loaded.tokenizer
        self._vocab_size = loaded.vocab_size
        self._names = tuple(names)
        self._max_model_len = max_model_len
        self._max_prompt = max_prompt

    def chat(self, body: Mapping[str, Any], labels: CallLabels) -> Ask:
        """Read a /v1/chat/completions body."""
        fields = Fields(body)
        self._check_model(fields)
        messages = _messages(fields)
        ask = self._common(fields, labels, chat=True)
        fields.check()
        prompt = self._encode(self._templated(messages), special=False)
        return self._with_prompts(ask, [prompt], default_max_tokens=None)

    def completion(self, body: Mapping[str, Any], labels: CallLabels) -> Ask:
        """Read a /v1/completions body."""
        fields = Fields(body)
        self._check_model(fields)
        prompts = self._prompts(fields)
        ask = self._common(fields, replace(labels, operation="text_completion"), chat=False)
        fields.check()
        encoded = [
            self._encode(prompt, special=True) if isinstance(prompt, str) else prompt
            for prompt in prompts
        ]
        return self._with_prompts(ask, encoded, default_max_tokens=16)

    def _check_model(self, fields: Fields) -> None:
        model = fields.text("model")
        if model is not None and model not in self._names:
            raise BadRequest(
                f"The model {model!r} is not served here; this server has {self._names[0]!r}.",
                param="model",
                code="model_not_found",
                status=404,
            )

    def _common(self, fields: Fields, labels: CallLabels, *, chat: bool) -> Ask:
        for name, neutral in _NOT_SUPPORTED.items():
            fields.only(name, neutral)
        stream = fields.boolean("stream")
        options = fields.table("stream_options")
        if fields.raw("stream_options") is not None and not stream:
            fields.problem("stream_options", "is only allowed when stream is true")
        include_usage = options.boolean("include_usage")
        continuous_usage = options.boolean("continuous_usage_stats")
        num_choices = fields.integer("n", 1, 1, _MOST_CHOICES) or 1
        seed = fields.integer("seed", None, -(1 << 63), (1 << 63) - 1)
        spec = CallSpec(
            prompt_token_ids=(),
            max_tokens=_max_tokens(fields) or 0,
            sampling=_sampling(fields, seed),
            stop=fields.strings("stop", most=_MOST_STOPS),
            stop_token_ids=fields.integers("stop_token_ids", high=self._vocab_size),
            ignore_eos=fields.boolean("ignore_eos"),
            priority=fields.integer("priority", 0, -(1 << 31), 1 << 31) or 0,
            labels=replace(
                labels,
                request_model=fields.text("model") or self._names[0],
                user_id=fields.text("user"),
                stream=stream,
                num_choices=num_choices,
                seed_asked=seed,
            ),
        )
        return Ask((spec,), chat, stream, include_usage, continuous_usage, num_choices)

    def _prompts(self, fields: Fields) -> list[str | list[int]]:
        value = fields.raw("prompt")
        if isinstance(value, str):
            return [value]
        if isinstance(value, list) and value and is_token_list(value, self._vocab_size):
            return [value]
        if isinstance(value, list) and 0 < len(value) <= _MOST_PROMPTS:
            if all(isinstance(item, str) for item in value):
                return value
            if all(
                isinstance(item, list) and is_token_list(item, self._vocab_size) for item in value
            ):
                return value
        fields.problem(
            "prompt",
            f"must be a string, a list of token ids, or a list of 1 to {_MOST_PROMPTS} of these",
        )
        return []

    def _templated(self, messages: list[dict[str, str]]) -> str:
        from jinja2 import TemplateError

        if not getattr(self._tokenizer, "chat_template", None):
            raise BadRequest(
                "This model has no chat template; use /v1/completions.", code="no_chat_template"
            )
        try:
            text: str = self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
        except TemplateError as error:
            raise BadRequest(
                f"The chat template does not accept these messages: {error}", param="messages"
            ) from error
        return text

    def _encode(self, text: str, *, special: bool) -> list[int]:
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        if backend is not None:
            # The compiled core is safe to share between threads; the wrapper around it is not.
            ids: list[int] = backend.encode(text, add_special_tokens=special).ids
            return ids
        return list(self._tokenizer.encode(text, add_special_tokens=special))

    def _with_prompts(
        self, ask: Ask, prompts: list[list[int]], *, default_max_tokens: int | None
    ) -> Ask:
        specs = []
        for prompt in prompts:
            max_tokens = self._room(prompt, ask.specs[0].max_tokens, default_max_tokens)
            for choice in range(ask.num_choices):
                sampling = ask.specs[0].sampling
                seed = sampling.seed + choice * _SEED_STEP
                specs.append(
                    replace(
                        ask.specs[0],
                        prompt_token_ids=prompt,
                        max_tokens=max_tokens,
                        sampling=replace(sampling, seed=seed),
                    )
                )
        return replace(ask, specs=tuple(specs))

    def _room(self, prompt: list[int], asked: int, default: int | None) -> int:
        """How many tokens may be made after `prompt`; `asked` 0 is not asked."""
        if not prompt:
            raise BadRequest("The prompt is empty.", param="prompt")
        longest = min(self._max_model_len - 1, self._max_prompt)
        if len(prompt) > longest:
            raise _too_long(f"The prompt has {len(prompt)} tokens; at most {longest} fit.")
        room = self._max_model_len - len(prompt)
        if asked > room:
            raise _too_long(
                f"The prompt has {len(prompt)} tokens and max_tokens is {asked}; "
                f"together at most {self._max_model_len} fit."
            )
        return asked or min(default or room, room)


def _too_long(message: str) -> BadRequest:
    return BadRequest(message, param="max_tokens", code="context_length_exceeded")


def _max_tokens(fields: Fields) -> int | None:
    newer = fields.integer("max_completion_tokens", None, 1)
    return newer or fields.integer("max_tokens", None, 1)


def _sampling(fields: Fields, seed: int | None) -> SamplingParams:
    top_p = fields.number("top_p", 1.0, 0.0, 1.0)
    if top_p == 0.0:
        fields.problem("top_p", "must be greater than 0")
    top_k = fields.integer("top_k", 0, -1, 1 << 31) or 0
    return SamplingParams(
        temperature=fields.number("temperature", 1.0, 0.0, 2.0),
        top_p=top_p,
        top_k=max(top_k, 0),
        seed=secrets.randbits(63) if seed is None else seed,
    )


def _messages(fields: Fields) -> list[dict[str, str]]:
    value = fields.raw("messages")
    if not isinstance(value, list) or not value:
        fields.problem("messages", "must be a non-empty list")
        return []
    return [_message(fields, f"messages[{i}]", item) for i, item in enumerate(value)]


def _message(fields: Fields, name: str, item: Any) -> dict[str, str]:
    if not isinstance(item, dict):
        fields.problem(name, "must be an object with role and content")
        return {}
    role = item.get("role")
    if role not in _ROLES:
        fields.problem(f"{name}.role", f"must be one of {', '.join(_ROLES)}")
    content = _content(item.get("content"))
    if content is None:
        fields.problem(f"{name}.content", "must be a string or a list of text parts")
    return {"role": "system" if role == "developer" else str(role), "content": content or ""}


def _content(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return None
    parts = [part.get("text") if isinstance(part, dict) else None for part in value]
    if not all(isinstance(part, str) for part in parts):
        return None
    return "".join(str(part) for part in parts)
