"""The engine's HTTP side, through real clients over a real port."""

import json
import socket
import threading
import time

import openai
import pytest

from tests.engine.run.receiver import attributes
from tests.engine.run.test_engine import timeline
from tests.engine.run.waiting import until


def events_of(response):
    lines = [line for line in response.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


def test_openai_client_streams_text_and_usage(start_server):
    live = start_server()
    client = openai.OpenAI(base_url=live.url + "/v1", api_key="none")
    stream = client.chat.completions.create(
        model="tiny",
        messages=[{"role": "user", "content": "hello"}],
        max_tokens=20,
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
        extra_body={"ignore_eos": True},
    )
    chunks = list(stream)
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason == "length"
    usage = chunks[-1].usage
    assert usage.completion_tokens == 20
    whole = client.chat.completions.create(
        model="tiny",
        messages=[{"role": "user", "content": "hello"}],
        max_tokens=20,
        temperature=0,
        extra_body={"ignore_eos": True},
    )
    streamed = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert whole.choices[0].message.content == streamed
    assert whole.usage.prompt_tokens == usage.prompt_tokens
    assert whole.usage.prompt_tokens_details.cached_tokens > 0


def test_call_leaves_one_span_whose_ticks_are_its_tokens(start_server):
    live = start_server()
    answer = live.chat(
        max_tokens=12,
        temperature=0,
        ignore_eos=True,
    )
    (span,) = live.spans(1)
    found = attributes(span)
    usage = answer.json()["usage"]
    events = timeline(found["inferometer.token_timeline"])
    assert sum(tokens for _, tokens in events) == usage["completion_tokens"] == 12
    assert found["gen_ai.usage.input_tokens"] == usage["prompt_tokens"]
    call = answer.headers["X-Inferometer-Call"]
    assert call == f"{span.trace_id.hex()}-{span.span_id.hex()}"


def test_headers_become_labels_and_parent(start_server):
    live = start_server()
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    live.client.post(
        "/v1/chat/completions",
        json={"messages": [{"role": "user", "content": "x"}], "max_tokens": 2, "user": "u-1"},
        headers={
            "traceparent": f"00-{trace}-{parent}-01",
            "X-Inferometer-Team": "search",
            "X-Inferometer-Feature": "ranking",
            "X-Inferometer-Session": "s-9",
        },
    )
    (span,) = live.spans(1)
    found = attributes(span)
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (trace, parent)
    assert (found["inferometer.team"], found["inferometer.feature"]) == ("search", "ranking")
    assert (found["gen_ai.conversation.id"], found["user.id"]) == ("s-9", "u-1")


def test_completions_take_several_prompts_and_choices(start_server):
    live = start_server()
    answer = live.client.post(
        "/v1/completions",
        json={"prompt": ["ab", "cd"], "n": 2, "max_tokens": 3, "seed": 1, "ignore_eos": True},
    ).json()
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2, 3]
    assert answer["usage"]["completion_tokens"] == 12
    assert answer["usage"]["prompt_tokens"] == 4


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({}, 400, "messages"),
        ({"messages": []}, 400, "messages"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, 400, "messages[0].role"),
        ({"messages": [{"role": "user", "content": "x"}], "temperature": 5}, 400, "temperature"),
        ({"messages": [{"role": "user", "content": "x"}], "temperature": True}, 400, "temperature"),
        ({"messages": [{"role": "user", "content": "x"}], "top_p": 0}, 400, "top_p"),
        ({"messages": [{"role": "user", "content": "x"}], "max_tokens": 0}, 400, "max_tokens"),
        ({"messages": [{"role": "user", "content": "x"}], "max_tokens": 999}, 400, "max_tokens"),
        ({"messages": [{"role": "user", "content": "x"}], "model": "other"}, 404, "model"),
        ({"messages": [{"role": "user", "content": "x"}], "tools": [{}]}, 400, "tools"),
        ({"messages": [{"role": "user", "content": "x"}], "stop": [1]}, 400, "stop"),
    ],
)
def test_bad_field_is_refused_by_name(start_server, body, status, param):
    answer = start_server().client.post("/v1/chat/completions", json=body)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["param"] == param
    assert error["message"].endswith(".")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_body_that_is_no_object_is_refused(start_server, content):
    live = start_server()
    answer = live.client.post("/v1/chat/completions", content=content)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert live.chat().status_code == 200


def test_large_body_is_refused(start_server):
    answer = start_server(max_body_bytes=1000).chat("x" * 2000)
    assert answer.status_code == 413


def test_key_is_needed_where_one_is_set(start_server):
    live = start_server(api_key="secret")
    assert live.chat().status_code == 401
    answer = live.client.get("/v1/models", headers={"Authorization": "Bearer secret"})
    assert answer.json()["data"][0]["id"] == "tiny"


def test_full_queue_is_told_with_retry_after(start_server):
    live = start_server(max_num_seqs=1, max_waiting=1)
    body = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 400, "ignore_eos": True}
    done = []

    def ask():
        done.append(live.client.post("/v1/chat/completions", json=body).status_code)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    threads[0].start()
    until(lambda: live.metric("vllm:num_requests_running") == 1)
    threads[1].start()
    until(lambda: live.metric("vllm:num_requests_waiting") == 1)
    refused = live.client.post("/v1/chat/completions", json=body)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) >= 1
    for thread in threads:
        thread.join(60)
    assert done == [200, 200]
    statuses = [attributes(span)["inferometer.status"] for span in live.spans(3)]
    assert sorted(statuses) == ["ok", "ok", "rejected"]


@pytest.mark.parametrize("stream", [True, False])
def test_disconnect_cancels_the_call(start_server, stream):
    live = start_server()
    body = json.dumps(
        {
            "messages": [{"role": "user", "content": "x"}],
            "max_tokens": 480,
            "ignore_eos": True,
            "stream": stream,
        }
    )
    host, port = live.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}"
        client.sendall(f"{head}\r\n\r\n{body}".encode())
        until(lambda: live.metric("vllm:generation_tokens_total") > 0)
    until(lambda: live.metric("vllm:num_requests_running") == 0)
    found = attributes(live.spans(1)[0])
    assert found["inferometer.status"] == "cancelled"
    assert found["gen_ai.usage.output_tokens"] < 480


def test_metrics_agree_with_the_answers(start_server):
    live = start_server()
    usages = [live.chat("a" * n, ignore_eos=True).json()["usage"] for n in (1, 5, 9)]
    assert live.metric("vllm:generation_tokens_total") == sum(
        u["completion_tokens"] for u in usages
    )
    assert live.metric("vllm:prompt_tokens_total") == sum(u["prompt_tokens"] for u in usages)
    assert live.metric("vllm:e2e_request_latency_seconds_count") == 3
    assert live.metric("vllm:request_success_total") == 3
    assert live.metric("vllm:num_requests_running") == 0


def test_span_is_kept_until_the_receiver_is_back(start_server):
    live = start_server()
    port = live.receiver.port
    live.receiver.close()
    answers = [live.chat() for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3
    time.sleep(0.3)
    back = type(live.receiver)(port=port)
    try:
        until(lambda: len(back.spans) == 3, what="three spans after the return")
        assert set(back.by_span_id().values()) == {1}
    finally:
        back.close()


def test_unknown_route_and_method_are_answered_in_kind(start_server):
    live = start_server()
    assert live.client.get("/nope").json()["error"]["type"] == "invalid_request_error"
    assert live.client.get("/v1/chat/completions").status_code == 405
    assert live.client.get("/health").json() == {"status": "ok"}
