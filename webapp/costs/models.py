"""Prices of the organisation's own, and the ledger that splits each server's bill."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.timezone import now

from webapp.accounts.models import Project
from webapp.servers.models import Server

_RATE = {"max_digits": 20, "decimal_places": 10, "null": True, "blank": True}


class CustomPrice(models.Model):
    """A negotiated or missing price of a model, in USD per million tokens, over a span of time.

    It goes before the price list. What it leaves empty falls back as in `domain.pricing.KINDS`.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="custom_prices")
    provider = models.CharField(max_length=60, blank=True)  # empty: any provider
    model = models.CharField(max_length=200)
    input_per_million = models.DecimalField(**_RATE)
    cache_read_per_million = models.DecimalField(**_RATE)
    cache_write_per_million = models.DecimalField(**_RATE)
    output_per_million = models.DecimalField(**_RATE)
    per_call = models.DecimalField(**_RATE)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)
    note = models.CharField(max_length=200, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(default=now)

    class Meta:
        db_table = "costs_custom_price"
        ordering = ["model", "-valid_from"]
        constraints = [
            models.CheckConstraint(
                condition=Q(valid_to__isnull=True) | Q(valid_to__gt=F("valid_from")),
                name="custom_price_ends_after_start",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model} from {self.valid_from:%Y-%m-%d}"


class LedgerHour(models.Model):
    """How one hour's bill of a server was split, in whole nano-dollars, so that it sums exactly:
    bill = attributed + idle + unattributed.
    """

    server = models.ForeignKey(Server, models.CASCADE, related_name="ledger_hours")
    starts_at = models.DateTimeField()
    bill_nano_usd = models.BigIntegerField()
    attributed_nano_usd = models.BigIntegerField()
    idle_nano_usd = models.BigIntegerField()
    unattributed_nano_usd = models.BigIntegerField()
    call_count = models.BigIntegerField()
    busy_us = models.BigIntegerField()
    is_settled = models.BooleanField(default=False)
    settled_at = models.DateTimeField(default=now)

    class Meta:
        db_table = "costs_ledger_hour"
        constraints = [
            models.UniqueConstraint(fields=["server", "starts_at"], name="one_ledger_hour"),
            models.CheckConstraint(
                condition=Q(
                    bill_nano_usd=F("attributed_nano_usd")
                    + F("idle_nano_usd")
                    + F("unattributed_nano_usd")
                ),
                name="ledger_sums_to_bill",
            ),
        ]
        indexes = [models.Index(fields=["starts_at"], name="ledger_by_time")]

    def __str__(self) -> str:
        return f"{self.server} {self.starts_at:%Y-%m-%d %H:%M}"
