"""Telemetry on disk until somebody has taken it: numbered segment files of checksummed frames.

A frame counts once `append` has returned. Segments still `.open` when the process died are picked
up at the next start; a frame cut off by the crash is left out.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

SPAN = 1
STEPS = 2
_HEADER = struct.Struct("<IIB")
_LARGEST_FRAME = 16 << 20


class SpoolBusy(Exception):
    """Another process uses the folder."""


@dataclass(frozen=True)
class Frame:
    """One record: what it is (`SPAN` or `STEPS`) and its bytes."""

    kind: int
    payload: bytes


class Spool:
    """A bounded folder of segments. When it is full the oldest segment goes, and is counted."""

    def __init__(
        self, folder: Path, *, max_bytes: int = 256 << 20, segment_bytes: int = 1 << 20
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._segment_bytes = segment_bytes
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self._path: Path | None = None
        self.dropped_frames = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._guard = self._take_folder()
        for left in folder.glob("*.open"):
            left.rename(left.with_suffix(".seg"))
        numbers = [int(path.stem) for path in self._sealed()]
        self._next = max(numbers, default=0) + 1
        self._bytes = sum(path.stat().st_size for path in self._sealed())

    def append(self, frames: Iterable[Frame]) -> None:
        """Write and fsync; when this returns the frames survive the process and the power."""
        data = b"".join(_encoded(frame) for frame in frames)
        if not data:
            return
        with self._lock:
            file = self._file or self._open_segment()
            file.write(data)
            os.fsync(file.fileno())
            self._bytes += len(data)
            if file.tell() >= self._segment_bytes:
                self._seal()
            self._enforce_bound()

    def seal(self) -> list[Path]:
        """Close the open segment, if it holds anything; all closed segments, oldest first."""
        with self._lock:
            self._seal()
            return self._sealed()

    def read(self, segment: Path) -> list[Frame]:
        """The whole frames of a segment; empty when it has been dropped meanwhile."""
        try:
            return _decoded(segment.read_bytes())
        except FileNotFoundError:
            return []

    def remove(self, segment: Path) -> None:
        with self._lock:
            self._remove(segment)

    def close(self) -> None:
        with self._lock:
            self._seal()
            self._guard.close()

    def _take_folder(self) -> BinaryIO:
        guard = (self._folder / "lock").open("wb")
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            guard.close()
            raise SpoolBusy(
                f"The spool folder {self._folder} is in use by another engine; "
                "give each engine its own --spool."
            ) from error
        return guard

    def _open_segment(self) -> BinaryIO:
        self._path = self._folder / f"{self._next:012d}.open"
        self._next += 1
        # Unbuffered: a write that fails half way must not leave bytes to be written again later.
        self._file = self._path.open("wb", buffering=0)  # type: ignore[assignment]
        _sync_folder(self._folder)
        assert self._file is not None
        return self._file

    def _seal(self) -> None:
        if self._file is None or self._path is None:
            return
        self._file.close()
        self._path.rename(self._path.with_suffix(".seg"))
        self._file = self._path = None

    def _sealed(self) -> list[Path]:
        return sorted(self._folder.glob("*.seg"))

    def _enforce_bound(self) -> None:
        while self._bytes > self._max_bytes:
            oldest = next(iter(self._sealed()), None)
            if oldest is None:
                return
            self.dropped_frames += len(_decoded(oldest.read_bytes()))
            self._remove(oldest)

    def _remove(self, segment: Path) -> None:
        try:
            size = segment.stat().st_size
            segment.unlink()
        except FileNotFoundError:
            return
        self._bytes -= size


def _encoded(frame: Frame) -> bytes:
    checksum = zlib.crc32(frame.payload)
    return _HEADER.pack(len(frame.payload), checksum, frame.kind) + frame.payload


def _decoded(data: bytes) -> list[Frame]:
    frames, at = [], 0
    while at + _HEADER.size <= len(data):
        size, checksum, kind = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        payload = data[at : at + size]
        if size > _LARGEST_FRAME or len(payload) < size or zlib.crc32(payload) != checksum:
            break
        frames.append(Frame(kind, payload))
        at += size
    return frames


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
