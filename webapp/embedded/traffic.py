"""A short real workload: questions of a few teams to a running engine, some as steps of an agent.

What it sends is what any program would send: OpenAI requests with labels, and, around an agent's
calls, OTLP spans of its own.
"""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle, islice
from time import monotonic_ns

import httpx

from collectors.otlp import PROTOBUF, encode_traces
from collectors.record import SpanRecord

_QUESTIONS = (
    ("search", "query-rewriting", "Rewrite this query for a search engine: cheap train to Lyon"),
    ("support", "reply-draft", "Draft a short reply to a customer whose parcel is late."),
    ("docs", "summary", "Summarise in two sentences why inference servers batch requests."),
    ("search", "answers", "What is the capital of France, and what river runs through it?"),
    ("support", "triage", "Is this urgent? 'The export button does nothing since this morning.'"),
    ("docs", "translation", "Translate into French: The meeting starts at nine."),
)
_LENGTHS = (24, 48, 16, 64, 32)


@dataclass(frozen=True)
class Sent:
    """How the workload went."""

    answered: int
    failed: int
    output_tokens: int


def send_traffic(
    engine_url: str,
    *,
    count: int = 30,
    concurrency: int = 4,
    otlp_url: str = "",
    otlp_key: str = "",
    say: Callable[[str], None] = lambda text: None,
) -> Sent:
    """Ask `count` questions, `concurrency` at a time; where OTLP is given, one as an agent would.

    Raises httpx.HTTPError where the engine cannot be reached at all.
    """
    with httpx.Client(base_url=engine_url, timeout=120) as client:
        client.get("/health").raise_for_status()
        rows = list(islice(zip(cycle(_QUESTIONS), cycle(_LENGTHS), strict=False), count))
        with ThreadPoolExecutor(concurrency) as pool:
            tokens = list(pool.map(lambda row: _ask(client, *row[0], row[1]), rows))
        say(f"{len(rows)} questions asked")
        if otlp_url:
            tokens.append(_as_agent(client, otlp_url, otlp_key))
        _leave_early(client)
    known = [each for each in tokens if each is not None]
    return Sent(len(known), len(tokens) - len(known), sum(known))


def _ask(
    client: httpx.Client,
    team: str,
    feature: str,
    question: str,
    max_tokens: int,
    *,
    headers: dict[str, str] | None = None,
) -> int | None:
    """Output tokens of one streamed answer; None where it failed."""
    labels = {"X-Inferometer-Team": team, "X-Inferometer-Feature": feature}
    body = {
        "messages": [{"role": "user", "content": question}],
        "max_tokens": max_tokens,
        "temperature": 0.7,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    events = 0
    with client.stream(
        "POST", "/v1/chat/completions", json=body, headers=labels | (headers or {})
    ) as answer:
        if answer.status_code != 200:
            return None
        for line in answer.iter_lines():
            events += line.startswith("data: {")
    return events


def _leave_early(client: httpx.Client) -> None:
    """One caller hangs up before its answer is complete, as callers do."""
    body = {
        "messages": [{"role": "user", "content": "Tell me a long story."}],
        "max_tokens": 200,
        "stream": True,
    }
    labels = {"X-Inferometer-Team": "docs", "X-Inferometer-Feature": "story"}
    with client.stream("POST", "/v1/chat/completions", json=body, headers=labels) as answer:
        for _ in islice(answer.iter_lines(), 12):
            pass


def _as_agent(client: httpx.Client, otlp_url: str, otlp_key: str) -> int | None:
    """Two calls and a tool inside one agent's span, sent as any OpenTelemetry program would."""
    trace = secrets.token_hex(16)
    agent = _Timed(trace, "invoke_agent concierge", "agent")
    tokens = 0
    spans = []
    for question in ("Which city has the Louvre?", "Name one train station there."):
        context = {"traceparent": f"00-{trace}-{agent.span_id}-01"}
        made = _ask(client, "search", "concierge", question, 24, headers=context)
        if made is None:
            return None
        tokens += made
        tool = _Timed(trace, "execute_tool lookup", "tool", agent.span_id)
        client.get("/v1/models")
        spans.append(tool.ended())
    spans.append(agent.ended())
    answer = httpx.post(
        otlp_url.rstrip("/") + "/v1/traces",
        content=encode_traces(spans, {"service.name": "concierge"}),
        headers={"Content-Type": PROTOBUF, "Authorization": f"Bearer {otlp_key}"},
        timeout=30,
    )
    answer.raise_for_status()
    return tokens


class _Timed:
    """A span that has begun."""

    def __init__(self, trace: str, name: str, kind: str, parent: str | None = None) -> None:
        self._trace, self._name, self._kind, self._parent = trace, name, kind, parent
        self.span_id = secrets.token_hex(8)
        self._started_at, self._started_ns = datetime.now(UTC), monotonic_ns()

    def ended(self) -> SpanRecord:
        return SpanRecord(
            trace_id=self._trace,
            span_id=self.span_id,
            parent_span_id=self._parent,
            started_at=self._started_at,
            duration_us=(monotonic_ns() - self._started_ns) // 1000,
            name=self._name,
            kind="agent" if self._kind == "agent" else "tool",
            team="search",
            feature="concierge",
        )
