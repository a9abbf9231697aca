"""Two days of believable traffic, sent the way programs send it: encoded, over HTTP, with a key.

The same seed gives the same calls. Times count back from `now`, so pages over the last day and the
day before it both have something to show.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.test import Client

from collectors.otlp import PROTOBUF, encode_traces
from collectors.record import SpanRecord
from webapp.accounts.keys import issue_key
from webapp.accounts.models import Project
from webapp.domain.token_timeline import encode
from webapp.servers.models import Server, ServerRate

TEAMS = (("search", 5), ("support", 4), ("research", 2), ("platform", 1))
FEATURES = {"search": "rerank", "support": "reply", "research": "eval", "platform": "triage"}


@dataclass(frozen=True)
class Source:
    """Where a kind of call is answered, and how fast."""

    server: str
    provider: str
    model: str
    weight: int
    ttft_ms: float
    gap_ms: float
    source: str


SOURCES = (
    Source("engine", "inferometer", "SmolLM2-135M-Instruct", 6, 180, 16, "engine"),
    Source("vllm-a100", "vllm", "Qwen2.5-7B-Instruct", 4, 95, 11, "gateway"),
    Source("openai", "openai", "gpt-4o-mini", 5, 420, 14, "gateway"),
    Source("", "homegrown", "tuned-classifier", 1, 60, 5, "otlp"),
)


def register_servers(project: Project) -> None:
    kinds = {"engine": "engine", "vllm-a100": "vllm", "openai": "provider"}
    prices = {"engine": ("0.10", True), "vllm-a100": ("2.49", False)}
    for name, kind in kinds.items():
        server, _ = Server.objects.get_or_create(
            project=project, name=name, defaults={"kind": kind, "location": "eu-central"}
        )
        if name in prices and not server.rates.exists():
            price, assumed = prices[name]
            ServerRate.objects.create(
                server=server,
                price_per_hour=Decimal(price),
                valid_from=datetime(2020, 1, 1, tzinfo=UTC),
                is_assumption=assumed,
            )


class Traffic:
    """Builds records; `rng` and `now` decide everything."""

    def __init__(self, now: datetime, seed: int = 7) -> None:
        self.rng = random.Random(seed)
        self.now = now

    def calls(self, count: int, hours: float = 48.0) -> list[SpanRecord]:
        """Calls over the last hours, more by day than by night, slower in the newest part."""
        records = []
        while len(records) < count:
            back = self.rng.random() * hours
            at = self.now - timedelta(hours=back) - timedelta(seconds=3)
            by_day = 8 <= at.hour < 19
            if by_day or self.rng.random() < 0.35:
                records.append(self.call(at, slow=1.25 if back < 5 else 1.0))
        return records

    def call(self, at: datetime, slow: float = 1.0, **given: object) -> SpanRecord:
        rng = self.rng
        source = rng.choices(SOURCES, [each.weight for each in SOURCES])[0]
        team = rng.choices([name for name, _ in TEAMS], [weight for _, weight in TEAMS])[0]
        outcome = rng.choices(("ok", "error", "cancelled", "rejected"), (960, 14, 20, 6))[0]
        output = max(2, int(rng.lognormvariate(4.0, 0.7)))
        queue = int(rng.expovariate(1 / 9000) * slow)
        ttft = queue + int(source.ttft_ms * 1000 * rng.lognormvariate(0, 0.35) * slow)
        offsets = self._offsets(ttft, output, source.gap_ms * 1000 * slow)
        if outcome in ("error", "rejected"):
            offsets, output = [], 0
        record = SpanRecord(
            trace_id=self.hexes(32),
            span_id=self.hexes(16),
            started_at=at,
            duration_us=offsets[-1] + 400 if offsets else 2_500,
            name=f"chat {source.model}",
            kind="llm",
            session_id=f"s-{rng.randrange(400):03d}",
            user_id=f"u-{rng.randrange(60):02d}",
            team=team,
            feature=FEATURES[team],
            environment=rng.choice(("production", "production", "staging")),
            server=source.server or None,
            provider=source.provider,
            request_model=source.model,
            response_model=source.model,
            source=source.source,
            input_tokens=max(8, int(rng.lognormvariate(5.6, 0.8))),
            output_tokens=output,
            tokens_source="reported",
            status=outcome,
            http_status={"ok": 200, "error": 500, "cancelled": 499, "rejected": 429}[outcome],
            error_type={"error": "engine_error", "rejected": "queue_full"}.get(outcome),
            finish_reason="stop" if outcome == "ok" else None,
        )
        self._timed(record, source, offsets, queue)
        for name, value in given.items():
            setattr(record, name, value)
        return record

    def _offsets(self, ttft: int, output: int, gap_us: float) -> list[int]:
        offsets = [ttft]
        for _ in range(output - 1):
            stalls = self.rng.random() < 0.006
            gap = gap_us * self.rng.lognormvariate(0, 0.15) * (9 if stalls else 1)
            offsets.append(offsets[-1] + max(1, int(gap)))
        return offsets

    def _timed(self, record: SpanRecord, source: Source, offsets: list[int], queue: int) -> None:
        if source.source == "otlp" or not offsets:
            return
        record.token_timeline = encode([(offset, 1) for offset in offsets])
        if source.source == "gateway":
            record.client_ttft_us = offsets[0]
        else:
            record.queue_us, record.ttft_us = queue, offsets[0]
            record.prefill_us = offsets[0] - queue
            record.decode_us = offsets[-1] - offsets[0]
            record.preempted_us, record.preemptions = 0, 0
            record.batch_mean = 1 + 5 * self.rng.random()
            record.cached_input_tokens = int((record.input_tokens or 0) * self.rng.random() * 0.5)
        if source.server != "openai":
            record.busy_us = int((record.duration_us or 0) * 0.3)

    def agent_trace(self, at: datetime) -> list[SpanRecord]:
        """An agent that looks something up, calls a tool, and asks a model twice."""
        trace, root = self.hexes(32), self.hexes(16)
        first = self.call(at + timedelta(milliseconds=180), trace_id=trace, parent_span_id=root)
        second = self.call(at + timedelta(milliseconds=2600), trace_id=trace, parent_span_id=root)
        search = _work(trace, self.hexes(16), root, "retrieval", "search index", at, 20, 140)
        tool = _work(trace, self.hexes(16), root, "tool", "weather", at, 2100, 420)
        fetch = _work(trace, self.hexes(16), tool.span_id, "other", "GET /forecast", at, 2130, 360)
        ends = [2700 + (span.duration_us or 0) // 1000 for span in (first, second)]
        agent = _work(trace, root, None, "agent", "travel planner", at, 0, max(ends))
        return [agent, search, first, tool, fetch, second]

    def hexes(self, digits: int) -> str:
        return f"{self.rng.getrandbits(digits * 4):0{digits}x}"


def _work(
    trace: str,
    span: str,
    above: str | None,
    kind: str,
    name: str,
    at: datetime,
    start: int,
    ms: int,
) -> SpanRecord:
    return SpanRecord(
        trace_id=trace,
        span_id=span,
        parent_span_id=above,
        kind=kind,  # type: ignore[arg-type]
        name=name,
        started_at=at + timedelta(milliseconds=start),
        duration_us=ms * 1000,
    )


def send(secret: str, records: Sequence[SpanRecord]) -> None:
    """Posts in batches; AssertionError where one is not taken whole."""
    for batch in _batches(records, 500):
        answer = Client().post(
            "/v1/traces",
            data=encode_traces(batch, {"service.name": "shop"}),
            content_type=PROTOBUF,
            headers={"Authorization": f"Bearer {secret}"},
        )
        assert answer.status_code == 200, answer.content
        assert answer.content == b"", answer.content


def fill(project: Project, now: datetime, count: int = 1500) -> tuple[SpanRecord, str]:
    """Registers servers, sends everything; an engine call with stalls, and the agent's trace id."""
    register_servers(project)
    traffic = Traffic(now)
    records = traffic.calls(count)
    trace = traffic.agent_trace(now - timedelta(minutes=40))
    secret = issue_key(project, "traffic", ["ingest"])[1]
    send(secret, [*records, *trace])
    engine = [each for each in records if each.source == "engine" and each.status == "ok"]
    return max(engine, key=lambda each: each.output_tokens or 0), trace[0].trace_id


def _batches(records: Sequence[SpanRecord], size: int) -> Iterable[Sequence[SpanRecord]]:
    return (records[start : start + size] for start in range(0, len(records), size))
