"""Posts spooled telemetry over OTLP/HTTP until it is taken. Runs on a thread of its own."""

from __future__ import annotations

import gzip
import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from engine.otlp import Value, logs_body, traces_body
from engine.spool import SPAN, STEPS, Frame, Spool

log = logging.getLogger(__name__)

_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
# The body itself is at fault: sending it again cannot help.
_REFUSED = {400, 413, 415, 422}


class Exporter:
    """Sends closed segments in order, each until it is answered 200, then deletes it."""

    def __init__(
        self, spool: Spool, *, endpoint: str, key: str | None, resource: Mapping[str, Value | None]
    ) -> None:
        self._spool = spool
        self._endpoint = base_endpoint(endpoint)
        self._resource = resource
        headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self._client = httpx.Client(headers=headers, timeout=httpx.Timeout(10.0, connect=2.0))
        self._wake = threading.Event()
        self._stopping = False
        self._away_since: float | None = None
        self.sent_spans = 0
        self.refused_records = 0
        self._thread = threading.Thread(target=self._run, name="otlp-exporter", daemon=True)

    def start(self) -> None:
        self._wake.set()  # there may be segments from before
        self._thread.start()

    def nudge(self) -> None:
        """There is something new to send."""
        self._wake.set()

    def stop(self, wait_s: float = 2.0) -> None:
        """One last round, then end; what is left stays on disk for the next start."""
        self._stopping = True
        self._wake.set()
        self._thread.join(wait_s)

    def _run(self) -> None:
        pause = _PAUSE_S
        while not self._stopping:
            self._wake.wait()
            time.sleep(0 if self._stopping else _PAUSE_S / 4)
            self._wake.clear()
            wait_s = self._send_all()
            if wait_s is None:
                pause = _PAUSE_S
                continue
            pause = min(max(pause * 2, wait_s), _LONGEST_PAUSE_S)
            if not self._stopping:
                self._sleep(pause)
            self._wake.set()
        self._send_all()
        self._client.close()

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._stopping and time.monotonic() < until:
            time.sleep(0.1)

    def _send_all(self) -> float | None:
        """None when everything is sent; else how long to wait at least."""
        for segment in self._spool.seal():
            wait_s = self._send_segment(segment)
            if wait_s is not None:
                return wait_s
        return None

    def _send_segment(self, segment: Path) -> float | None:
        frames = self._spool.read(segment)
        for kind, path, encode in (
            (SPAN, "/v1/traces", traces_body),
            (STEPS, "/v1/logs", logs_body),
        ):
            chosen = [frame for frame in frames if frame.kind == kind]
            if not chosen:
                continue
            body = encode([frame.payload for frame in chosen], self._resource)
            wait_s = self._post(path, body, chosen)
            if wait_s is not None:
                return wait_s
        self._spool.remove(segment)
        return None

    def _post(self, path: str, body: bytes, frames: list[Frame]) -> float | None:
        try:
            answer = self._client.post(self._endpoint + path, content=gzip.compress(body, 5))
        except httpx.HTTPError as error:
            return self._away(f"cannot be reached ({type(error).__name__})", 0.0)
        if answer.status_code == 200:
            self._taken(path, answer.content, frames)
            return None
        if answer.status_code in _REFUSED:
            self.refused_records += len(frames)
            log.error("%s%s refused telemetry: %s", self._endpoint, path, answer.text[:300])
            return None
        return self._away(
            f"answered {answer.status_code}", _seconds(answer.headers.get("Retry-After"))
        )

    def _taken(self, path: str, content: bytes, frames: list[Frame]) -> None:
        if self._away_since is not None:
            log.warning("%s takes telemetry again", self._endpoint)
            self._away_since = None
        if path != "/v1/traces":
            return
        self.sent_spans += len(frames)
        try:
            partial = ExportTraceServiceResponse.FromString(content).partial_success
        except DecodeError:
            return
        if partial.rejected_spans:
            self.refused_records += partial.rejected_spans
            log.error("%d spans were refused: %s", partial.rejected_spans, partial.error_message)

    def _away(self, what: str, wait_s: float) -> float:
        if self._away_since is None:
            self._away_since = time.monotonic()
            log.warning("%s %s; telemetry waits on disk", self._endpoint, what)
        return wait_s


def base_endpoint(endpoint: str) -> str:
    """The base URL, whether or not a signal's path was given with it."""
    base = endpoint.rstrip("/")
    for path in ("/v1/traces", "/v1/logs"):
        base = base.removesuffix(path)
    return base


def _seconds(text: str | None) -> float:
    return float(text) if text and text.isdigit() else 0.0
