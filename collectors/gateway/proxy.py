"""The streaming reverse proxy: passes each byte on as it comes, and leaves a span for each call."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import AsyncIterator, Callable, Mapping

import httpx
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from collectors.gateway.passage import Passage, operation_of
from collectors.gateway.targets import Target, Targets
from collectors.record import SpanRecord

_REFRESH_S = 10.0
_LARGEST_BODY = 32 << 20
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
# Headers of one connection, and those httpx writes itself.
_HOP = {
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
    "transfer-encoding", "upgrade", "host", "content-length", "expect",
}  # fmt: skip
_OWN_KEY = "x-inferometer-key"
_TIMEOUT = httpx.Timeout(600.0, connect=5.0, pool=60.0)


class Gateway:
    """`/SERVER/path` to the server's base URL and back. Without a key anybody may call."""

    def __init__(
        self, targets: Targets, keep: Callable[[SpanRecord], None], *, key: str = ""
    ) -> None:
        self._targets = targets
        self._keep = keep
        self._key = key
        self._limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)

    def app(self) -> Starlette:
        return Starlette(
            lifespan=self._lifespan,
            routes=[
                Route("/health", self.health),
                Route("/{server}/{path:path}", self.forward, methods=_METHODS),
            ],
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with httpx.AsyncClient(timeout=_TIMEOUT, limits=self._limits) as self._client:
            await self._targets.refresh(self._client)
            refreshing = asyncio.create_task(self._refresh_forever())
            yield
            refreshing.cancel()

    async def _refresh_forever(self) -> None:
        while True:
            await asyncio.sleep(_REFRESH_S)
            await self._targets.refresh(self._client)

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok", "servers": self._targets.names()})

    async def forward(self, request: Request) -> Response:
        if not self._allowed(request.headers):
            return _refusal(401, "Send the gateway's key as X-Inferometer-Key or as a bearer key.")
        target = await self._target(request.path_params["server"])
        if target is None:
            known = ", ".join(self._targets.names()) or "none"
            return _refusal(404, f"No server of this name is registered; known: {known}.")
        path = request.path_params["path"]
        operation = operation_of(request.method, path)
        passage = Passage(target, operation, request.headers) if operation else None
        try:
            body = await _body(request)
        except ClientDisconnect:
            return Response(status_code=499)
        if body is None:
            return _refusal(413, f"The body is larger than the {_LARGEST_BODY} bytes allowed.")
        if passage:
            passage.asked(body)
        return await self._send(request, target.url(path), body, passage)

    async def _send(
        self, request: Request, url: str, body: bytes, passage: Passage | None
    ) -> Response:
        headers = self._headers(request.headers, passage)
        upstream = self._client.build_request(
            request.method, url, params=request.query_params, headers=headers, content=body
        )
        try:
            answer = await self._client.send(upstream, stream=True)
        except httpx.TimeoutException:
            return self._unreached(passage, 504, "did not answer in time", url)
        except httpx.HTTPError as error:
            return self._unreached(passage, 502, f"failed ({type(error).__name__})", url)
        if passage:
            passage.answered(answer.status_code, answer.headers.get("content-type", ""))
        return _Passing(answer, passage, self._keep)

    def _unreached(self, passage: Passage | None, status: int, what: str, url: str) -> Response:
        sentence = f"The server behind {httpx.URL(url).host} {what}; see whether it is up."
        if passage:
            self._keep(passage.record("timeout" if status == 504 else "error", sentence))
        return _refusal(status, sentence)

    async def _target(self, name: str) -> Target | None:
        found = self._targets.get(name)
        if found is None:
            # It may have been registered a moment ago.
            await self._targets.refresh(self._client)
            found = self._targets.get(name)
        return found

    def _allowed(self, headers: Mapping[str, str]) -> bool:
        if not self._key:
            return True
        bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
        given = headers.get(_OWN_KEY) or bearer
        return hmac.compare_digest(given.encode(), self._key.encode())

    def _headers(self, headers: Mapping[str, str], passage: Passage | None) -> dict[str, str]:
        passed = {name: value for name, value in headers.items() if name not in _HOP}
        # Compressed answers could not be read on their way.
        passed["accept-encoding"] = "identity"
        own = passed.pop(_OWN_KEY, None)
        if self._key and own is None:
            passed.pop("authorization", None)  # it was the gateway's key, not the upstream's
        if passage:
            passed["traceparent"] = passage.traceparent
        return passed


class _Passing(StreamingResponse):
    """The upstream's answer, ended together with the client, whoever goes first."""

    def __init__(
        self,
        answer: httpx.Response,
        passage: Passage | None,
        keep: Callable[[SpanRecord], None],
    ) -> None:
        headers = {k: v for k, v in answer.headers.items() if k not in _HOP}
        if "content-length" in answer.headers:
            headers["content-length"] = answer.headers["content-length"]
        if passage:
            headers["X-Inferometer-Call"] = f"{passage.trace_id}-{passage.span_id}"
        super().__init__(self._chunks(), status_code=answer.status_code, headers=headers)
        self._answer = answer
        self._passage = passage
        self._keep = keep
        self._complete = False
        self._broken: str | None = None

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._answer.aiter_raw():
                if self._passage:
                    self._passage.passed(chunk)
                yield chunk
        except httpx.HTTPError as error:
            # Headers are out: all that is left is to end early, as the upstream did.
            self._broken = f"The server broke off its answer ({type(error).__name__})."
            raise
        self._complete = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except httpx.HTTPError:
            return
        finally:
            await self._answer.aclose()
            if self._passage:
                self._keep(self._record(self._passage))

    def _record(self, passage: Passage) -> SpanRecord:
        if self._broken:
            return passage.record("error", self._broken)
        return passage.record("ok" if self._complete else "cancelled")


async def _body(request: Request) -> bytes | None:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > _LARGEST_BODY:
            return None
        parts.append(part)
    return b"".join(parts)


def _refusal(status: int, sentence: str) -> Response:
    return JSONResponse(
        {"error": {"message": sentence, "type": "gateway_error", "code": status}},
        status_code=status,
    )
