"""What-if runs, the scenarios of each, and the fits of step times they rest on."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from webapp.accounts.models import Project
from webapp.servers.models import Server


class State(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


# States in which work remains.
OPEN = (State.QUEUED, State.RUNNING)


class Calibration(models.Model):
    """A step-time model and how well it fits what it was fitted to.

    `source` says what that was: steps recorded of the server, or published peaks where none were.
    Residual quantiles are relative: (measured − fitted) / fitted.
    """

    class Source(models.TextChoices):
        STEPS = "steps", "recorded steps"
        PRIOR = "prior", "published peaks and efficiencies"

    server = models.ForeignKey(Server, models.CASCADE, related_name="+")
    source = models.CharField(max_length=8, choices=Source)
    window_start = models.DateTimeField()
    window_end = models.DateTimeField()
    coefficients = models.JSONField()
    residual_quantiles = models.JSONField(default=dict)
    r_squared = models.FloatField(null=True)
    step_count = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=now)

    class Meta:
        db_table = "whatif_calibration"

    def __str__(self) -> str:
        return f"{self.get_source_display()} of {self.server}"


class Run(models.Model):
    """One question: a window of recorded calls of a server, replayed under several scenarios."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="whatif_runs")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    name = models.CharField(max_length=120)
    server = models.ForeignKey(Server, models.CASCADE, related_name="+")
    window_start = models.DateTimeField()
    window_end = models.DateTimeField()
    filters = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    error = models.TextField(blank=True)
    baseline = models.JSONField(null=True)  # what was recorded, as `baseline.Recorded` tells it
    calibration = models.ForeignKey(Calibration, models.SET_NULL, null=True, related_name="+")
    seed = models.BigIntegerField(default=0)
    cancel_requested = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "whatif_run"
        indexes = [
            models.Index(fields=["project", "-created_at"], name="whatif_run_by_time"),
            models.Index(
                fields=["state"],
                name="whatif_run_open",
                condition=Q(state__in=["queued", "running"]),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_open(self) -> bool:
        return self.state in OPEN


class ScenarioResult(models.Model):
    """One scenario of a run: its parameters, who works on it, and the answer.

    `claim` names the attempt that owns the row: whoever finds another claim there stops writing.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="scenarios")
    index = models.PositiveIntegerField()
    params = models.JSONField()
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    attempts = models.PositiveIntegerField(default=0)
    claim = models.UUIDField(null=True)
    queued_at = models.DateTimeField(default=now)
    heartbeat_at = models.DateTimeField(null=True)
    progress = models.FloatField(default=0)  # share of calls replayed, 0 to 1
    result = models.JSONField(null=True)
    error = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "whatif_scenario"
        ordering = ["index"]
        constraints = [
            models.UniqueConstraint(fields=["run", "index"], name="one_scenario_of_an_index")
        ]

    def __str__(self) -> str:
        return f"scenario {self.index} of {self.run}"
