"""The inventory of inference servers, and what an hour of each costs."""

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import (
    BigIntegerRangeField,
    DateTimeRangeField,
    RangeOperators,
)
from django.db import models
from django.db.models import F, Func, Q, Value
from django.utils.timezone import now

from webapp.accounts.models import ApiKey, Project
from webapp.servers.addresses import check_http_url


class Server(models.Model):
    class Kind(models.TextChoices):
        ENGINE = "engine", "Inferometer engine"
        VLLM = "vllm", "vLLM"
        TGI = "tgi", "TGI"
        TRITON = "triton", "Triton"
        OLLAMA = "ollama", "Ollama"
        SGLANG = "sglang", "SGLang"
        LLAMACPP = "llamacpp", "llama.cpp"
        TRTLLM = "trtllm", "TensorRT-LLM"
        LMDEPLOY = "lmdeploy", "LMDeploy"
        PROVIDER = "provider", "API provider"
        OTHER = "other", "Other"

    project = models.ForeignKey(Project, models.CASCADE, related_name="servers")
    name = models.SlugField(max_length=60)
    kind = models.CharField(max_length=10, choices=Kind)
    base_url = models.CharField(max_length=300, blank=True, validators=[check_http_url])
    metrics_url = models.CharField(max_length=300, blank=True, validators=[check_http_url])
    model = models.CharField(max_length=200, blank=True)
    provider = models.CharField(max_length=60, blank=True)
    location = models.CharField(max_length=100, blank=True)
    owner = models.CharField(max_length=100, blank=True)
    exposure = models.CharField(max_length=200, blank=True)
    version = models.CharField(max_length=60, blank=True)
    hardware = models.CharField(max_length=100, blank=True)
    hardware_count = models.PositiveIntegerField(default=1)
    ingest_key = models.OneToOneField(
        ApiKey, models.SET_NULL, null=True, blank=True, related_name="server"
    )
    created_at = models.DateTimeField(default=now)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_server_of_a_name")
        ]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ServerRate(models.Model):
    """Price of one hour of a server, over a half-open interval of time."""

    server = models.ForeignKey(Server, models.CASCADE, related_name="rates")
    price_per_hour = models.DecimalField(max_digits=20, decimal_places=10)
    currency = models.CharField(max_length=3, default="USD")
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)
    is_assumption = models.BooleanField(default=False)
    note = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(price_per_hour__gte=0), name="rate_not_negative"),
            ExclusionConstraint(
                name="one_rate_at_a_time",
                expressions=[
                    # A range of one number: equality inside GiST without the btree_gist extension.
                    (
                        Func(
                            F("server"),
                            F("server"),
                            Value("[]"),
                            function="INT8RANGE",
                            output_field=BigIntegerRangeField(),
                        ),
                        RangeOperators.OVERLAPS,
                    ),
                    (
                        Func(
                            F("valid_from"),
                            F("valid_to"),
                            function="TSTZRANGE",
                            output_field=DateTimeRangeField(),
                        ),
                        RangeOperators.OVERLAPS,
                    ),
                ],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.price_per_hour} {self.currency}/h from {self.valid_from:%Y-%m-%d}"
