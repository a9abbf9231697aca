"""The hardware catalogue, and what a precision means on a card: bytes moved, arithmetic rate, risk.

Peaks are dense. What no source states is None and stays unknown in everything computed from it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from webapp.domain.accelerator import Accelerator
from webapp.domain.hardware_nvidia import NVIDIA
from webapp.domain.hardware_other import OTHER

CATALOGUE: tuple[Accelerator, ...] = NVIDIA + OTHER
THIS_MACHINE = "this machine"

Units = Literal["bf16", "int8", "fp8"]
RiskLevel = Literal["none", "low", "medium", "high"]


@dataclass(frozen=True)
class QualityRisk:
    """What a precision is known to cost in quality, in words, and who measured it."""

    level: RiskLevel
    words: str
    source: str


@dataclass(frozen=True)
class Precision:
    """How weights are kept, and which arithmetic units multiply them where a card has those."""

    name: str
    label: str
    weight_bytes: float  # a weight, scales included
    units: Units
    risk: QualityRisk


@dataclass(frozen=True)
class KvPrecision:
    """How keys and values are cached."""

    name: str
    label: str
    bytes_per_value: float
    risk: QualityRisk


@dataclass(frozen=True)
class PrecisionOnCard:
    """What a precision does on one card.

    `weight_only` is true where weights are stored smaller but multiplied in bf16; `peak_tflops` is
    the rate they are multiplied at, None where no source states it. `note` says why, if it matters.
    """

    precision: Precision
    peak_tflops: float | None
    weight_only: bool
    note: str = ""


NO_RISK = QualityRisk("none", "No quantization.", "")
RUN_YOUR_OWN = " The smaller the model, the worse: run your own golden set."
GIVE_ME_BF16 = "arXiv 2411.02355 (over 500,000 evaluations)"
QSERVE = "QServe README, WikiText2 perplexity of Llama-3-8B"
PRECISIONS: dict[str, Precision] = {
    "bf16": Precision("bf16", "bf16", 2.0, "bf16", NO_RISK),
    "fp8": Precision(
        "fp8",
        "fp8",
        1.0,
        "fp8",
        QualityRisk("low", "Weights and activations in fp8: effectively lossless.", GIVE_ME_BF16),
    ),
    "int8": Precision(
        "int8",
        "int8",
        1.0,
        "int8",
        QualityRisk(
            "medium",
            "Weights and activations in int8: 1–3 % lower scores; perplexity 6.14 → 6.28."
            + RUN_YOUR_OWN,
            f"{GIVE_ME_BF16}; {QSERVE}",
        ),
    ),
    "int4": Precision(
        "int4",
        "int4 (weight-only, groups of 128)",
        # 4 bits and, for every 128 weights, a 16-bit scale and a 4-bit zero point.
        0.5 + 20 / 128 / 8,
        "bf16",
        QualityRisk(
            "medium",
            "Weights in int4: close to int8 in task scores; perplexity 6.14 → 6.54 to 6.56."
            + RUN_YOUR_OWN,
            f"{GIVE_ME_BF16}; {QSERVE}",
        ),
    ),
}
KV_PRECISIONS: dict[str, KvPrecision] = {
    "bf16": KvPrecision("bf16", "bf16", 2.0, NO_RISK),
    "fp8": KvPrecision(
        "fp8",
        "fp8",
        1.0,
        QualityRisk(
            "low",
            "Cache in fp8: at most 1–2 points on reasoning; 97–98 % of long-context retrieval, "
            "so a medium risk beyond 64k tokens of context.",
            "vLLM blog, 2026-04",
        ),
    ),
}
_LEVELS: tuple[RiskLevel, ...] = ("none", "low", "medium", "high")


def this_machine(
    price_per_hour: Decimal | None, *, price_source: str = "", hardware: str = ""
) -> Accelerator:
    """The owner's machine as an entry: a catalogue card where `hardware` names one, priced anew.

    A machine that no row describes keeps its peaks unknown.
    """
    known = find(hardware)
    return Accelerator(
        name=THIS_MACHINE,
        vendor=known.vendor if known else "",
        memory_gb=known.memory_gb if known else None,
        bandwidth_gb_s=known.bandwidth_gb_s if known else None,
        bf16_tflops=known.bf16_tflops if known else None,
        fp8_tflops=known.fp8_tflops if known else None,
        int8_tops=known.int8_tops if known else None,
        fp4_tflops=known.fp4_tflops if known else None,
        tdp_w=known.tdp_w if known else None,
        price_per_hour=price_per_hour,
        price_source=price_source,
        spec_source=known.spec_source if known else "",
        confidence="owner",
        note=known.name if known else hardware,
    )


def find(name: str) -> Accelerator | None:
    """The catalogue's row of a name, however it is capitalised."""
    wanted = name.strip().lower()
    return next((card for card in CATALOGUE if card.name.lower() == wanted), None)


def on_card(precision: Precision, card: Accelerator) -> PrecisionOnCard:
    """What `precision` does on `card`: without units for it, it saves bytes and nothing else."""
    if precision.units == "bf16":
        return PrecisionOnCard(precision, card.bf16_tflops, weight_only=precision.name != "bf16")
    peak = card.fp8_tflops if precision.units == "fp8" else card.int8_tops
    if peak is not None:
        return PrecisionOnCard(precision, peak, weight_only=False)
    known = card.bf16_tflops is not None
    why = f"no {precision.units} units are known on {card.note or card.name}"
    note = f"{precision.label} is weight-only here: {why}."
    return PrecisionOnCard(
        precision,
        card.bf16_tflops,
        weight_only=True,
        note=note if known else note[:-1] + " or not.",
    )


def worst(risks: Iterable[QualityRisk]) -> QualityRisk:
    """The risk of several choices together: the highest level, all their words."""
    present = [risk for risk in risks if risk.level != "none"]
    if not present:
        return NO_RISK
    level = max((risk.level for risk in present), key=_LEVELS.index)
    return QualityRisk(
        level,
        " ".join(risk.words for risk in present),
        "; ".join(risk.source for risk in present),
    )
