"""Spans by day, engine steps, server samples, and the rollups every dashboard number comes from.

The partitioned table is made by hand-written SQL (migration 0002), so its model is unmanaged.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from webapp.accounts.models import Project
from webapp.servers.models import Server


class Span(models.Model):
    """One span; columns as in `collectors.record.SpanRecord`, plus what pricing found.

    `trace_id` is a UUID, `span_id` the eight bytes read as a signed big-endian integer.
    """

    pk = models.CompositePrimaryKey("trace_id", "span_id", "started_at", "project_id")
    project_id = models.IntegerField()
    server_id = models.IntegerField(null=True)
    trace_id = models.UUIDField()
    span_id = models.BigIntegerField()
    parent_span_id = models.BigIntegerField(null=True)
    name = models.TextField()
    kind = models.TextField()
    session_id = models.TextField(null=True)
    user_id = models.TextField(null=True)
    team = models.TextField(null=True)
    feature = models.TextField(null=True)
    environment = models.TextField(null=True)
    tags = models.JSONField(null=True)
    provider = models.TextField(null=True)
    request_model = models.TextField(null=True)
    response_model = models.TextField(null=True)
    source = models.TextField()
    started_at = models.DateTimeField()
    duration_us = models.BigIntegerField(null=True)
    queue_us = models.BigIntegerField(null=True)
    prefill_us = models.BigIntegerField(null=True)
    decode_us = models.BigIntegerField(null=True)
    preempted_us = models.BigIntegerField(null=True)
    ttft_us = models.BigIntegerField(null=True)
    client_ttft_us = models.BigIntegerField(null=True)
    tpot_us = models.BigIntegerField(null=True)
    input_tokens = models.IntegerField(null=True)
    cached_input_tokens = models.IntegerField(null=True)
    cache_write_tokens = models.IntegerField(null=True)
    cache_write_1h_tokens = models.IntegerField(null=True)
    output_tokens = models.IntegerField(null=True)
    reasoning_tokens = models.IntegerField(null=True)
    audio_input_tokens = models.IntegerField(null=True)
    audio_output_tokens = models.IntegerField(null=True)
    image_input_tokens = models.IntegerField(null=True)
    image_output_tokens = models.IntegerField(null=True)
    tokens_source = models.TextField()
    token_timeline = models.BinaryField(null=True)
    status = models.TextField()
    status_message = models.TextField(null=True)
    finish_reason = models.TextField(null=True)
    error_type = models.TextField(null=True)
    http_status = models.SmallIntegerField(null=True)
    attempts = models.SmallIntegerField(null=True)
    busy_us = models.BigIntegerField(null=True)
    batch_mean = models.FloatField(null=True)
    preemptions = models.SmallIntegerField(null=True)
    drafted_tokens = models.IntegerField(null=True)
    accepted_tokens = models.IntegerField(null=True)
    prefix_hashes = models.BinaryField(null=True)
    mean_logprob = models.FloatField(null=True)
    mean_entropy = models.FloatField(null=True)
    repetition = models.FloatField(null=True)
    refusal = models.BooleanField(null=True)
    service_tier = models.TextField(null=True)
    processing = models.TextField(null=True)
    region = models.TextField(null=True)
    # money, as computed at ingest or by the last re-pricing; NULL where not known
    cost_usd = models.DecimalField(max_digits=30, decimal_places=18, null=True)
    cost_state = models.TextField(null=True)  # priced, partial, unpriced; NULL: no call
    cost_reason = models.TextField(null=True)
    cost_basis = models.TextField(null=True)  # price_book | engine_seconds
    cost_input_usd = models.DecimalField(max_digits=30, decimal_places=18, null=True)
    cost_cache_read_usd = models.DecimalField(max_digits=30, decimal_places=18, null=True)
    cost_cache_write_usd = models.DecimalField(max_digits=30, decimal_places=18, null=True)
    cost_output_usd = models.DecimalField(max_digits=30, decimal_places=18, null=True)
    cost_compute_usd = models.DecimalField(max_digits=30, decimal_places=18, null=True)
    price_book_version = models.TextField(null=True)
    flags = ArrayField(models.TextField(), null=True)
    content = models.JSONField(null=True)
    extra = models.JSONField(null=True)
    ingested_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "span"

    def __str__(self) -> str:
        return f"{self.trace_id.hex}-{self.hex_span_id}"

    @property
    def hex_span_id(self) -> str:
        return f"{self.span_id & 0xFFFF_FFFF_FFFF_FFFF:016x}"

    @property
    def model(self) -> str | None:
        return self.response_model or self.request_model


class StepBatch(models.Model):
    """Consecutive steps of one run of an engine, packed as `collectors.record.StepBatchRecord`."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    server = models.ForeignKey(Server, models.CASCADE, related_name="+", null=True)
    run_id = models.TextField(default="")
    first_index = models.BigIntegerField()
    step_count = models.IntegerField()
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    names = ArrayField(models.TextField())
    columns = models.BinaryField()

    class Meta:
        db_table = "step_batch"
        constraints = [
            models.UniqueConstraint(
                fields=["project", "server", "run_id", "first_index"],
                name="one_step_batch",
                nulls_distinct=False,
            )
        ]
        indexes = [models.Index(fields=["server", "started_at"], name="step_batch_by_time")]

    def __str__(self) -> str:
        return f"steps {self.first_index}–{self.first_index + self.step_count - 1}"


