"""Sends spans by OTLP/HTTP from a spool, on threads of its own; the caller never waits."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Mapping
from pathlib import Path

import httpx

from collectors.otlp import encode_traces
from collectors.record import SpanRecord
from collectors.spool import Spool

log = logging.getLogger(__name__)

_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 30.0
_BATCH = 512
# The body itself is at fault: sending it again cannot help.
_REFUSED = {400, 413, 415, 422}


class Exporter:
    """Spans go to disk within moments of `keep`, and from there to the receiver until taken."""

    def __init__(
        self, spool: Spool, *, endpoint: str, key: str, resource: Mapping[str, str]
    ) -> None:
        self._spool = spool
        self._url = endpoint.rstrip("/").removesuffix("/v1/traces") + "/v1/traces"
        self._resource = dict(resource)
        headers = {"Content-Type": "application/x-protobuf", "Authorization": f"Bearer {key}"}
        self._client = httpx.Client(headers=headers, timeout=httpx.Timeout(10.0, connect=2.0))
        self._queue: queue.SimpleQueue[SpanRecord | None] = queue.SimpleQueue()
        self._written = threading.Event()
        self._stopping = threading.Event()
        self._away = False
        self._threads = [
            threading.Thread(target=self._write, name="spool-writer", daemon=True),
            threading.Thread(target=self._send, name="otlp-exporter", daemon=True),
        ]

    def start(self) -> None:
        self._written.set()  # there may be bodies from before
        for thread in self._threads:
            thread.start()

    def keep(self, record: SpanRecord) -> None:
        self._queue.put(record)

    def stop(self) -> None:
        """Write what is queued, try once more to send it; what is left waits for the next start."""
        self._queue.put(None)
        self._threads[0].join()
        self._stopping.set()
        self._written.set()
        self._threads[1].join(5)

    def _write(self) -> None:
        ended = False
        while not ended:
            records: list[SpanRecord] = []
            item = self._queue.get()
            while item is not None and len(records) < _BATCH:
                records.append(item)
                if self._queue.empty():
                    break
                item = self._queue.get()
            ended = item is None
            if records:
                self._spool.put(encode_traces(records, self._resource))
                self._written.set()

    def _send(self) -> None:
        pause = _PAUSE_S
        while True:
            self._written.wait()
            last = self._stopping.is_set()
            self._written.clear()
            if all(self._taken(file) for file in self._spool.waiting()):
                pause = _PAUSE_S
            else:
                self._stopping.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)
                self._written.set()
            if last:
                self._client.close()
                return

    def _taken(self, file: Path) -> bool:
        """Whether the body need not be sent again; it is then gone from disk."""
        try:
            body = file.read_bytes()
            answer = self._client.post(self._url, content=body)
        except FileNotFoundError:
            return True
        except httpx.HTTPError as error:
            return self._not_taken(f"cannot be reached ({type(error).__name__})")
        if answer.status_code in _REFUSED:
            log.error("%s refused %s: %s", self._url, file.name, answer.text[:300])
        elif answer.status_code != 200:
            return self._not_taken(f"answered {answer.status_code}")
        self._away = False
        file.unlink(missing_ok=True)
        return True

    def _not_taken(self, what: str) -> bool:
        if not self._away:
            log.warning("%s %s; spans wait on disk", self._url, what)
        self._away = True
        return False
