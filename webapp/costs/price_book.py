"""The price list: `genai-prices`, date-correct, with our corrections in front."""

from datetime import datetime
from decimal import Decimal
from functools import lru_cache

import genai_prices
from genai_prices import calc_price
from genai_prices.types import ModelPrice, TieredPrices

from webapp.costs.corrections import correction_for
from webapp.domain.pricing import Rates, TieredRate

VERSION = f"genai-prices {genai_prices.__version__}"
# Models that the list knows and gives no price, because they have none.
_FREE = ":free"
# Semantic-convention provider names, and the list's.
_PROVIDERS = {
    "aws.bedrock": "aws",
    "bedrock": "aws",
    "azure.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "azure_openai": "azure",
    "gcp.vertex_ai": "google",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "google_ai_studio": "google",
    "vertexai": "google",
    "mistral_ai": "mistral",
    "x_ai": "x-ai",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "moonshot_ai": "moonshotai",
    "z_ai": "zai",
}
# Our kinds of token, and the list's names of their price, the most special first.
_KEYS: dict[str, tuple[str, ...]] = {
    "input": ("input_mtok", "input_text_mtok"),
    "cache_read": ("cache_read_mtok", "cache_text_read_mtok"),
    "cache_write": ("cache_write_5m_mtok", "cache_write_mtok", "cache_text_write_mtok"),
    "cache_write_1h": ("cache_write_1h_mtok", "cache_text_write_1h_mtok"),
    "output": ("output_mtok", "output_text_mtok"),
    "reasoning": ("output_reasoning_mtok",),
    "audio_input": ("input_audio_mtok",),
    "audio_output": ("output_audio_mtok",),
    "image_input": ("input_image_mtok",),
    "image_output": ("output_image_mtok",),
}


def provider_id(provider: str) -> str:
    """The price list's name of a provider."""
    lower = provider.lower()
    return _PROVIDERS.get(lower, lower)


def rates_for(
    provider: str | None,
    model: str,
    at: datetime,
    *,
    service_tier: str | None = None,
    processing: str | None = None,
) -> Rates | None:
    """Prices in force at `at`; None where the list does not know the model.

    Prices change by the hour at most, so instants of one hour share a lookup.
    """
    # Some tariffs change at half past: the look-up is cached by quarters of an hour.
    quarter = at.replace(minute=at.minute // 15 * 15, second=0, microsecond=0)
    return _looked_up(provider and provider_id(provider), model, quarter, service_tier, processing)


@lru_cache(maxsize=10_000)
def _looked_up(
    provider: str | None,
    model: str,
    at: datetime,
    service_tier: str | None,
    processing: str | None,
) -> Rates | None:
    if provider:
        corrected = correction_for(provider, model, at)
        if corrected is not None:
            rates = {
                "input": TieredRate(corrected.input),
                "cache_read": TieredRate(corrected.cache_read),
                "output": TieredRate(corrected.output),
            }
            return Rates(rates, version=f"{VERSION}, corrected")
    context = {"service_tier": service_tier, "processing": processing}
    try:
        found = calc_price(
            genai_prices.Usage(input_tokens=0, output_tokens=0),
            model,
            provider_id=provider or None,
            genai_request_timestamp=at,
            price_context={name: value for name, value in context.items() if value} or None,
        )
    except LookupError:
        return None
    rates = _rates(found.model_price)
    if not rates and model.endswith(_FREE):
        rates = {"input": TieredRate(Decimal(0)), "output": TieredRate(Decimal(0))}
    return Rates(rates, _per_call(found.model_price), VERSION)


def _rates(price: ModelPrice) -> dict[str, TieredRate]:
    rates: dict[str, TieredRate] = {}
    for kind, keys in _KEYS.items():
        value = next((v for key in keys if (v := getattr(price, key)) is not None), None)
        if isinstance(value, TieredPrices):
            above = tuple((tier.start, tier.price) for tier in value.tiers)
            rates[kind] = TieredRate(value.base, above)
        elif value is not None:
            rates[kind] = TieredRate(value)
    return rates


def _per_call(price: ModelPrice) -> Decimal:
    value = price.requests_kcount
    return value / 1000 if isinstance(value, Decimal) else Decimal(0)
