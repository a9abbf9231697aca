"""What is sent is stored once, priced, attributed, counted, or refused by name."""

import gzip
import json
import threading
import zlib
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
import zstandard
from django.db import OperationalError, connection
from django.utils.timezone import now
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collectors.otlp import JSON, encode_traces
from tests.webapp.ingest.sending import post, send, span
from webapp.accounts.keys import issue_key, revoke_key
from webapp.accounts.models import Organisation, Project
from webapp.ingest import write as writing
from webapp.servers.models import Server, ServerRate
from webapp.telemetry.models import Span, StepBatch
from webapp.telemetry.queries import Scope, get_call, list_calls, recorded_steps, summarise

FIXTURES = Path(__file__).parents[2] / "fixtures"


def today(project, **rest):
    at = now()
    return Scope(project.pk, at - timedelta(days=1), at + timedelta(hours=1), **rest)


def refused(answer):
    return ExportTraceServiceResponse.FromString(answer.content).partial_success


def test_call_is_stored_with_its_times_tokens_and_cost(project, ingest_key):
    sent = span(team="search", tags={"a": "b"})
    assert send(ingest_key, [sent]).status_code == 200
    call = get_call(project.pk, f"{sent.trace_id}-{sent.span_id}")
    assert call.timeline.offsets_us.tolist() == [100_000, 120_000, 140_000, 160_000]
    assert (call.tpot_us, call.ttft_us, call.queue_us) == (20_000, 100_000, 10_000)
    assert (call.team, call.tags) == ("search", {"a": "b"})
    assert call.cost_state == "priced"
    assert call.cost_usd == Decimal("0.00009")
    assert call.cost_input_usd + call.cost_output_usd == call.cost_usd


def test_repeat_changes_nothing(project, ingest_key):
    body = encode_traces([span(), span()], {})
    for _ in range(3):
        assert post(ingest_key, body).status_code == 200
    assert Span.objects.count() == 2
    assert summarise(today(project))[0].calls == 2


def test_repeat_within_a_body_counts_once(project, ingest_key):
    one = span()
    assert send(ingest_key, [one, one]).status_code == 200
    assert summarise(today(project))[0].calls == 1


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda b: zlib.compress(b, wbits=-15)),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("identity", lambda b: b),
    ],
)
def test_every_compression_is_understood(project, ingest_key, encoding, compress):
    body = compress(encode_traces([span()], {}))
    answer = post(ingest_key, body, headers={"Content-Encoding": encoding})
    assert answer.status_code == 200, answer.content
    assert Span.objects.count() == 1


def test_bad_span_is_refused_by_name_and_the_good_one_stays(project, ingest_key):
    late = span(started_at=now() - timedelta(days=4000), name="ancient")
    early = span(started_at=now() + timedelta(days=3), name="tomorrow")
    answer = send(ingest_key, [span(), late, early])
    partial = refused(answer)
    assert partial.rejected_spans == 2
    assert "ancient" in partial.error_message
    assert "future" in partial.error_message
    assert Span.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "kind", "headers", "status", "said"),
    [
        (b"\xff\xff", "application/x-protobuf", {}, 400, "not an OTLP"),
        (b"{", JSON, {}, 400, "not valid JSON"),
        (b"{}", "text/plain", {}, 415, "content type"),
        (b"{}", JSON, {"Content-Encoding": "br"}, 415, "Content-Encoding"),
        (b"{}", JSON, {"Content-Encoding": "gzip"}, 400, "not valid gzip"),
        (b"{}", JSON, {"Content-Encoding": "zstd"}, 400, "not valid zstd"),
        (gzip.compress(b"{}")[:-9], JSON, {"Content-Encoding": "gzip"}, 400, "not valid gzip"),
    ],
)
def test_unreadable_body_is_refused_in_words(ingest_key, body, kind, headers, status, said):
    answer = post(ingest_key, body, content_type=kind, headers=headers)
    assert answer.status_code == status
    assert said in answer.content.decode(errors="replace")


