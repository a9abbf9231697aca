"""Step times carried to other hardware and precision: ratios of published peaks, and a prior.

A step costs reading the weights, a fixed overhead, something for each sequence, reading the cache,
and arithmetic for prompt tokens. Each part scales with its own peak. Pure arithmetic, no clock.
"""

from dataclasses import dataclass

from webapp.domain.accelerator import Accelerator
from webapp.domain.hardware import KvPrecision, Precision, on_card
from webapp.domain.model_shape import ModelShape

# Share of peak bandwidth reached reading weights, by cards in tensor parallel. Bandwidth lost to
# collectives is in it. Published vLLM and TensorRT-LLM runs of 8B and 70B models on H100 and H200.
WEIGHT_EFFICIENCY = {1: 0.68, 2: 0.52, 4: 0.38, 8: 0.24}
# The same for arithmetic of prompts, relative to one card. Published A100 prefill runs.
PREFILL_SCALING = {1: 1.0, 2: 0.94, 4: 0.83, 8: 0.63}
PREFILL_EFFICIENCY = 0.40  # 0.45 on H100, 0.38 on A100, 0.32 on L40S
CACHE_EFFICIENCY = 0.90  # cache reads, bf16 and fp8 alike
INT4_EFFICIENCY = 0.65  # of the bandwidth bf16 weights reach: 863 against 1,397 GB/s on one A100
LAYER_S, SEQUENCE_S, STEP_S = 32e-6, 4e-6, 126e-6  # overheads fitted to 38 vLLM runs
# Of a fixed cost whose weight share cannot be computed, this part is taken to be weight reads.
ASSUMED_WEIGHT_SHARE = 0.75
# Relative error to expect on top of the fit's own, by what was changed: measured on public points
# of other cards (6–12 %) and other precisions (16–17 %); the prior's is of its own order.
OTHER_CARD, OTHER_PRECISION, PRIOR = 0.12, 0.17, 0.50
COUNTS = tuple(WEIGHT_EFFICIENCY)
MEMORY_SHARE, RESERVE_GB = 0.9, 3.0  # usable share of a card's memory, and what the engine takes


@dataclass(frozen=True)
class Setup:
    """One replica: `count` cards in tensor parallel, and how weights and cache are kept."""

    card: Accelerator
    count: int
    precision: Precision
    kv: KvPrecision


@dataclass(frozen=True)
class Terms:
    """Cost of a step in seconds: fixed, a sequence, a token of context read, a prompt token."""

    weights_s: float
    overhead_s: float
    sequence_s: float
    context_token_s: float
    prefill_token_s: float


@dataclass(frozen=True)
class Factors:
    """What each part of a fitted step is multiplied by, and the relative error that adds."""

    weights: float = 1.0
    context: float = 1.0
    prefill: float = 1.0
    spread: float = 0.0
    notes: tuple[str, ...] = ()


def factors(base: Setup, target: Setup) -> Factors | None:
    """How step times change from `base` to `target`; None where a peak that matters is unknown."""
    bandwidth = _bandwidth_ratio(base.card, target.card)
    arithmetic = _arithmetic_ratio(base, target)
    if bandwidth is None or arithmetic is None:
        return None
    stored = target.precision.weight_bytes / base.precision.weight_bytes
    cached = target.kv.bytes_per_value / base.kv.bytes_per_value
    reach = _weight_efficiency(base) * base.count / (_weight_efficiency(target) * target.count)
    return Factors(
        weights=stored * bandwidth * reach,
        context=cached * bandwidth * base.count / target.count,
        prefill=arithmetic * base.count / target.count * _prefill_scaling(base, target),
        spread=_spread(base, target),
        notes=_notes(base, target),
    )


