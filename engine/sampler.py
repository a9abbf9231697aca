"""Turns a step's logits into tokens. Knows nothing of batches: each row has its own parameters.

A row's randomness is a hash of its seed and its position in the output, so the same seed gives the
same text whatever else is in the batch, and again after a preemption.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

_CANDIDATES = 256
_MASK64 = (1 << 64) - 1


@dataclass(frozen=True)
class SamplingParams:
    """How one request wants its tokens drawn; temperature 0 is greedy, top_k 0 is no limit."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0

    @property
    def greedy(self) -> bool:
        return self.temperature < 1e-5 or self.top_k == 1

    @property
    def filtered(self) -> bool:
        return self.top_p < 1.0 or self.top_k > 0


@dataclass(frozen=True)
class SampleRow:
    """One token wanted: the parameters, and how many tokens the request has made before it."""

    params: SamplingParams
    index: int


@dataclass(frozen=True)
class Sampled:
    """A token, with the model's own log-probability and entropy (nats, at temperature 1)."""

    token: int
    logprob: float
    entropy: float


def sample(logits: torch.Tensor, rows: Sequence[SampleRow]) -> list[Sampled]:
    """Draw one token for each row of `logits` (rows, vocabulary)."""
    logits = logits.float()
    tokens = logits.argmax(dim=-1)
    for number, row in enumerate(rows):
        if not row.params.greedy:
            tokens[number] = _draw(logits[number], row)
    total = logits.logsumexp(dim=-1)
    chosen = logits.gather(1, tokens[:, None]).squeeze(1) - total
    probabilities = torch.exp(logits - total[:, None])
    expected = torch.linalg.vecdot(probabilities, logits)
    # Host copies come last: on a device this is the step's only synchronisation.
    drawn = zip(tokens.tolist(), chosen.tolist(), (total - expected).tolist(), strict=True)
    return [Sampled(*values) for values in drawn]


def _draw(logits: torch.Tensor, row: SampleRow) -> torch.Tensor:
    params, point = row.params, uniform(row.params.seed, row.index)
    scaled = logits / params.temperature
    if not params.filtered:
        return _pick(torch.softmax(scaled, dim=-1), point)
    values, indices = _kept(scaled, params)
    return indices[_pick(torch.softmax(values, dim=-1), point)]


def _kept(scaled: torch.Tensor, params: SamplingParams) -> tuple[torch.Tensor, torch.Tensor]:
    """The most likely tokens that top_k, then top_p, leave: scores in falling order, and ids."""
    size = scaled.shape[-1]
    if params.top_k > 0:
        values, indices = torch.topk(scaled, min(params.top_k, size))
        mass = torch.softmax(values, dim=-1)
    else:
        # Sorting the whole vocabulary is slow; a few hundred candidates nearly always hold top_p.
        total = scaled.logsumexp(-1)
        values, indices = torch.topk(scaled, min(_CANDIDATES, size))
        if float((values - total).exp().sum()) < params.top_p:
            values, indices = scaled.sort(descending=True)
        mass = (values - total).exp()
    keep = max(int((mass.cumsum(-1) - mass < params.top_p).sum()), 1)
    return values[:keep], indices[:keep]


def _pick(probabilities: torch.Tensor, point: float) -> torch.Tensor:
    """Where `point` of (0, 1) falls in the cumulative distribution."""
    cumulative = probabilities.double().cumsum(-1)
    where = torch.searchsorted(cumulative, cumulative[-1] * point, right=True)
    return where.clamp_(max=probabilities.shape[-1] - 1)


def uniform(seed: int, index: int) -> float:
    """A number in [0, 1) that depends on `seed` and `index` alone (splitmix64 over both)."""
    mixed = _mix((seed & _MASK64) ^ _mix(index + 1))
    return (mixed >> 11) * 2.0**-53


def _mix(value: int) -> int:
    value = (value + 0x9E3779B97F4A7C15) & _MASK64
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK64
    return value ^ (value >> 31)