def test_body_that_grows_beyond_the_cap_is_refused(ingest_key, settings):
    settings.INFEROMETER = {**settings.INFEROMETER, "MAX_OTLP_BYTES": 10_000}
    bomb = gzip.compress(b"\0" * 10_000_000)
    answer = post(ingest_key, bomb, headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 413
    assert post(ingest_key, b"x" * 10_001).status_code == 413


def test_keys_that_may_not_ingest_are_refused(project, api_key):
    key, secret = issue_key(project, "gone", ["ingest"])
    revoke_key(key)
    assert post("", b"").status_code == 401
    assert post("ifm_unknown", b"").status_code == 401
    assert post(secret, b"").status_code == 401
    assert post(api_key, b"").status_code == 403


def test_same_ids_from_another_project_are_another_span(project, ingest_key):
    other = Project.objects.create(
        organisation=Organisation.objects.create(name="O", slug="o"), name="P", slug="p"
    )
    _, secret = issue_key(other, "k", ["ingest"])
    one = span()
    send(ingest_key, [one])
    send(secret, [one])
    assert Span.objects.count() == 2
    assert summarise(today(project))[0].calls == summarise(today(other))[0].calls == 1


def test_server_comes_from_the_key_then_the_name_then_the_service(
    project, ingest_key, server, server_key
):
    Server.objects.create(project=project, name="other", kind="vllm")
    spans = [span(server="other"), span(), span(), span(server="nobody")]
    send(server_key, spans[:1])
    send(ingest_key, spans[1:2], **{"service.name": "other"})
    send(ingest_key, spans[2:])
    found = {
        call.span_id: call.server for call in list_calls(today(project), sort="started_at").items
    }
    assert [found[one.span_id] for one in spans] == ["engine", "other", None, None]


def test_engine_time_is_what_a_call_on_a_priced_server_costs(project, server, server_key):
    ServerRate.objects.create(
        server=server, price_per_hour=Decimal("0.36"), valid_from=now() - timedelta(days=1)
    )
    one = span(busy_us=1_000_000)
    send(server_key, [one, span(busy_us=None)])
    call = get_call(project.pk, f"{one.trace_id}-{one.span_id}")
    assert (call.cost_usd, call.cost_basis) == (Decimal("0.0001"), "engine_seconds")
    row = summarise(today(project))[0]
    assert row.cost_compute_usd == Decimal("0.0001")
    assert row.unpriced_calls == 1


def test_unknown_model_is_unpriced_and_never_free(project, ingest_key):
    one = span(provider="acme", request_model="nobody-knows")
    send(ingest_key, [one])
    call = get_call(project.pk, f"{one.trace_id}-{one.span_id}")
    assert (call.cost_state, call.cost_usd) == ("unpriced", None)
    assert "nobody-knows" in call.cost_reason


def test_vllm_capture_is_twelve_calls_of_the_registered_model(project, settings):
    settings.INFEROMETER = {**settings.INFEROMETER, "SPAN_RETENTION_DAYS": 36500}
    key, secret = issue_key(project, "vllm", ["ingest"])
    Server.objects.create(
        project=project, name="vllm", kind="vllm", model="SmolLM2-135M-Instruct", ingest_key=key
    )
    for number in range(1, 7):
        body = (FIXTURES / "vllm" / f"vllm-0.32.0-otlp-{number}.pb").read_bytes()
        assert post(secret, body).status_code == 200
    times = Span.objects.order_by("started_at").values_list("started_at", flat=True)
    scope = Scope(project.pk, times.first(), times.last() + timedelta(seconds=1))
    row = summarise(scope)[0]
    assert (row.calls, row.input_tokens, row.output_tokens) == (12, 464, 311)
    assert row.observed("ttft_s") == row.observed("queue_s") == 12
    (by_model,) = summarise(scope, group_by="model")
    assert by_model.key == "SmolLM2-135M-Instruct"
    assert Span.objects.filter(cost_state=None).count() > 12


def test_content_is_dropped_unless_the_project_asks(project, ingest_key):
    texts = {"gen_ai.input.messages": "secret"}
    first, second = span(content=texts), span(content=texts)
    send(ingest_key, [first])
    Project.objects.filter(pk=project.pk).update(captures_content=True)
    _, fresh = issue_key(project, "fresh", ["ingest"])
    send(fresh, [second])
    contents = [
        get_call(project.pk, f"{one.trace_id}-{one.span_id}").content for one in (first, second)
    ]
    assert contents == [None, texts]


def test_broken_timeline_is_left_out_and_the_call_kept(project, ingest_key):
    one = span(token_timeline=b"\x01\xff\xff")
    send(ingest_key, [one])
    call = get_call(project.pk, f"{one.trace_id}-{one.span_id}")
    assert call.timeline is None
    assert "timeline_unreadable" in call.flags


def test_hostile_values_harm_nobody_else(project, ingest_key):
    odd = span(
        name="nul\0here",
        user_id="x" * 5000,
        extra={"big": "y" * 50_000, "n": 2**62},
        http_status=10**9,
        input_tokens=2**31 - 1,
    )
    assert send(ingest_key, [odd, span()]).status_code == 200
    assert Span.objects.count() == 2


def test_steps_are_kept_once_and_read_back(project, server, server_key):
    from engine.otlp import STEP_COLUMNS, encode_steps, logs_body
    from engine.otlp import StepBatch as Batch

    at = now() - timedelta(minutes=1)
    rows = [(1000 * n, 500, 7, n, n, 0, 0, 1, 9, 0, 0) for n in range(5)]
    batch = Batch("run", 0, int(at.timestamp() * 1e6) * 1000, rows)
    body = logs_body([encode_steps(batch)], {})
    for _ in range(2):
        assert post(server_key, body, path="/v1/logs").status_code == 200
    assert StepBatch.objects.count() == 1
    steps = recorded_steps(server.pk, at - timedelta(seconds=1), now())
    assert len(steps) == 5
    assert steps["decode_seqs"].tolist() == [0, 1, 2, 3, 4]
    assert set(steps.names) == set(STEP_COLUMNS) - {"start_offset_us"}


def test_json_needs_no_library(project, ingest_key):
    nanos = int((now() - timedelta(minutes=1)).timestamp()) * 10**9
    body = {
        "resourceSpans": [
            {
                "scopeSpans": [
                    {
                        "spans": [
                            {
                                "traceId": "5b8efff798038103d269b633813fc60c",
                                "spanId": "eee19b7ec3c1b174",
                                "name": "chat",
                                "startTimeUnixNano": str(nanos),
                                "endTimeUnixNano": str(nanos + 10**9),
                                "attributes": [
                                    {
                                        "key": "gen_ai.operation.name",
                                        "value": {"stringValue": "chat"},
                                    }
                                ],
                            }
                        ]
                    }
                ]
            }
        ]
    }
    answer = post(ingest_key, json.dumps(body).encode(), content_type="application/json")
    assert (answer.status_code, answer.content) == (200, b"{}")
    assert get_call(project.pk, "5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174")


def test_database_that_is_away_answers_503(ingest_key, monkeypatch):
    def gone(*args):
        raise OperationalError("the database is shutting down")

    monkeypatch.setattr(writing, "_insert", gone)
    answer = send(ingest_key, [span()])
    assert answer.status_code == 503
    assert answer["Retry-After"] == "2"


def test_nothing_is_kept_of_a_batch_that_breaks_halfway(project, ingest_key, monkeypatch):
    def breaks(*args):
        raise OperationalError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(writing, "write_increments", breaks)
        assert send(ingest_key, [span()]).status_code == 503
    assert Span.objects.count() == 0
    assert summarise(today(project))[0].calls == 0


@pytest.mark.django_db(transaction=True)
def test_same_batch_from_many_senders_at_once_counts_once(project, ingest_key):
    body = encode_traces([span() for _ in range(50)], {})
    statuses = []

    def send_it():
        statuses.append(post(ingest_key, body).status_code)
        connection.close()

    threads = [threading.Thread(target=send_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 6
    assert summarise(today(project))[0].calls == Span.objects.count() == 50
