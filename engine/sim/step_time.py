"""How long a step takes: a sum of costs that only grow, fitted to recorded steps.

seconds = weights + overhead + sequences · a + context · b + prompt tokens · c + prompt context · d

Reading the weights and the fixed overhead are one number in a fit; `split` tells them apart where
hardware is changed. A gap between steps (sampling, delivering, scheduling) is kept beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

COLUMNS = ("num_seqs", "context_tokens", "prefill_tokens", "prefill_context_tokens")
# Fewer steps than this say too little of four costs.
ENOUGH_STEPS = 40
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# A pause longer than this between two steps is waiting for work, not overhead.
_LONGEST_GAP_S = 0.05
_OUTLIER = 6.0
_ROUNDS = 4000


@dataclass(frozen=True, slots=True)
class StepFeatures:
    """What a step does: sequences in it, context tokens that decoding ones read, prompt tokens
    computed, and the context those prompts have by then."""

    num_seqs: int
    context_tokens: int
    prefill_tokens: int
    prefill_context_tokens: int


@dataclass(frozen=True, slots=True)
class StepTimeModel:
    """Costs in seconds; `gap_s` passes between a step and the next."""

    weights_s: float
    overhead_s: float
    sequence_s: float
    context_token_s: float
    prefill_token_s: float
    prefill_context_s: float = 0.0
    gap_s: float = 0.0

    def parts(self, step: StepFeatures) -> tuple[float, float, float, float]:
        """Seconds a step spends on weights, cache, prompt arithmetic and overhead."""
        return (
            self.weights_s,
            self.context_token_s * step.context_tokens,
            self.prefill_token_s * step.prefill_tokens
            + self.prefill_context_s * step.prefill_context_tokens,
            self.overhead_s + self.sequence_s * step.num_seqs,
        )

    def step_s(self, step: StepFeatures) -> float:
        return sum(self.parts(step))

    def split(self, weights_share: float) -> StepTimeModel:
        """The same times with this share of the fixed part taken to be reading weights."""
        fixed = self.weights_s + self.overhead_s
        return replace(
            self, weights_s=fixed * weights_share, overhead_s=fixed * (1.0 - weights_share)
        )

    def scaled(self, *, weights: float, context: float, prefill: float) -> StepTimeModel:
        """Each part times its own factor; overhead, sequences and gaps stay as they are."""
        return replace(
            self,
            weights_s=self.weights_s * weights,
            context_token_s=self.context_token_s * context,
            prefill_token_s=self.prefill_token_s * prefill,
            prefill_context_s=self.prefill_context_s * context,
        )


@dataclass(frozen=True)
class Fit:
    """A model, and how well it tells the steps it was fitted to.

    `residuals` maps quantiles to (measured − fitted) / fitted; `steps` is how many were used.
    """

    model: StepTimeModel
    residuals: dict[str, float]
    r_squared: float
    steps: int


def fit_step_times(started_us: Ints, columns: Mapping[str, Ints]) -> Fit | None:
    """Fit recorded steps; None where there are too few, or columns are missing."""
    if len(started_us) < ENOUGH_STEPS or not {*COLUMNS, "duration_us"} <= columns.keys():
        return None
    seconds = np.maximum(columns["duration_us"], 1) / 1e6
    features = np.column_stack(
        [np.ones(len(seconds)), *(columns[name].astype(np.float64) for name in COLUMNS)]
    )
    kept = np.ones(len(seconds), dtype=bool)
    costs = np.zeros(features.shape[1])
    for _ in range(2):
        costs = _non_negative(features[kept], seconds[kept])
        kept = _usual(features, seconds, costs)
    model = StepTimeModel(
        weights_s=float(costs[0]),
        overhead_s=0.0,
        sequence_s=float(costs[1]),
        context_token_s=float(costs[2]),
        prefill_token_s=float(costs[3]),
        prefill_context_s=float(costs[4]),
        gap_s=_gap_s(started_us, columns["duration_us"]),
    )
    fitted = features @ costs
    return Fit(
        model,
        _residual_quantiles(seconds[kept], fitted[kept]),
        _r_squared(seconds[kept], fitted[kept]),
        int(kept.sum()),
    )


def _non_negative(features: Floats, seconds: Floats) -> Floats:
    """Least squares of relative errors with no cost below zero, by coordinate descent.

    Each row is divided by its time, so that a long step does not outweigh a hundred short ones.
    """
    rows = features / seconds[:, None]
    scale = np.linalg.norm(rows, axis=0)
    scale[scale == 0] = 1.0
    rows = rows / scale
    gram, target = rows.T @ rows, rows.T @ np.ones(len(seconds))
    costs = np.zeros(rows.shape[1])
    for _ in range(_ROUNDS):
        before = costs.copy()
        for index in range(len(costs)):
            if gram[index, index] > 0:
                rest = target[index] - gram[index] @ costs + gram[index, index] * costs[index]
                costs[index] = max(rest / gram[index, index], 0.0)
        if np.abs(costs - before).max() < 1e-12 * max(costs.max(), 1e-300):
            break
    found: Floats = costs / scale
    return found


def _usual(features: Floats, seconds: Floats, costs: Floats) -> npt.NDArray[np.bool_]:
    """Steps that are not far off the rest: a first step after the start warms everything up."""
    errors = np.log(seconds / np.maximum(features @ costs, 1e-9))
    middle = np.median(errors)
    spread = np.median(np.abs(errors - middle)) * 1.4826 + 1e-6
    kept: npt.NDArray[np.bool_] = np.abs(errors - middle) <= _OUTLIER * spread
    return kept


def _gap_s(started_us: Ints, duration_us: Ints) -> float:
    """The mean pause between steps that follow each other at once."""
    gaps = (started_us[1:] - started_us[:-1] - duration_us[:-1]) / 1e6
    gaps = gaps[(gaps >= 0) & (gaps < _LONGEST_GAP_S)]
    return float(gaps.mean()) if len(gaps) else 0.0


def _residual_quantiles(seconds: Floats, fitted: Floats) -> dict[str, float]:
    relative = (seconds - fitted) / np.maximum(fitted, 1e-9)
    return {f"p{round(q * 100):02d}": float(np.quantile(relative, q)) for q in _QUANTILES}


def _r_squared(seconds: Floats, fitted: Floats) -> float:
    total = float(((seconds - seconds.mean()) ** 2).sum())
    return 1.0 - float(((seconds - fitted) ** 2).sum()) / total if total > 0 else 1.0
