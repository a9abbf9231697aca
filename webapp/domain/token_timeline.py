"""The packed times of a call's output events, and the latencies they define.

Byte 0x01 (version), then for each output event a LEB128 varint of (gap_us << 1) | flag, the gap
counted from the event before (for the first: from the call's start). Flag 1: another varint
follows with the event's token count, 0 for unknown. Flag 0: one token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

VERSION = 1
_CONTINUES = 0x80
# Seven bytes hold a gap of 8 years in µs; a longer number is a broken or hostile timeline.
_MAX_VARINT_BYTES = 7
_EMPTY: Ints = np.zeros(0, dtype=np.int64)


class TimelineError(ValueError):
    """A packed timeline that cannot be read."""


@dataclass(frozen=True)
class Timeline:
    """Output events of one call: µs since its start, and tokens in each (0: unknown)."""

    offsets_us: Ints
    tokens: Ints

    @property
    def ttft_us(self) -> int | None:
        """First output event − start; None without an event."""
        return int(self.offsets_us[0]) if len(self.offsets_us) else None

    @property
    def last_us(self) -> int | None:
        """Last output event − start; None without an event."""
        return int(self.offsets_us[-1]) if len(self.offsets_us) else None

    @cached_property
    def itl_us(self) -> Ints:
        """Gaps between successive output events, one a gap."""
        return np.diff(self.offsets_us)

    @property
    def token_count(self) -> int | None:
        """All tokens of the timeline; None where some event's count is unknown."""
        if not len(self.tokens) or int(self.tokens.min()) == 0:
            return None
        return int(self.tokens.sum())

    def tpot_us(self, output_tokens: int | None) -> float | None:
        """Time per output token after the first event, in µs; None for no token after it."""
        total = output_tokens if output_tokens is not None else self.token_count
        if total is None or len(self.offsets_us) == 0:
            return None
        after_first = total - (int(self.tokens[0]) or 1)
        if after_first <= 0 or len(self.offsets_us) < 2:
            return None
        return float(self.offsets_us[-1] - self.offsets_us[0]) / after_first


@dataclass(frozen=True)
class Timelines:
    """Many timelines decoded together; the events of call i lie in starts[i]:starts[i + 1]."""

    offsets_us: Ints
    tokens: Ints
    starts: Ints
    readable: Bools

    def __len__(self) -> int:
        return len(self.readable)

    def __getitem__(self, index: int) -> Timeline:
        events = slice(int(self.starts[index]), int(self.starts[index + 1]))
        return Timeline(self.offsets_us[events], self.tokens[events])

    def gaps(self) -> tuple[Ints, Ints]:
        """Every gap between successive events, and the index of the call each belongs to."""
        owners = np.repeat(np.arange(len(self)), np.diff(self.starts))
        same = owners[1:] == owners[:-1]
        return np.diff(self.offsets_us)[same], owners[1:][same]


def decode(packed: bytes) -> Timeline:
    """Read one timeline; TimelineError where the bytes are not one."""
    timelines = decode_many([packed])
    if not timelines.readable[0]:
        raise TimelineError(_reason(packed))
    return timelines[0]


def decode_many(packed: Sequence[bytes]) -> Timelines:
    """Read many timelines in one pass; one that cannot be read has no events and is marked."""
    readable = np.fromiter((_looks_whole(data) for data in packed), np.bool_, len(packed))
    bodies = [bytes(data[1:]) if ok else b"" for data, ok in zip(packed, readable, strict=True)]
    lengths = np.fromiter((len(body) for body in bodies), np.int64, len(bodies))
    values, owners, too_long = _varints(b"".join(bodies), lengths)
    readable[too_long] = False
    is_count = _counts_among(values, owners)
    # A gap that promises a count must not be the last varint of its timeline.
    promised = ((values & 1) == 1) & ~is_count
    cut = np.append(owners[1:] != owners[:-1], True) if len(owners) else np.zeros(0, np.bool_)
    readable[owners[promised & cut]] = False
    if not readable.all():
        keep = readable[owners]
        values, owners, is_count = values[keep], owners[keep], is_count[keep]
    return _assembled(values, owners, is_count, readable)


def encode(events: Sequence[tuple[int, int]]) -> bytes:
    """Pack (offset_us, tokens) pairs in order of time."""
    out = bytearray([VERSION])
    before = 0
    for offset_us, tokens in events:
        gap = offset_us - before
        if gap < 0:
            raise TimelineError("the events of a timeline must be in order of time")
        before = offset_us
        _append_varint(out, gap << 1 | (tokens != 1))
        if tokens != 1:
            _append_varint(out, tokens)
    return bytes(out)


def _append_varint(out: bytearray, value: int) -> None:
    while value >= _CONTINUES:
        out.append(value & 0x7F | _CONTINUES)
        value >>= 7
    out.append(value)


def _looks_whole(data: bytes) -> bool:
    return len(data) > 0 and data[0] == VERSION and (len(data) == 1 or data[-1] < _CONTINUES)


def _reason(data: bytes) -> str:
    if not data:
        return "the token timeline is empty: not even its version is there"
    if data[0] != VERSION:
        return f"the token timeline has version {data[0]}; this program reads version {VERSION}"
    return "the token timeline ends in the middle of an event, or holds a number past all sense"


def _varints(data: bytes, lengths: Ints) -> tuple[Ints, Ints, Ints]:
    """Every LEB128 number in `data`, the timeline each came from, and those with one too long."""
    if not data:
        return _EMPTY, _EMPTY, _EMPTY
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw < _CONTINUES)
    begins = np.empty_like(ends)
    begins[0] = 0
    begins[1:] = ends[:-1] + 1
    sizes = ends - begins + 1
    owners = np.searchsorted(np.cumsum(lengths), begins, side="right")
    if int(sizes.max()) <= 1:
        return raw[ends].astype(np.int64), owners, _EMPTY
    values = (raw[begins] & 0x7F).astype(np.int64)
    for place in range(1, min(int(sizes.max()), _MAX_VARINT_BYTES)):
        longer = np.flatnonzero(sizes > place)
        part = (raw[begins[longer] + place] & 0x7F).astype(np.int64)
        values[longer] |= part << (7 * place)
    return values, owners, owners[sizes > _MAX_VARINT_BYTES]


def _counts_among(values: Ints, owners: Ints) -> Bools:
    """Which numbers are token counts: those right after a gap whose flag is set.

    Odd numbers in a row alternate gap, count, gap, …, so a number's part follows from its distance
    to the last even number before it (a timeline's beginning counts as one).
    """
    odd: Bools = (values & 1) == 1
    if not odd.any():
        return odd
    places = np.arange(len(values))
    run_start = np.zeros(len(values), np.int64)
    run_start[1:] = np.where(odd[:-1] & (owners[1:] == owners[:-1]), 0, places[1:])
    is_count: Bools = (places - np.maximum.accumulate(run_start)) % 2 == 1
    return is_count


def _assembled(values: Ints, owners: Ints, is_count: Bools, readable: Bools) -> Timelines:
    events = np.flatnonzero(~is_count)
    tokens = np.ones(len(events), np.int64)
    counted = np.flatnonzero((values[events] & 1) == 1)
    tokens[counted] = values[events[counted] + 1]
    owner = owners[events]
    running = np.cumsum(values[events] >> 1)
    starts = np.searchsorted(owner, np.arange(len(readable) + 1))
    before = np.concatenate(([0], running))[starts[:-1]]
    return Timelines(running - before[owner], tokens, starts, readable)
