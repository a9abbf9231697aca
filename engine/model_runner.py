"""Runs a transformers model once over everything in a step. Knows no requests and no policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine.loader import LoadedModel
from engine.paged_cache import AttentionGroup, PagedCache, StepLayout, attention_mask
from engine.sampler import Sampled, SampleRow, sample

# Sequences share a padded batch only while the padding stays below this factor.
_PADDING = 1.5


@dataclass(frozen=True)
class RunEntry:
    """One sequence's part of a step: new tokens from position `start`, over its blocks.

    `sample` is None while a prompt is not yet read to its end.
    """

    token_ids: Sequence[int]
    start: int
    block_ids: Sequence[int]
    sample: SampleRow | None

    @property
    def context_len(self) -> int:
        return self.start + len(self.token_ids)


class ModelRunner:
    """The model, its paged cache, and the way from entries to sampled tokens."""

    def __init__(self, loaded: LoadedModel, *, num_blocks: int, block_size: int) -> None:
        self._model = loaded.model
        self._device = loaded.device
        self._dtype = loaded.dtype
        self._block_size = block_size
        self._cache = PagedCache(
            num_layers=loaded.num_layers,
            num_blocks=num_blocks,
            block_size=block_size,
            num_kv_heads=loaded.num_kv_heads,
            head_dim=loaded.head_dim,
            dtype=loaded.dtype,
            device=loaded.device,
        )

    @torch.inference_mode()
    def run(self, entries: Sequence[RunEntry]) -> list[Sampled | None]:
        """One forward pass; for each entry the token it asked for. Returns when it is done."""
        order = sorted(
            range(len(entries)), key=lambda i: (len(entries[i].token_ids), entries[i].context_len)
        )
        ordered = [entries[i] for i in order]
        sampled = iter(self._forward(ordered))
        results: list[Sampled | None] = [None] * len(entries)
        for index in order:
            if entries[index].sample is not None:
                results[index] = next(sampled)
        return results

    def _forward(self, entries: Sequence[RunEntry]) -> list[Sampled]:
        tokens = [token for entry in entries for token in entry.token_ids]
        positions = [p for entry in entries for p in range(entry.start, entry.context_len)]
        self._cache.layout = StepLayout(
            slots=self._tensor(self._slots(entries)), groups=self._groups(entries)
        )
        rows = _last_rows(entries)
        output = self._model(
            input_ids=self._tensor(tokens)[None],
            position_ids=self._tensor(positions)[None],
            cache=self._cache,
            use_cache=False,
            # With nothing to sample one row is still computed: an empty product upsets backends.
            logits_to_keep=self._tensor(rows or [0]),
        )
        wanted = [entry.sample for entry in entries if entry.sample is not None]
        if not wanted:
            self._finish_device()
            return []
        return sample(output.logits[0], wanted)

    def _finish_device(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def _slots(self, entries: Sequence[RunEntry]) -> list[int]:
        size = self._block_size
        return [
            entry.block_ids[position // size] * size + position % size
            for entry in entries
            for position in range(entry.start, entry.context_len)
        ]

    def _groups(self, entries: Sequence[RunEntry]) -> tuple[AttentionGroup, ...]:
        groups, first_row = [], 0
        for members in _alike(entries):
            group = self._group(members, first_row)
            first_row = group.rows.stop
            groups.append(group)
        return tuple(groups)

    def _group(self, members: Sequence[RunEntry], first_row: int) -> AttentionGroup:
        query_len = len(members[0].token_ids)
        longest = max(entry.context_len for entry in members)
        fresh = longest == query_len
        width = -(-longest // self._block_size)
        blocks: list[int] = []
        if not fresh:
            for entry in members:
                used = list(entry.block_ids[: -(-entry.context_len // self._block_size)])
                blocks += used + [0] * (width - len(used))
        lens = self._tensor([entry.context_len for entry in members])
        plain = fresh or (query_len == 1 and min(e.context_len for e in members) == longest)
        return AttentionGroup(
            first_row=first_row,
            num_seqs=len(members),
            query_len=query_len,
            context_len=longest,
            context_lens=lens,
            blocks=self._tensor(blocks),
            mask=None if plain else attention_mask(lens, query_len, longest, self._dtype),
            fresh=fresh,
        )

    def _tensor(self, values: Sequence[int]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.long, device=self._device)


def _last_rows(entries: Sequence[RunEntry]) -> list[int]:
    rows, end = [], 0
    for entry in entries:
        end += len(entry.token_ids)
        if entry.sample is not None:
            rows.append(end - 1)
    return rows


def _alike(entries: Sequence[RunEntry]) -> list[list[RunEntry]]:
    """Neighbours with equally many new tokens and contexts of similar length, in order."""
    runs: list[list[RunEntry]] = []
    for entry in entries:
        if runs and _fits(runs[-1][0], entry):
            runs[-1].append(entry)
        else:
            runs.append([entry])
    return runs


def _fits(first: RunEntry, entry: RunEntry) -> bool:
    same = len(first.token_ids) == len(entry.token_ids)
    # 64 tokens of padding never matter: one more kernel call costs as much.
    return same and entry.context_len <= max(first.context_len * _PADDING, first.context_len + 64)
