import pytest

from engine.exporter import Exporter, base_endpoint
from engine.otlp import SpanFacts, StepBatch, encode_span, encode_steps
from engine.spool import SPAN, STEPS, Frame, Spool
from tests.engine.run.receiver import Receiver
from tests.engine.run.waiting import until


def _span(number):
    return Frame(
        SPAN,
        encode_span(
            SpanFacts(b"\x01" * 16, number.to_bytes(8, "big"), b"", "chat m", 1, 2, failed=False)
        ),
    )


def _exporter(spool, url, key=None):
    return Exporter(spool, endpoint=url, key=key, resource={"inferometer.server": "one"})


@pytest.fixture
def spool(tmp_path):
    spool = Spool(tmp_path)
    yield spool
    spool.close()


def test_spans_and_steps_arrive_with_key_and_resource_and_leave_the_disk(spool, tmp_path):
    receiver = Receiver()
    exporter = _exporter(spool, receiver.url, key="secret")
    spool.append([_span(1), Frame(STEPS, encode_steps(StepBatch("r", 0, 1, [(0,) * 11])))])
    exporter.start()
    until(lambda: receiver.spans and receiver.steps)
    until(lambda: not list(tmp_path.glob("*.seg")))
    exporter.stop()
    paths = {path: headers for path, _, headers in receiver.requests}
    assert paths["/v1/traces"]["Authorization"] == "Bearer secret"
    assert paths["/v1/traces"]["Content-Type"] == "application/x-protobuf"
    assert receiver.resources == [{"inferometer.server": "one"}]
    receiver.close()


def test_what_is_written_while_the_receiver_is_away_arrives_later(spool):
    gone = Receiver()
    port = gone.port
    gone.close()
    exporter = _exporter(spool, f"http://127.0.0.1:{port}")
    exporter.start()
    for number in range(5):
        spool.append([_span(number)])
        exporter.nudge()
    back = Receiver(port=port)
    until(lambda: len(back.spans) == 5)
    exporter.stop()
    assert set(back.by_span_id().values()) == {1}
    back.close()


@pytest.mark.parametrize("status", [401, 429, 500, 503])
def test_an_answer_that_may_change_is_asked_again(spool, status):
    receiver = Receiver(answers=[status])
    exporter = _exporter(spool, receiver.url)
    spool.append([_span(1)])
    exporter.start()
    until(lambda: receiver.spans)
    exporter.stop()
    assert [s for _, s, _ in receiver.requests] == [status, 200]
    assert exporter.refused_records == 0
    receiver.close()


def test_a_body_refused_for_good_is_counted_and_does_not_block_the_next(spool):
    receiver = Receiver(answers=[400])
    exporter = _exporter(spool, receiver.url)
    spool.append([_span(1)])
    spool.seal()
    spool.append([_span(2)])
    exporter.start()
    until(lambda: receiver.spans)
    exporter.stop()
    assert exporter.refused_records == 1
    assert [span.span_id[-1] for span in receiver.spans] == [2]
    receiver.close()


def test_stopping_sends_what_is_left(spool):
    receiver = Receiver()
    exporter = _exporter(spool, receiver.url)
    exporter.start()
    spool.append([_span(1)])
    exporter.stop()
    assert len(receiver.spans) == 1
    receiver.close()


@pytest.mark.parametrize("given", ["http://h:1", "http://h:1/", "http://h:1/v1/traces"])
def test_endpoint_may_name_a_signal_or_not(given):
    assert base_endpoint(given) == "http://h:1"
