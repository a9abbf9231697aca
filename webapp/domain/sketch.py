"""A mergeable sketch of a distribution: base-2 exponential buckets at scale 6.

Bucket i holds the integers in (2^(i/64), 2^((i+1)/64)], zero has a bucket of its own. Counts are
signed, so a correction subtracts what it replaces; sum and count are exact integers.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

SCALE = 6
BUCKETS_PER_DOUBLING = 1 << SCALE
# Half a bucket on a log scale: what a value read back from a bucket may be off by.
MAX_RELATIVE_ERROR = 2 ** (0.5 / BUCKETS_PER_DOUBLING) - 1

_VERSION = 1
_HEADER = struct.Struct("<BBBBHqh")  # version, gap width, count width, sum bytes, n, zeros, first
_COUNT_TYPES: dict[int, str] = {1: "<i1", 2: "<i2", 4: "<i4", 8: "<i8"}
_GAP_TYPES: dict[int, str] = {1: "<u1", 2: "<u2"}
_EMPTY: Ints = np.zeros(0, dtype=np.int64)


def bucket_indices(values: Ints) -> Ints:
    """The bucket of each positive integer."""
    places: Ints = np.ceil(np.log2(values) * BUCKETS_PER_DOUBLING).astype(np.int64)
    return places - 1


def bucket_bounds(index: int) -> tuple[float, float]:
    """Lower (exclusive) and upper (inclusive) edge of a bucket."""
    return 2.0 ** (index / BUCKETS_PER_DOUBLING), 2.0 ** ((index + 1) / BUCKETS_PER_DOUBLING)


def bucket_value(index: int) -> float:
    """What a value in this bucket is taken for: its only integer, else its geometric middle."""
    low, high = bucket_bounds(index)
    whole = math.floor(high)
    if whole > low and whole - 1 <= low:
        return float(whole)
    return float(2.0 ** ((index + 0.5) / BUCKETS_PER_DOUBLING))


class Sketch:
    """Counts by bucket. `first` is the index of `counts[0]`; `counts` is dense from there."""

    __slots__ = ("_counts", "_first", "_sum", "_zeros")

    def __init__(self) -> None:
        self._first = 0
        self._counts: Ints = _EMPTY
        self._zeros = 0
        self._sum = 0

    @classmethod
    def of(cls, values: Sequence[int] | Ints, counts: Sequence[int] | Ints | None = None) -> Sketch:
        """A sketch of non-negative integers."""
        sketch = cls()
        sketch.add_many(values, counts)
        return sketch

    @classmethod
    def merged(cls, packed: Iterable[bytes]) -> Sketch:
        """The sum of packed sketches; cheaper than unpacking each into an object."""
        total = cls()
        for data in packed:
            indices, counts, zeros, value_sum = _unpacked(data)
            total._zeros += zeros
            total._sum += value_sum
            if len(indices):
                total._cover(int(indices[0]), int(indices[-1]) + 1)
                total._counts[indices - total._first] += counts
        return total

    @property
    def count(self) -> int:
        return int(self._counts.sum()) + self._zeros

    @property
    def sum(self) -> int:
        return self._sum

    @property
    def mean(self) -> float | None:
        count = self.count
        return self._sum / count if count > 0 else None

    def add_many(
        self, values: Sequence[int] | Ints, counts: Sequence[int] | Ints | None = None
    ) -> None:
        """Count each value once, or `counts[i]` times (negative takes away)."""
        array = np.asarray(values, dtype=np.int64)
        if not len(array):
            return
        if int(array.min()) < 0:
            raise ValueError("a sketch holds no negative values; leave them out and say why")
        weights = None if counts is None else np.asarray(counts, dtype=np.int64)
        self._sum += _exact_sum(array, weights)
        positive = array > 0
        if not positive.all():
            zeros = ~positive
            self._zeros += int(zeros.sum() if weights is None else weights[zeros].sum())
            array = array[positive]
            weights = None if weights is None else weights[positive]
        if len(array):
            self._add_buckets(bucket_indices(array), weights)

    def merge(self, other: Sketch, sign: int = 1) -> None:
        """Add another sketch to this one; `sign=-1` takes it away."""
        self._sum += sign * other._sum
        self._zeros += sign * other._zeros
        if len(other._counts):
            self._cover(other._first, other._first + len(other._counts))
            start = other._first - self._first
            self._counts[start : start + len(other._counts)] += sign * other._counts

    def quantile(self, q: float) -> float | None:
        """The q-quantile (0 ≤ q ≤ 1) as numpy's linear interpolation would give it, within
        `MAX_RELATIVE_ERROR`; None where nothing was observed.
        """
        count = self.count
        if count <= 0:
            return None
        if count == 1:
            return float(self._sum)
        rank = q * (count - 1)
        below = math.floor(rank)
        low = self._value_at(below)
        if rank == below:
            return low
        return low + (self._value_at(below + 1) - low) * (rank - below)

    def buckets(self) -> tuple[Ints, Ints]:
        """Indices and counts of the buckets in use, ascending; zeros are not among them."""
        used = np.flatnonzero(self._counts)
        return used + self._first, self._counts[used]

    @property
    def zeros(self) -> int:
        """How many of the values were 0."""
        return self._zeros

    def __add__(self, other: Sketch) -> Sketch:
        return self._combined(other, 1)

    def __sub__(self, other: Sketch) -> Sketch:
        return self._combined(other, -1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sketch) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Sketch of {self.count} values, sum {self._sum}>"

    def is_empty(self) -> bool:
        """Whether nothing at all is counted, so that storing it would say nothing."""
        return not self._zeros and not self._sum and not self._counts.any()

    def to_bytes(self) -> bytes:
        """Packed: header, sum, gaps between used buckets, their counts. Little-endian."""
        used = np.flatnonzero(self._counts)
        counts = self._counts[used]
        first = int(used[0]) + self._first if len(used) else 0
        gaps = np.diff(used)
        gap_width = 1 if not len(gaps) or int(gaps.max()) < 256 else 2
        count_width = _width_of(counts)
        sum_bytes = (self._sum.bit_length() + 8) // 8
        header = _HEADER.pack(
            _VERSION, gap_width, count_width, sum_bytes, len(used), self._zeros, first
        )
        return b"".join(
            (
                header,
                self._sum.to_bytes(sum_bytes, "little", signed=True),
                gaps.astype(_GAP_TYPES[gap_width]).tobytes(),
                counts.astype(_COUNT_TYPES[count_width]).tobytes(),
            )
        )

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> Sketch:
        """Unpack what `to_bytes` made."""
        return cls.merged([bytes(data)])

    def _combined(self, other: Sketch, sign: int) -> Sketch:
        result = Sketch()
        result.merge(self)
        result.merge(other, sign)
        return result

    def _value_at(self, rank: int) -> float:
        if rank < self._zeros:
            return 0.0
        cumulative = np.cumsum(self._counts)
        place = int(np.searchsorted(cumulative, rank - self._zeros, side="right"))
        return bucket_value(self._first + min(place, len(self._counts) - 1))

    def _add_buckets(self, indices: Ints, weights: Ints | None) -> None:
        low, high = int(indices.min()), int(indices.max()) + 1
        self._cover(low, high)
        offsets = indices - self._first
        if weights is None:
            self._counts += np.bincount(offsets, minlength=len(self._counts))
        else:
            np.add.at(self._counts, offsets, weights)

    def _cover(self, low: int, high: int) -> None:
        """Make the dense array reach from `low` up to before `high`."""
        if not len(self._counts):
            self._first, self._counts = low, np.zeros(high - low, dtype=np.int64)
            return
        end = self._first + len(self._counts)
        if low >= self._first and high <= end:
            return
        first, end = min(low, self._first), max(high, end)
        wider = np.zeros(end - first, dtype=np.int64)
        wider[self._first - first : self._first - first + len(self._counts)] = self._counts
        self._first, self._counts = first, wider


def _unpacked(data: bytes) -> tuple[Ints, Ints, int, int]:
    version, gap_width, count_width, sum_bytes, used, zeros, first = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise ValueError(
            f"a sketch of version {version} cannot be read; this is version {_VERSION}"
        )
    at = _HEADER.size
    value_sum = int.from_bytes(data[at : at + sum_bytes], "little", signed=True)
    if not used:
        return _EMPTY, _EMPTY, zeros, value_sum
    at += sum_bytes
    indices = np.empty(used, dtype=np.int64)
    indices[0] = first
    indices[1:] = np.frombuffer(data, _GAP_TYPES[gap_width], used - 1, at)
    counts = np.frombuffer(data, _COUNT_TYPES[count_width], used, at + gap_width * (used - 1))
    return np.cumsum(indices), counts.astype(np.int64), zeros, value_sum


def _width_of(counts: Ints) -> int:
    if not len(counts):
        return 1
    bits = max(int(counts.max()), -int(counts.min()) - 1).bit_length() + 1
    return next(width for width in (1, 2, 4, 8) if bits <= 8 * width)


def _exact_sum(values: Ints, weights: Ints | None) -> int:
    largest = int(values.max()) * (1 if weights is None else int(np.abs(weights).max()))
    if largest * len(values) < 1 << 62:
        return int(values.sum() if weights is None else (values * weights).sum())
    pairs = zip(values.tolist(), [1] * len(values) if weights is None else weights, strict=True)
    return sum(value * int(weight) for value, weight in pairs)
