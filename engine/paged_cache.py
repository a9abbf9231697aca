"""The adapter between unmodified transformers models and our block pool; the only file that knows
how transformers 5.24 hands keys and values to a cache and to an attention function.

A packed batch of shape (1, tokens) goes through the model. Each attention layer calls
`PagedCache.update`, which stores the new keys and values and leaves the step's layout in the
layer's keyword arguments; the attention function registered here reads it from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

ATTENTION_NAME = "inferometer_paged"
_LAYOUT = "paged_layout"


@dataclass(frozen=True)
class AttentionGroup:
    """Sequences with equally many new tokens, whose attention runs as one padded batch.

    They occupy rows `first_row` onward of the packed batch, sequence after sequence.
    `context_len` is the longest context; `context_lens` the true ones, new tokens included.
    """

    first_row: int
    num_seqs: int
    query_len: int
    context_len: int
    context_lens: torch.Tensor
    blocks: torch.Tensor
    mask: torch.Tensor | None
    fresh: bool

    @property
    def rows(self) -> slice:
        return slice(self.first_row, self.first_row + self.num_seqs * self.query_len)


@dataclass(frozen=True)
class StepLayout:
    """Where a step's tokens are written, and how they attend."""

    slots: torch.Tensor
    groups: tuple[AttentionGroup, ...]


class PagedCache:
    """Keys and values of every layer, in blocks that the scheduler hands out."""

    is_compileable = False

    def __init__(
        self,
        *,
        num_layers: int,
        num_blocks: int,
        block_size: int,
        num_kv_heads: int,
        head_dim: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        shape = (num_blocks, block_size, num_kv_heads, head_dim)
        # Zeros, not garbage: a masked key still multiplies its value by 0, and 0 x NaN is NaN.
        self.keys = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(num_layers)]
        self.values = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(num_layers)]
        self.layout: StepLayout | None = None

    def update(
        self,
        key: torch.Tensor,
        value: torch.Tensor,
        layer_idx: int,
        kwargs: dict[str, Any] | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Called by each attention layer with new keys and values, (1, heads, tokens, dim)."""
        layout = self.layout
        if layout is None or kwargs is None:
            raise RuntimeError("the model calls its cache in a way this adapter does not know")
        pool_k, pool_v = self.keys[layer_idx], self.values[layer_idx]
        pool_k.flatten(0, 1).index_copy_(0, layout.slots, key[0].transpose(0, 1))
        pool_v.flatten(0, 1).index_copy_(0, layout.slots, value[0].transpose(0, 1))
        kwargs[_LAYOUT] = (layout, pool_k, pool_v)
        return key, value

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Positions are always given explicitly, so no model needs a length from here."""
        return 0


def register_attention() -> None:
    """Make the paged attention known to transformers; doing so again changes nothing."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION_NAME, paged_attention)


def paged_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of a packed step: each group of sequences over its own gathered context."""
    layout, pool_k, pool_v = kwargs[_LAYOUT]
    outputs = []
    for group in layout.groups:
        k, v = _fresh(group, key, value) if group.fresh else _gathered(group, pool_k, pool_v)
        outputs.append(_attend(group, query, k, v, scaling, sliding_window))
    joined = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
    return joined.unsqueeze(0), None


def _fresh(
    group: AttentionGroup, key: torch.Tensor, value: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """A prompt's first chunk has no context but itself: nothing to gather."""
    return _by_sequence(group, key), _by_sequence(group, value)


def _by_sequence(group: AttentionGroup, packed: torch.Tensor) -> torch.Tensor:
    """(1, heads, tokens, dim) of the whole step -> (sequences, heads, query_len, dim)."""
    rows = packed[0, :, group.rows]
    return rows.reshape(rows.shape[0], group.num_seqs, group.query_len, -1).transpose(0, 1)


def _gathered(
    group: AttentionGroup, pool_k: torch.Tensor, pool_v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The context of each sequence out of its blocks, (sequences, kv heads, context, dim)."""

    def gather(pool: torch.Tensor) -> torch.Tensor:
        blocks = pool.index_select(0, group.blocks)
        rows = blocks.view(group.num_seqs, -1, pool.shape[2], pool.shape[3])
        return rows[:, : group.context_len].transpose(1, 2)

    return gather(pool_k), gather(pool_v)


def _attend(
    group: AttentionGroup,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scaling: float | None,
    sliding_window: int | None,
) -> torch.Tensor:
    """Attention of one group, as rows of the packed batch: (tokens, heads, dim)."""
    q = _by_sequence(group, query)
    num_heads, kv_heads, dim = q.shape[1], key.shape[1], q.shape[-1]
    mask = group.mask
    if sliding_window is not None and group.context_len > sliding_window:
        mask = _windowed(group, sliding_window, q.dtype)
    if group.query_len == 1:
        # One query a sequence: its heads stand in for positions, so no key is repeated.
        q = q.reshape(group.num_seqs, kv_heads, num_heads // kv_heads, dim)
    out = scaled_dot_product_attention(
        q,
        key,
        value,
        attn_mask=mask,
        is_causal=group.fresh and mask is None and group.query_len > 1,
        scale=scaling,
        enable_gqa=group.query_len > 1 and num_heads != kv_heads,
    )
    if group.query_len == 1:
        return out.reshape(group.num_seqs, num_heads, dim)
    return out.transpose(1, 2).reshape(group.num_seqs * group.query_len, num_heads, dim)


def attention_mask(
    context_lens: torch.Tensor,
    query_len: int,
    context_len: int,
    dtype: torch.dtype,
    window: int | None = None,
) -> torch.Tensor:
    """Additive mask (sequences, 1, query_len, context_len): a query sees what is not after it."""
    device = context_lens.device
    positions = context_lens[:, None] - query_len + torch.arange(query_len, device=device)
    columns = torch.arange(context_len, device=device)
    hidden = columns > positions[:, :, None]
    if window is not None:
        hidden |= columns <= positions[:, :, None] - window
    mask = torch.zeros(hidden.shape, dtype=dtype, device=device)
    return mask.masked_fill_(hidden, float("-inf")).unsqueeze(1)


def _windowed(group: AttentionGroup, window: int, dtype: torch.dtype) -> torch.Tensor:
    return attention_mask(
        group.context_lens, group.query_len, group.context_len, dtype, window=window
    )
