"""The OpenAI-compatible HTTP server over one engine."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import math
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.answering import Answer, AnswerFailed, QueueFull
from engine.call import CallLabels
from engine.engine import Engine
from engine.fields import BadRequest
from engine.headers import labels_of, new_response_id
from engine.openai_answers import Envelope, envelope, error_body
from engine.openai_requests import Ask, RequestReader

_EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class ServerOptions:
    """How the HTTP side behaves. The first name is the one answers carry."""

    names: tuple[str, ...]
    api_key: str | None = None
    max_body_bytes: int = 4 << 20
    created: int = field(default_factory=lambda: int(time.time()))


def build_app(engine: Engine, options: ServerOptions) -> ASGIApp:
    """The application. Starting it starts the engine; stopping it shuts the engine down."""
    served = _Served(engine, options)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        engine.start()
        yield
        await asyncio.to_thread(engine.shutdown)

    return Starlette(
        lifespan=lifespan,
        routes=[
            Route("/v1/chat/completions", served.chat_completions, methods=["POST"]),
            Route("/v1/completions", served.completions, methods=["POST"]),
            Route("/v1/models", served.models),
            Route("/health", served.health),
            Route("/metrics", served.metrics),
        ],
        exception_handlers={
            BadRequest: _bad_request,
            QueueFull: _queue_full,
            AnswerFailed: _answer_failed,
            HTTPException: _http_error,
            ClientDisconnect: _client_gone,
        },
    )


class _Served:
    """The endpoints."""

    def __init__(self, engine: Engine, options: ServerOptions) -> None:
        self._engine = engine
        self._options = options
        config = engine.config
        self._reader = RequestReader(
            engine.loaded,
            names=options.names,
            max_model_len=config.max_model_len,
            max_prompt=config.max_model_len - 1,
        )

    async def chat_completions(self, request: Request) -> Response:
        return await self._answer(request, self._reader.chat)

    async def completions(self, request: Request) -> Response:
        return await self._answer(request, self._reader.completion)

    async def models(self, request: Request) -> Response:
        self._check_key(request)
        row = {
            "id": self._options.names[0],
            "object": "model",
            "created": self._options.created,
            "owned_by": "inferometer",
            "max_model_len": self._engine.config.max_model_len,
        }
        return JSONResponse({"object": "list", "data": [row]})

    async def health(self, request: Request) -> Response:
        if self._engine.alive:
            return JSONResponse({"status": "ok"})
        return JSONResponse({"status": "the engine is not running"}, status_code=503)

    async def metrics(self, request: Request) -> Response:
        return PlainTextResponse(self._engine.metrics_page(), media_type=_EXPOSITION)

    async def _answer(
        self, request: Request, read: Callable[[dict[str, Any], CallLabels], Ask]
    ) -> Response:
        arrived = time.monotonic_ns(), time.time_ns()
        self._check_key(request)
        body = await _json_body(request, self._options.max_body_bytes)
        chat = request.url.path.endswith("chat/completions")
        response_id = new_response_id(chat=chat)
        labels = labels_of(request.headers, response_id)
        # Templates and tokenizers take milliseconds on long prompts; other streams must not wait.
        ask = await asyncio.to_thread(read, body, labels)
        answer = Answer(self._engine, _stamped(ask, arrived))
        await answer.submit()
        form = envelope(response_id, self._options.names[0], chat=chat)
        headers = {"X-Request-Id": response_id, "X-Inferometer-Call": answer.call_ids[0]}
        if ask.stream:
            headers["Cache-Control"] = "no-cache"
            return _EventStream(answer, form, headers)
        return JSONResponse(await _unless_gone(request, answer, form), headers=headers)

    def _check_key(self, request: Request) -> None:
        key = self._options.api_key
        if key is None:
            return
        given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        if not hmac.compare_digest(given.encode(), key.encode()):
            raise BadRequest(
                "A valid API key is needed: send `Authorization: Bearer KEY`.",
                code="invalid_api_key",
                status=401,
            )


class _EventStream(StreamingResponse):
    """A stream whose calls end with it, also when it is abandoned before its first event."""

    def __init__(self, answer: Answer, form: Envelope, headers: dict[str, str]) -> None:
        super().__init__(answer.stream(form), media_type="text/event-stream", headers=headers)
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._answer.cancel()


async def _unless_gone(request: Request, answer: Answer, form: Envelope) -> dict[str, Any]:
    """The whole answer, unless the client hangs up first; then its calls are cancelled."""
    whole = asyncio.ensure_future(answer.whole(form))
    gone = asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait({whole, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not whole.done():
            raise ClientDisconnect
        return whole.result()
    finally:
        whole.cancel()
        gone.cancel()
        answer.cancel()


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _json_body(request: Request, max_bytes: int) -> dict[str, Any]:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > max_bytes:
            raise BadRequest(f"The body is larger than the {max_bytes} bytes allowed.", status=413)
        parts.append(part)
    try:
        body = json.loads(b"".join(parts))
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The body is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object.")
    return body


def _stamped(ask: Ask, arrived: tuple[int, int]) -> Ask:
    mono_ns, unix_ns = arrived
    specs = [replace(s, arrived_mono_ns=mono_ns, arrived_unix_ns=unix_ns) for s in ask.specs]
    return replace(ask, specs=tuple(specs))


def _problem(message: str, status: int, **rest: str | None) -> JSONResponse:
    return JSONResponse(error_body(message, status, **rest), status_code=status)


async def _bad_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, BadRequest)
    return _problem(error.message, error.status, param=error.param, code=error.code)


async def _queue_full(request: Request, error: Exception) -> Response:
    assert isinstance(error, QueueFull)
    seconds = max(math.ceil(error.retry_after_s), 1)
    answer = _problem(
        f"The waiting queue is full; try again in {seconds} s.", 429, code="queue_full"
    )
    answer.headers["Retry-After"] = str(seconds)
    return answer


async def _answer_failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnswerFailed)
    return _problem(str(error), error.status)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    where = f"{request.method} {request.url.path}"
    return _problem(f"{where}: {error.detail}.", error.status_code)


async def _client_gone(request: Request, error: Exception) -> Response:
    # Nobody reads this; the status is what an access log shows.
    return Response(status_code=499)
