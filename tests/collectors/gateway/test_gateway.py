"""The gateway between a real client and a real upstream, over real ports."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from collectors.exporter import Exporter
from collectors.gateway.proxy import Gateway
from collectors.gateway.targets import Targets
from collectors.otlp import decode_traces
from collectors.record import SpanRecord
from collectors.spool import Spool

FIXTURES = Path(__file__).parents[2] / "fixtures" / "streams"
PLAIN = [
    json.loads(line)["s"].encode()
    for line in (FIXTURES / "openai-plain.jsonl").read_text().splitlines()
]


class Upstream:
    """A server that streams recorded reads, and notes what it was sent and who left."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.left = threading.Event()
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self.chat, methods=["POST"]),
                Route("/v1/models", self.models),
            ]
        )

    async def chat(self, request: Request) -> Response:
        self.headers.append(dict(request.headers))
        body = await request.json()
        if body["model"] == "busy":
            return JSONResponse({"error": {"message": "full", "type": "overloaded"}}, 429)
        if not body.get("stream"):
            usage = {"prompt_tokens": 5, "completion_tokens": 2}
            choice = {"message": {"content": "hi"}, "finish_reason": "stop"}
            return JSONResponse({"model": "m", "choices": [choice], "usage": usage})
        endless = body["model"] == "endless"
        return StreamingResponse(self._reads(endless=endless), media_type="text/event-stream")

    async def models(self, request: Request) -> Response:
        return JSONResponse({"data": [{"id": "m"}]})

    async def _reads(self, *, endless: bool) -> AsyncIterator[bytes]:
        try:
            for read in PLAIN[:2] * 1000 if endless else PLAIN:
                yield read
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            self.left.set()
            raise


def served(app: Starlette) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def upstream() -> Iterator[tuple[Upstream, str]]:
    one = Upstream()
    for url in served(one.app):
        yield one, url


@pytest.fixture
def records() -> list[SpanRecord]:
    return []


@pytest.fixture
def gateway(upstream: tuple[Upstream, str], records: list[SpanRecord]) -> Iterator[httpx.Client]:
    targets = Targets({"one": upstream[1], "gone": "http://127.0.0.1:9"})
    for url in served(Gateway(targets, records.append, key="k").app()):
        with httpx.Client(base_url=url, timeout=20, headers={"X-Inferometer-Key": "k"}) as client:
            yield client


def only(records: list[SpanRecord]) -> SpanRecord:
    end = time.monotonic() + 10
    while not records and time.monotonic() < end:
        time.sleep(0.01)
    (record,) = records
    return record


def body(model: str = "m", **rest: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "x"}], **rest}


def test_stream_passes_unchanged_and_leaves_a_timed_span(
    gateway: httpx.Client, records: list[SpanRecord]
) -> None:
    answer = gateway.post(
        "/one/v1/chat/completions",
        json=body(stream=True, user="u"),
        headers={"X-Inferometer-Team": "search"},
    )
    assert answer.content == b"".join(PLAIN)
    record = only(records)
    assert (record.status, record.output_tokens, record.finish_reason) == ("ok", 4, "stop")
    assert (record.team, record.user_id, record.server) == ("search", "u", "one")
    assert record.client_ttft_us is not None
    assert record.ttft_us is None
    assert record.token_timeline is not None
    assert answer.headers["X-Inferometer-Call"] == f"{record.trace_id}-{record.span_id}"


def test_whole_answer_has_usage_and_no_timeline(
    gateway: httpx.Client, records: list[SpanRecord]
) -> None:
    answer = gateway.post("/one/v1/chat/completions", json=body())
    assert answer.json()["usage"]["completion_tokens"] == 2
    record = only(records)
    assert (record.input_tokens, record.output_tokens) == (5, 2)
    assert record.client_ttft_us is None
    assert record.token_timeline is None


