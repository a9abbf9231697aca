"""Real engines over a tiny random model, real servers on a free port, a real OTLP receiver."""

import queue
import socket
import threading
from pathlib import Path

import httpx
import pytest
import uvicorn

from engine.call import Done, Refused, Text
from engine.config import EngineConfig
from engine.engine import Engine
from engine.exporter import Exporter
from engine.loader import BUNDLED, load
from engine.server import ServerOptions, build_app
from engine.spool import Spool
from engine.telemetry import Telemetry
from engine.tiny import tiny_model
from tests.engine.run.receiver import Receiver
from tests.engine.run.waiting import until

SIZES = {
    "block_size": 8,
    "num_blocks": 256,
    "max_num_seqs": 8,
    "max_batched_tokens": 64,
    "max_model_len": 512,
    "max_waiting": 64,
}


class Listening:
    """Collects one call's outputs from the engine's threads."""

    def __init__(self, engine, spec):
        self._outputs = queue.Queue()
        self.call = engine.submit(spec, self._outputs.put)

    def outputs(self, timeout_s=60.0):
        while True:
            output = self._outputs.get(timeout=timeout_s)
            yield output
            if isinstance(output, Done | Refused):
                return

    def wait_for(self, kind):
        return next(output for output in self.outputs() if isinstance(output, kind))

    def finish(self):
        """The whole text and the last word."""
        text = ""
        for output in self.outputs():
            if isinstance(output, Text | Done):
                text += output.text
        return text, output


class Running:
    """An engine, and where its telemetry goes."""

    def __init__(self, engine, receiver):
        self.engine = engine
        self.receiver = receiver

    def generate(self, *specs):
        """Submit all at once; (text, done) of each."""
        listening = [Listening(self.engine, spec) for spec in specs]
        return [one.finish() for one in listening]

    def listen(self, spec):
        return Listening(self.engine, spec)

    def spans(self, count):
        return until(
            lambda: len(self.receiver.spans) >= count and list(self.receiver.spans),
            what=f"{count} spans",
        )


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def telemetry_to(receiver, folder, name="test-engine"):
    spool = Spool(folder)
    resource = {"service.name": name, "inferometer.server": name}
    return Telemetry(
        f"run-{folder.name}",
        spool,
        Exporter(spool, endpoint=receiver.url, key=None, resource=resource),
    )


@pytest.fixture
def start_engine(receiver, tmp_path):
    """Start engines: `start_engine(num_blocks=12)`; each is shut down at the end."""
    started = []

    def start(loaded=None, **sizes):
        config = EngineConfig(**{**SIZES, **sizes})
        telemetry = telemetry_to(receiver, tmp_path / f"spool-{len(started)}")
        engine = Engine(loaded or tiny_model(), config, telemetry)
        engine.start()
        started.append(engine)
        return Running(engine, receiver)

    yield start
    for engine in started:
        engine.shutdown()


class Live(Running):
    """A served engine, with a client."""

    def __init__(self, engine, receiver, url):
        super().__init__(engine, receiver)
        self.url = url
        self.client = httpx.Client(base_url=url, timeout=60)

    def chat(self, content="hello", **rest):
        body = {"messages": [{"role": "user", "content": content}], "max_tokens": 8, **rest}
        return self.client.post("/v1/chat/completions", json=body)

    def metric(self, name):
        page = self.client.get("/metrics").text
        return sum(
            float(line.rsplit(" ", 1)[1])
            for line in page.splitlines()
            if line.startswith((name + "{", name + " "))
        )


@pytest.fixture
def start_server(receiver, tmp_path):
    """Start servers: `start_server(api_key="k", num_blocks=12)`."""
    stops = []

    def start(loaded=None, api_key=None, max_body_bytes=1 << 20, **sizes):
        telemetry = telemetry_to(receiver, tmp_path / f"spool-{len(stops)}")
        engine = Engine(loaded or tiny_model(), EngineConfig(**{**SIZES, **sizes}), telemetry)
        options = ServerOptions((engine.loaded.name, "alias"), api_key, max_body_bytes)
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(build_app(engine, options), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        until(lambda: server.started, what="the server's start")
        live = Live(engine, receiver, f"http://127.0.0.1:{listener.getsockname()[1]}")
        stops.append((server, thread, live))
        return live

    yield start
    for server, thread, live in stops:
        live.client.close()
        server.should_exit = True
        thread.join(20)


@pytest.fixture(scope="session")
def bundled():
    """The bundled model as it is served by default, loaded once; its conversion is kept."""
    return load(BUNDLED, cache_dir=Path("var/models"))


@pytest.fixture(scope="session")
def bundled_float32():
    """The bundled model in float32, where no processor's rounding decides between two words."""
    return load(BUNDLED, dtype="float32", cache_dir=Path("var/models"))
