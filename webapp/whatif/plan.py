"""From a server and a scenario's parameters to cards, precisions and prices, or a refusal."""

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from django.db.models import Q

from webapp.domain.accelerator import Accelerator
from webapp.domain.hardware import (
    KV_PRECISIONS,
    PRECISIONS,
    THIS_MACHINE,
    QualityRisk,
    find,
    this_machine,
    worst,
)
from webapp.domain.model_shape import ModelShape, shape_of
from webapp.domain.transfer import COUNTS, Factors, Setup, factors, fits, prior
from webapp.servers.models import Server, ServerRate
from webapp.whatif.params import AS_RECORDED, BadRun, Params


@dataclass(frozen=True)
class Ground:
    """What every scenario of a run stands on: the recorded setup and the model it serves.

    `has_steps` says whether steps were recorded, so that times are fitted and not only published.
    """

    setup: Setup
    shape: ModelShape | None
    model: str
    has_steps: bool


@dataclass(frozen=True)
class Route:
    """How step times of a scenario are come by: fitted ones times `factors`, or a prior (None)."""

    setup: Setup
    factors: Factors | None
    notes: tuple[str, ...]


def ground_of(
    server: Server, *, at: datetime, precision: str, model: str | None, has_steps: bool
) -> Ground:
    """The recorded setup of a server; its price is the one in force at `at`."""
    price, source = price_of(server, at)
    count = max(each for each in COUNTS if each <= max(1, server.hardware_count))
    card = this_machine(
        None if price is None else price / count, price_source=source, hardware=server.hardware
    )
    served = model or server.model
    setup = Setup(card, count, PRECISIONS[precision], KV_PRECISIONS["bf16"])
    return Ground(setup, shape_of(served), served or "this model", has_steps)


def price_of(server: Server, at: datetime) -> tuple[Decimal | None, str]:
    """The server's price an hour in USD, and where it comes from in words."""
    rate = (
        ServerRate.objects.filter(server=server, valid_from__lte=at)
        .filter(Q(valid_to__isnull=True) | Q(valid_to__gt=at))
        .order_by("-valid_from")
        .first()
    )
    if rate is None:
        return None, f"{server.name} has no price per hour at the end of the window"
    if rate.currency != "USD":
        return None, f"{server.name} is priced in {rate.currency}, not USD"
    kind = "an assumed price" if rate.is_assumption else "the price"
    return rate.price_per_hour, f"{kind} per hour of {server.name}"


def target_of(ground: Ground, params: Params) -> Setup:
    """The cards and precisions a scenario asks for."""
    base = ground.setup
    card = _card(base.card, params)
    count = params.count or (base.count if params.hardware == THIS_MACHINE else 1)
    precision = base.precision
    if params.precision != AS_RECORDED:
        precision = PRECISIONS[params.precision]
    kv = base.kv if params.kv_precision == AS_RECORDED else KV_PRECISIONS[params.kv_precision]
    return Setup(card, count, precision, kv)


def route_of(ground: Ground, params: Params) -> Route:
    """How the scenario's step times are found; raises BadRun where they cannot be."""
    target = target_of(ground, params)
    _check_memory(ground, target)
    if ground.has_steps and (carried := factors(ground.setup, target)) is not None:
        return Route(target, carried, carried.notes)
    if ground.shape is None:
        raise BadRun(
            f"The size of {ground.model} is unknown, so its speed on {target.card.name} cannot be "
            "estimated; name the model by its usual name, such as Llama-3.1-8B."
        )
    if prior(ground.shape, target) is None:
        raise BadRun(_no_peaks(ground, target))
    note = (
        f"No step times of {target.card.name} can be carried over: estimated from published peaks "
        "and typical efficiencies, ± 50 %."
    )
    return Route(target, None, (note,))


def risk_of(ground: Ground, params: Params) -> QualityRisk:
    """What the scenario's change of precision risks; nothing where precision stays."""
    target = target_of(ground, params)
    risks = []
    if target.precision != ground.setup.precision:
        risks.append(target.precision.risk)
    if target.kv != ground.setup.kv:
        risks.append(target.kv.risk)
    return worst(risks)


def _card(base: Accelerator, params: Params) -> Accelerator:
    card = base if params.hardware == THIS_MACHINE else find(params.hardware)
    if card is None:
        raise BadRun(f"Hardware {params.hardware!r} is not in the catalogue.")
    if params.own_price is not None and params.hardware != THIS_MACHINE:
        return replace(card, price_per_hour=params.own_price, price_source="given with the run")
    return card


def _check_memory(ground: Ground, target: Setup) -> None:
    if ground.shape is None or fits(ground.shape, target):
        return
    needed = ground.shape.weight_gb(target.precision.weight_bytes)
    raise BadRun(
        f"{ground.model} in {target.precision.name} needs {needed:,.1f} GB for its weights, more "
        f"than {target.count} × {target.card.name} ({target.card.memory_gb:g} GB each) can hold; "
        "take more cards or fewer bits."
    )


def _no_peaks(ground: Ground, target: Setup) -> str:
    if target.card.name == THIS_MACHINE:
        return (
            "No engine steps were recorded in this window, and the server's hardware is not a row "
            "of the catalogue; choose a window with recorded steps, or set the server's hardware."
        )
    return (
        f"No source states the bandwidth or the arithmetic of {target.card.name}, so nothing can "
        "be estimated for it; choose another card."
    )