def prior(shape: ModelShape, target: Setup) -> Terms | None:
    """Step costs from published peaks and efficiencies alone; None where a peak is unknown."""
    card = target.card
    peak = on_card(target.precision, card).peak_tflops
    floor = weight_floor_s(shape, target)
    if floor is None or peak is None or card.bandwidth_gb_s is None:
        return None
    bandwidth = card.bandwidth_gb_s * 1e9 * target.count
    flops = peak * 1e12 * target.count * PREFILL_SCALING[target.count] * PREFILL_EFFICIENCY
    kv = shape.kv_bytes(target.kv.bytes_per_value) or 0.0
    active = shape.active_parameters or shape.parameters
    return Terms(
        weights_s=floor / _weight_efficiency(target),
        overhead_s=STEP_S + LAYER_S * (shape.layers or 32),
        sequence_s=SEQUENCE_S,
        context_token_s=kv / (bandwidth * CACHE_EFFICIENCY),
        prefill_token_s=2 * active / flops,
    )


def weight_floor_s(shape: ModelShape, setup: Setup) -> float | None:
    """The least time of a step: every (active) weight read once at peak bandwidth."""
    if setup.card.bandwidth_gb_s is None:
        return None
    active = shape.active_parameters or shape.parameters
    weight_gb = active * setup.precision.weight_bytes / 1e9
    return weight_gb / (setup.card.bandwidth_gb_s * setup.count)


def weights_share(fixed_s: float, shape: ModelShape | None, base: Setup) -> tuple[float, bool]:
    """Part of a fixed cost that reads weights, and whether that is assumed (no peak is known)."""
    floor = weight_floor_s(shape, base) if shape else None
    if floor is None or fixed_s <= 0:
        return ASSUMED_WEIGHT_SHARE, True
    return min(1.0, floor / _weight_efficiency(base) / fixed_s), False


def cache_tokens(shape: ModelShape, setup: Setup) -> int | None:
    """Tokens of context one replica can hold; 0 where not even the weights fit, None: unknown."""
    kv = shape.kv_bytes(setup.kv.bytes_per_value)
    if setup.card.memory_gb is None or kv is None:
        return None
    usable_gb = (MEMORY_SHARE * setup.card.memory_gb - RESERVE_GB) * setup.count
    return max(0, int((usable_gb - shape.weight_gb(setup.precision.weight_bytes)) * 1e9 / kv))


def fits(shape: ModelShape, setup: Setup) -> bool:
    """Whether the weights fit the memory; true where the memory is unknown."""
    if setup.card.memory_gb is None:
        return True
    usable_gb = (MEMORY_SHARE * setup.card.memory_gb - RESERVE_GB) * setup.count
    return shape.weight_gb(setup.precision.weight_bytes) < usable_gb


def _same_card(base: Accelerator, target: Accelerator) -> bool:
    return base.name == target.name or (base.note or base.name) == target.name


def _bandwidth_ratio(base: Accelerator, target: Accelerator) -> float | None:
    if _same_card(base, target):
        return 1.0
    if base.bandwidth_gb_s is None or target.bandwidth_gb_s is None:
        return None
    return base.bandwidth_gb_s / target.bandwidth_gb_s


def _arithmetic_ratio(base: Setup, target: Setup) -> float | None:
    before = on_card(base.precision, base.card).peak_tflops
    after = on_card(target.precision, target.card).peak_tflops
    if before is not None and after is not None:
        return before / after
    return 1.0 if _same_card(base.card, target.card) else None


def _weight_efficiency(setup: Setup) -> float:
    reached = WEIGHT_EFFICIENCY[setup.count]
    return reached * INT4_EFFICIENCY if setup.precision.name == "int4" else reached


def _prefill_scaling(base: Setup, target: Setup) -> float:
    return PREFILL_SCALING[base.count] / PREFILL_SCALING[target.count]


def _spread(base: Setup, target: Setup) -> float:
    moved = not _same_card(base.card, target.card) or base.count != target.count
    requantized = (base.precision, base.kv) != (target.precision, target.kv)
    return OTHER_CARD * moved + OTHER_PRECISION * requantized


def _notes(base: Setup, target: Setup) -> tuple[str, ...]:
    notes = []
    if not _same_card(base.card, target.card) or base.count != target.count:
        notes.append(
            f"Step times carried from {base.count} × {base.card.name} by ratios of published peaks."
        )
    if base.precision != target.precision and (note := on_card(target.precision, target.card).note):
        notes.append(note)
    return tuple(notes)