def test_trace_goes_through(
    gateway: httpx.Client, upstream: tuple[Upstream, str], records: list[SpanRecord]
) -> None:
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    headers = {"traceparent": f"00-{trace}-{parent}-01", "Authorization": "Bearer upstream's"}
    gateway.post("/one/v1/chat/completions", json=body(), headers=headers)
    record = only(records)
    assert (record.trace_id, record.parent_span_id) == (trace, parent)
    seen = upstream[0].headers[0]
    assert seen["traceparent"] == f"00-{trace}-{record.span_id}-01"
    assert seen["authorization"] == "Bearer upstream's"
    assert "x-inferometer-key" not in seen


def test_refusal_of_the_upstream_is_passed_on_and_recorded(
    gateway: httpx.Client, records: list[SpanRecord]
) -> None:
    answer = gateway.post("/one/v1/chat/completions", json=body("busy"))
    assert answer.status_code == 429
    record = only(records)
    assert (record.status, record.http_status, record.error_type) == (
        "rejected",
        429,
        "overloaded",
    )


def test_client_that_leaves_ends_the_upstream_and_is_recorded(
    gateway: httpx.Client, upstream: tuple[Upstream, str], records: list[SpanRecord]
) -> None:
    with gateway.stream(
        "POST", "/one/v1/chat/completions", json=body("endless", stream=True)
    ) as answer:
        next(answer.iter_lines())
    assert upstream[0].left.wait(10)
    assert only(records).status == "cancelled"


def test_server_that_is_down_is_a_502_and_an_error_span(
    gateway: httpx.Client, records: list[SpanRecord]
) -> None:
    answer = gateway.post("/gone/v1/chat/completions", json=body())
    assert answer.status_code == 502
    record = only(records)
    assert (record.status, record.error_type, record.http_status) == ("error", "unreachable", None)


def test_what_is_no_call_passes_without_a_span(
    gateway: httpx.Client, records: list[SpanRecord]
) -> None:
    assert gateway.get("/one/v1/models").json()["data"][0]["id"] == "m"
    assert records == []


def test_unknown_server_and_wrong_key_are_refused(
    gateway: httpx.Client, records: list[SpanRecord]
) -> None:
    assert "one" in gateway.get("/two/v1/models").json()["error"]["message"]
    refused = gateway.get("/one/v1/models", headers={"X-Inferometer-Key": "wrong"})
    assert refused.status_code == 401
    assert records == []


def test_spans_wait_on_disk_until_they_are_taken(tmp_path: Path) -> None:
    taken: list[SpanRecord] = []
    answers = [503, 200]

    async def receive(request: Request) -> Response:
        status = answers.pop(0) if answers else 200
        if status == 200:
            found = decode_traces(await request.body(), request.headers["content-type"])
            taken.extend(found.spans)
        return Response(status_code=status)

    app = Starlette(routes=[Route("/v1/traces", receive, methods=["POST"])])
    for url in served(app):
        spool = Spool(tmp_path)
        exporter = Exporter(spool, endpoint=url, key="k", resource={"service.name": "g"})
        exporter.start()
        exporter.keep(_span())
        end = time.monotonic() + 10
        while not taken and time.monotonic() < end:
            time.sleep(0.02)
        exporter.stop()
    assert [span.span_id for span in taken] == ["b7ad6b7169203331"]
    assert Spool(tmp_path).waiting() == []


def test_full_spool_gives_up_its_oldest(tmp_path: Path) -> None:
    spool = Spool(tmp_path, max_bytes=25)
    for number in range(4):
        spool.put(bytes([number]) * 10)
    assert [file.read_bytes()[0] for file in spool.waiting()] == [2, 3]
    assert spool.dropped == 2


def _span() -> SpanRecord:
    from datetime import UTC, datetime

    return SpanRecord(
        trace_id="0af7651916cd43dd8448eb211c80319c",
        span_id="b7ad6b7169203331",
        started_at=datetime.now(UTC),
        duration_us=1000,
        kind="llm",
        source="gateway",
    )
