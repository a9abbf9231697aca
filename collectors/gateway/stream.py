"""Bytes of a streamed answer to JSON objects as they complete: server-sent events or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

Form = Literal["sse", "lines"]
# A line this long is no event of any known server; what follows is passed on but not read.
_LONGEST_LINE = 4 << 20


class EventReader:
    """Cuts what came so far into events. Never fails: what is no JSON object is left out."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._rest = b""
        self._data: list[bytes] = []
        self._lost = False

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        """Objects that this read completed, in order."""
        if self._lost:
            return
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            yield from self._line(line.rstrip(b"\r"))
        if len(self._rest) > _LONGEST_LINE:
            self._lost, self._rest = True, b""

    def end(self) -> Iterator[dict[str, Any]]:
        """What stands without its line end when the answer is over."""
        yield from self._line(self._rest.rstrip(b"\r"))
        if self._data:
            yield from self._line(b"")

    def _line(self, line: bytes) -> Iterator[dict[str, Any]]:
        if self._form == "lines":
            yield from _objects(line)
        elif line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            joined, self._data = b"\n".join(self._data), []
            yield from _objects(joined)


def _objects(text: bytes) -> Iterator[dict[str, Any]]:
    if not text.lstrip().startswith(b"{"):
        return
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(found, dict):
        yield found
