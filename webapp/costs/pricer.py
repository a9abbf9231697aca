"""The price of a call of a project: engine time where a server has a price, else tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from webapp.costs.models import CustomPrice
from webapp.costs.price_book import VERSION, rates_for
from webapp.domain.pricing import (
    PricedCall,
    Rates,
    TieredRate,
    Usage,
    price_engine_time,
    price_tokens,
    unpriced,
)
from webapp.servers.models import Server, ServerRate

_SELF_HOSTED = "inferometer"


@dataclass(frozen=True)
class _HourPrice:
    price_per_hour: Decimal
    currency: str
    valid_from: datetime
    valid_to: datetime | None

    def covers(self, at: datetime) -> bool:
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)


class Pricer:
    """Prices calls with the rows that were in the database when it was made."""

    def __init__(
        self,
        hour_prices: dict[int, list[_HourPrice]],
        custom: Sequence[CustomPrice],
        own_servers: frozenset[int] = frozenset(),
    ) -> None:
        self._hour_prices = hour_prices
        self._custom = custom
        self._own_servers = own_servers

    def price(
        self,
        *,
        provider: str | None,
        model: str | None,
        at: datetime,
        usage: Usage,
        status: str,
        server_id: int | None = None,
        busy_us: int | None = None,
        service_tier: str | None = None,
        processing: str | None = None,
        region: str | None = None,
    ) -> PricedCall:
        """What one call costs; never a silent 0: unpriced with a reason where it is not known."""
        if server_id in self._hour_prices or server_id in self._own_servers:
            return self._engine_time(server_id, at, busy_us)
        if status == "rejected" and usage.output in (None, 0):
            return _nothing("Refused before any work was done.")
        if not model:
            return unpriced("No model was named; register one with the server.")
        rates = self._own_rates(provider, model, at) or rates_for(
            provider, model, at, service_tier=service_tier, processing=processing
        )
        if rates is None:
            return unpriced(_no_price(provider, model), VERSION)
        return price_tokens(usage, rates)

    def _engine_time(self, server_id: int | None, at: datetime, busy_us: int | None) -> PricedCall:
        prices = self._hour_prices.get(server_id or 0, [])
        price = next((each for each in prices if each.covers(at)), None)
        if price is None:
            return unpriced("The server has no price per hour at this time; set one with it.")
        if price.currency != "USD":
            return unpriced(f"The server is priced in {price.currency}; only USD is computed.")
        if busy_us is None:
            return unpriced("The server does not report engine time for its calls.")
        version = f"{price.price_per_hour.normalize():f} USD/h from {price.valid_from:%Y-%m-%d}"
        return price_engine_time(busy_us, price.price_per_hour, version)

    def _own_rates(self, provider: str | None, model: str, at: datetime) -> Rates | None:
        for row in self._custom:
            if row.model.lower() != model.lower():
                continue
            if row.provider and row.provider.lower() != (provider or "").lower():
                continue
            if row.valid_from <= at and (row.valid_to is None or at < row.valid_to):
                return _rates_of(row)
        return None


def pricer_for(project_id: int) -> Pricer:
    """A pricer with the project's prices as they stand now: three queries, none a call."""
    prices: dict[int, list[_HourPrice]] = {}
    for rate in ServerRate.objects.filter(server__project_id=project_id).order_by("-valid_from"):
        prices.setdefault(rate.server_id, []).append(
            _HourPrice(rate.price_per_hour, rate.currency, rate.valid_from, rate.valid_to)
        )
    own = Server.objects.filter(project_id=project_id, kind=Server.Kind.ENGINE)
    custom = CustomPrice.objects.filter(project_id=project_id).order_by("-valid_from")
    return Pricer(prices, list(custom), frozenset(own.values_list("pk", flat=True)))


def _rates_of(row: CustomPrice) -> Rates:
    amounts = {
        "input": row.input_per_million,
        "cache_read": row.cache_read_per_million,
        "cache_write": row.cache_write_per_million,
        "output": row.output_per_million,
    }
    return Rates(
        {kind: TieredRate(amount) for kind, amount in amounts.items() if amount is not None},
        row.per_call or Decimal(0),
        f"custom price {row.pk} from {row.valid_from:%Y-%m-%d}",
        "custom_price",
    )


def _nothing(reason: str) -> PricedCall:
    return PricedCall("priced", total_usd=Decimal(0), reason=reason, basis="price_book")


def _no_price(provider: str | None, model: str) -> str:
    whose = f"{provider}'s {model}" if provider and provider != _SELF_HOSTED else model
    return f"The price book has no price for {whose}; add one under Costs."
