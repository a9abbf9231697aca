"""Packs the times of output events, in the format of docs/metrics.md (version 1)."""

from __future__ import annotations

from collections.abc import Iterable

_VERSION = b"\x01"


def pack_timeline(events: Iterable[tuple[int, int]]) -> bytes:
    """Pack (offset in µs, tokens) pairs in order of time; tokens 0 means unknown."""
    out = bytearray(_VERSION)
    before = 0
    for offset_us, tokens in events:
        gap = max(offset_us - before, 0)
        before += gap
        counted = tokens != 1
        _append(out, gap << 1 | counted)
        if counted:
            _append(out, tokens)
    return bytes(out)


def _append(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