class ServerSample(models.Model):
    """One reading of a scraped or pushed metric."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    server = models.ForeignKey(Server, models.CASCADE, related_name="+", null=True)
    at = models.DateTimeField()
    name = models.TextField()
    labels = models.JSONField(default=dict)
    value = models.FloatField()

    class Meta:
        db_table = "server_sample"
        indexes = [models.Index(fields=["project", "name", "server", "at"], name="sample_by_name")]

    def __str__(self) -> str:
        return f"{self.name} = {self.value}"


class RollupSeries(models.Model):
    """One combination of dimensions. NULL: unknown; `is_other` collects what is past the cap."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    server = models.ForeignKey(Server, models.SET_NULL, related_name="+", null=True)
    provider = models.TextField(null=True)
    model = models.TextField(null=True)
    team = models.TextField(null=True)
    feature = models.TextField(null=True)
    environment = models.TextField(null=True)
    is_other = models.BooleanField(default=False)

    class Meta:
        db_table = "rollup_series"
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "project",
                    "server",
                    "provider",
                    "model",
                    "team",
                    "feature",
                    "environment",
                    "is_other",
                ],
                name="one_series",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"series {self.pk}"


class RollupCell(models.Model):
    """Sums and sketches of one series over a stretch of time. Signed: corrections subtract."""

    series = models.ForeignKey(RollupSeries, models.CASCADE, related_name="+")
    starts_at = models.DateTimeField()
    calls = models.BigIntegerField(default=0)
    errors = models.BigIntegerField(default=0)
    cancelled = models.BigIntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    cached_input_tokens = models.BigIntegerField(default=0)
    cache_write_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    reasoning_tokens = models.BigIntegerField(default=0)
    calls_without_tokens = models.BigIntegerField(default=0)
    partial_calls = models.BigIntegerField(default=0)
    unpriced_calls = models.BigIntegerField(default=0)
    busy_us = models.BigIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=38, decimal_places=18, default=0)
    cost_input_usd = models.DecimalField(max_digits=38, decimal_places=18, default=0)
    cost_cache_read_usd = models.DecimalField(max_digits=38, decimal_places=18, default=0)
    cost_cache_write_usd = models.DecimalField(max_digits=38, decimal_places=18, default=0)
    cost_output_usd = models.DecimalField(max_digits=38, decimal_places=18, default=0)
    cost_compute_usd = models.DecimalField(max_digits=38, decimal_places=18, default=0)
    # packed sketches (webapp.domain.sketch), NULL where nothing was observed
    ttft_us = models.BinaryField(null=True)
    itl_us = models.BinaryField(null=True)
    tpot_us = models.BinaryField(null=True)
    e2e_us = models.BinaryField(null=True)
    queue_us = models.BinaryField(null=True)
    cost_pico_usd = models.BinaryField(null=True)
    output_length = models.BinaryField(null=True)
    input_length = models.BinaryField(null=True)

    class Meta:
        abstract = True


class RollupIncrement(RollupCell):
    """What one ingested batch adds, written with its spans and folded into cells soon after.

    Readers add increments not yet folded, so numbers are right once a batch is committed.
    """

    class Meta:
        db_table = "rollup_increment"

    def __str__(self) -> str:
        return f"increment {self.pk}"


class RollupMinute(RollupCell):
    class Meta:
        db_table = "rollup_minute"
        constraints = [models.UniqueConstraint(fields=["series", "starts_at"], name="one_minute")]
        indexes = [models.Index(fields=["starts_at"], name="minute_by_time")]

    def __str__(self) -> str:
        return f"minute {self.starts_at}"


class RollupHour(RollupCell):
    """An hour of the organisation's clock (its zone may be off UTC by half an hour)."""

    class Meta:
        db_table = "rollup_hour"
        constraints = [models.UniqueConstraint(fields=["series", "starts_at"], name="one_hour")]
        indexes = [models.Index(fields=["starts_at"], name="hour_by_time")]

    def __str__(self) -> str:
        return f"hour {self.starts_at}"


class RollupDay(RollupCell):
    """A day of the organisation's calendar: 23, 24 or 25 hours from its local midnight."""

    class Meta:
        db_table = "rollup_day"
        constraints = [models.UniqueConstraint(fields=["series", "starts_at"], name="one_day")]
        indexes = [models.Index(fields=["starts_at"], name="day_by_time")]

    def __str__(self) -> str:
        return f"day {self.starts_at}"
