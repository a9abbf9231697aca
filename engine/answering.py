"""One HTTP request's calls: submitted together, listened to, answered whole or as a stream, and
cancelled when the client goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from engine.call import Admitted, Call, Done, Output, Refused, Text
from engine.engine import Engine
from engine.openai_answers import DONE_EVENT, Envelope, error_body, event, usage, usage_of
from engine.openai_requests import Ask


class QueueFull(Exception):
    """The engine took none of the calls; `retry_after_s` says when to try again."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__("the waiting queue is full")
        self.retry_after_s = retry_after_s


class AnswerFailed(Exception):
    """A call ended without an answer."""

    def __init__(self, done: Done) -> None:
        super().__init__(done.error or "The answer was cut short.")
        self.status = 500 if done.status == "error" else 503


class Answer:
    """The calls of one HTTP request. Belongs to one event loop."""

    def __init__(self, engine: Engine, ask: Ask) -> None:
        self._engine = engine
        self._ask = ask
        self._loop = asyncio.get_running_loop()
        self._mail: asyncio.Queue[tuple[int, Output]] = asyncio.Queue()
        self._done: dict[int, Done] = {}
        self._calls: list[Call] = []

    @property
    def call_ids(self) -> list[str]:
        return [call.call_id for call in self._calls]

    async def submit(self) -> None:
        """Queue every call; raises QueueFull, having cancelled the rest, if one is refused."""
        for index, spec in enumerate(self._ask.specs):
            self._calls.append(self._engine.submit(spec, self._listener(index)))
        try:
            await self._admission()
        except BaseException:
            self.cancel()
            raise

    async def _admission(self) -> None:
        outcomes = 0
        refused: Refused | None = None
        kept: list[tuple[int, Output]] = []
        while outcomes < len(self._calls):
            index, output = await self._mail.get()
            if isinstance(output, Refused):
                refused, outcomes = output, outcomes + 1
            elif isinstance(output, Admitted):
                outcomes += 1
            else:
                kept.append((index, output))
        if refused:
            raise QueueFull(refused.retry_after_s)
        for item in kept:
            self._mail.put_nowait(item)

    def cancel(self) -> None:
        """Stop every call that has not ended; harmless for those that have."""
        for index, call in enumerate(self._calls):
            if index not in self._done:
                self._engine.cancel(call)

    async def whole(self, form: Envelope) -> dict[str, Any]:
        """The complete answer, once every choice is done."""
        texts = [""] * len(self._calls)
        async for index, output in self._outputs():
            texts[index] += output.text
            if isinstance(output, Done) and output.status != "ok":
                raise AnswerFailed(output)
        return form.whole(texts, self._in_order(), self._ask.num_choices)

    async def stream(self, form: Envelope) -> AsyncIterator[bytes]:
        """Server-sent events, one for each output event."""
        started: set[int] = set()
        async for index, output in self._outputs():
            if isinstance(output, Done) and output.status != "ok":
                failed = AnswerFailed(output)
                yield event(error_body(str(failed), failed.status)) + DONE_EVENT
                return
            yield self._events(form, index, output, first=index not in started)
            started.add(index)
        if self._ask.include_usage:
            yield event(form.usage_chunk(usage_of(self._in_order(), self._ask.num_choices)))
        yield DONE_EVENT

    async def _outputs(self) -> AsyncIterator[tuple[int, Text | Done]]:
        while len(self._done) < len(self._calls):
            index, output = await self._mail.get()
            if isinstance(output, Done):
                self._done[index] = output
            if isinstance(output, Text | Done):
                yield index, output

    def _events(self, form: Envelope, index: int, output: Text | Done, *, first: bool) -> bytes:
        """The role goes out together with the first token, and not before."""
        finish_reason = output.finish_reason if isinstance(output, Done) else None
        chunks = []
        if first and form.chat:
            chunks.append(form.chunk(index, "", None, role=True))
        if output.text or finish_reason:
            chunks.append(form.chunk(index, output.text, finish_reason))
        if self._ask.continuous_usage:
            prompt_tokens = len(self._calls[index].spec.prompt_token_ids)
            so_far = usage(prompt_tokens, output.output_tokens, None)
            chunks = [{**chunk, "usage": so_far} for chunk in chunks]
        return b"".join(event(chunk) for chunk in chunks)

    def _in_order(self) -> list[Done]:
        return [self._done[index] for index in range(len(self._calls))]

    def _listener(self, index: int) -> Any:
        def deliver(output: Output) -> None:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._mail.put_nowait, (index, output))

        return deliver
