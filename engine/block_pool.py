"""Blocks of the key-value cache: who holds them, and which prompt prefixes they keep.

A block that holds a full block of a known prompt prefix stays findable by its hash after its last
holder let go, until its place is needed: the free list is in order of release, oldest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MASK64 = (1 << 64) - 1
_SEED = 0x9E3779B97F4A7C15


def block_hashes(token_ids: Sequence[int], block_size: int) -> list[int]:
    """A 64-bit hash for each full block, each chained to the one before: equal hash, equal prefix.

    Depends on the tokens alone, so hashes of different processes can be compared.
    """
    hashes: list[int] = []
    chained = _SEED
    for start in range(0, len(token_ids) - block_size + 1, block_size):
        # The hash of a tuple of integers does not depend on the process's hash seed.
        chained = hash((chained, *token_ids[start : start + block_size])) & _MASK64
        hashes.append(chained)
    return hashes


class BlockPool:
    """Counts holders of each block; gives out free ones, least recently released first."""

    def __init__(self, num_blocks: int) -> None:
        self.num_blocks = num_blocks
        self._holders = [0] * num_blocks
        self._hash_of: list[int | None] = [None] * num_blocks
        self._by_hash: dict[int, int] = {}
        # A dict keeps order and drops any key at once: the free list and its index in one.
        self._free: dict[int, None] = dict.fromkeys(range(num_blocks))

    @property
    def num_free(self) -> int:
        return len(self._free)

    @property
    def num_used(self) -> int:
        return self.num_blocks - len(self._free)

    def find_prefix(self, hashes: Sequence[int], most: int) -> list[int]:
        """Blocks that hold the longest known prefix, at most `most` of them; nothing is taken."""
        found: list[int] = []
        for value in hashes[:most]:
            block = self._by_hash.get(value)
            if block is None:
                break
            found.append(block)
        return found

    def num_free_among(self, blocks: Iterable[int]) -> int:
        """How many of these blocks nobody holds: taking them uses up that many free ones."""
        return sum(self._holders[block] == 0 for block in blocks)

    def take(self, count: int) -> list[int]:
        """Take free blocks; whatever they kept is forgotten. The caller has checked `num_free`."""
        taken: list[int] = []
        for _ in range(count):
            block = next(iter(self._free))
            del self._free[block]
            self._forget(block)
            self._holders[block] = 1
            taken.append(block)
        return taken

    def share(self, blocks: Iterable[int]) -> None:
        """Hold blocks found by `find_prefix`."""
        for block in blocks:
            if self._holders[block] == 0:
                del self._free[block]
            self._holders[block] += 1

    def remember(self, block: int, value: int) -> None:
        """A block is computed in full and holds this prefix. The first to hold one keeps it."""
        if self._hash_of[block] is None and value not in self._by_hash:
            self._hash_of[block] = value
            self._by_hash[value] = block

    def release(self, blocks: Sequence[int]) -> None:
        """Let go. A prefix's end is given up before its beginning, which more prompts share."""
        for block in reversed(blocks):
            self._holders[block] -= 1
            if self._holders[block] == 0:
                self._free[block] = None

    def check_integrity(self, held: Iterable[Sequence[int]]) -> None:
        """AssertionError where holders, free list and hashes disagree with what requests hold."""
        holders = [0] * self.num_blocks
        for blocks in held:
            assert len(set(blocks)) == len(blocks), "a request holds a block twice"
            for block in blocks:
                holders[block] += 1
        assert holders == self._holders, "blocks are counted wrongly"
        assert {b for b, n in enumerate(holders) if n == 0} == set(self._free), "free list is wrong"
        for value, block in self._by_hash.items():
            assert self._hash_of[block] == value, "a hash points to another block"
        assert sum(value is not None for value in self._hash_of) == len(self._by_hash)

    def _forget(self, block: int) -> None:
        value = self._hash_of[block]
        if value is not None:
            del self._by_hash[value]
            self._hash_of[block] = None
