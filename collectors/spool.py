"""Bodies on disk until their receiver has taken them: one file a body, oldest first."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

_SUFFIX = ".otlp"


class Spool:
    """A folder of bodies. `put` returns once one is on disk; past `max_bytes` the oldest goes."""

    def __init__(self, folder: Path, *, max_bytes: int = 256 << 20) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for half_written in folder.glob("*.part"):
            half_written.unlink()
        self._folder = folder
        self._max_bytes = max_bytes
        self._serial = itertools.count()
        self.dropped = 0

    def put(self, body: bytes) -> None:
        name = f"{time.time_ns():020d}-{next(self._serial):06d}"
        part = self._folder / f"{name}.part"
        with part.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        part.rename(part.with_suffix(_SUFFIX))
        self._sync()
        self._drop_oldest()

    def waiting(self) -> list[Path]:
        """Bodies not taken yet, oldest first."""
        return sorted(self._folder.glob(f"*{_SUFFIX}"))

    def _sync(self) -> None:
        handle = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def _drop_oldest(self) -> None:
        files = self.waiting()
        sizes = [file.stat().st_size for file in files]
        excess = sum(sizes) - self._max_bytes
        for file, size in zip(files, sizes, strict=True):
            if excess <= 0:
                return
            file.unlink(missing_ok=True)
            self.dropped += 1
            excess -= size
