import struct
import zlib

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from engine.otlp import (
    STEP_COLUMNS,
    SpanFacts,
    StepBatch,
    encode_span,
    encode_steps,
    logs_body,
    pack_timeline,
    traces_body,
)


def test_timeline_packs_to_the_bytes_every_reader_expects():
    packed = pack_timeline([(100_000, 1), (115_000, 1), (135_000, 3)])
    assert packed.hex() == "01c09a0cb0ea01c1b80203"


def test_empty_timeline_is_a_version_alone():
    assert pack_timeline([]) == b"\x01"


def test_span_carries_ids_times_and_attributes_without_the_absent():
    facts = SpanFacts(
        trace_id=b"\x01" * 16,
        span_id=b"\x02" * 8,
        parent_span_id=b"",
        name="chat tiny",
        start_unix_ns=10**18,
        end_unix_ns=10**18 + 5,
        failed=False,
        attributes={"a": 1, "b": 0.5, "c": "x", "d": b"\x00", "e": None, "f": ["y"], "g": True},
    )
    body = ExportTraceServiceRequest.FromString(
        traces_body([encode_span(facts)], {"service.name": "s"})
    )
    (span,) = body.resource_spans[0].scope_spans[0].spans
    assert (span.trace_id, span.span_id, span.parent_span_id) == (b"\x01" * 16, b"\x02" * 8, b"")
    assert span.end_time_unix_nano - span.start_time_unix_nano == 5
    values = {a.key: a.value for a in span.attributes}
    assert set(values) == set("abcdfg")
    assert values["a"].int_value == 1
    assert values["d"].bytes_value == b"\x00"
    assert values["f"].array_value.values[0].string_value == "y"
    assert values["g"].bool_value is True


def test_steps_travel_in_columns():
    rows = [tuple(range(n, n + len(STEP_COLUMNS))) for n in (0, 100)]
    body = ExportLogsServiceRequest.FromString(
        logs_body([encode_steps(StepBatch("run", 7, 10**18, rows))], {})
    )
    (record,) = body.resource_logs[0].scope_logs[0].log_records
    values = {a.key: a.value for a in record.attributes}
    assert record.event_name == values["event.name"].string_value == "inferometer.engine.steps"
    assert values["inferometer.steps.first_index"].int_value == 7
    assert values["inferometer.steps.count"].int_value == 2
    names = [v.string_value for v in values["inferometer.steps.names"].array_value.values]
    assert tuple(names) == STEP_COLUMNS
    raw = zlib.decompress(values["inferometer.steps.columns"].bytes_value)
    columns = struct.unpack(f"<{2 * len(names)}i", raw)
    assert columns[:4] == (0, 100, 1, 101)
