"""Who may see what: users, organisations, projects, members, keys, and the audit log."""

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.timezone import now


class User(AbstractUser):
    class Theme(models.TextChoices):
        SYSTEM = "system"
        LIGHT = "light"
        DARK = "dark"

    theme = models.CharField(max_length=8, choices=Theme, default=Theme.SYSTEM)


class Organisation(models.Model):
    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=60, unique=True)
    timezone = models.CharField(max_length=60, default="UTC")
    currency = models.CharField(max_length=3, default="USD")
    created_at = models.DateTimeField(default=now)

    def __str__(self) -> str:
        return self.name


class Project(models.Model):
    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="projects")
    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=60, unique=True)
    captures_content = models.BooleanField(default=False)
    span_retention_days = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(default=now)

    def __str__(self) -> str:
        return self.name


class Member(models.Model):
    class Role(models.TextChoices):
        VIEWER = "viewer"
        ENGINEER = "engineer"
        FINOPS = "finops"
        ADMIN = "admin"

    project = models.ForeignKey(Project, models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_membership")]

    def __str__(self) -> str:
        return f"{self.user} in {self.project}: {self.role}"


class ApiKey(models.Model):
    class Scope(models.TextChoices):
        INGEST = "ingest"
        READ = "read"
        WRITE = "write"
        GATEWAY = "gateway"

    project = models.ForeignKey(Project, models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    key_hash = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope))
    team = models.CharField(max_length=100, blank=True)
    feature = models.CharField(max_length=100, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(default=now)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class AuditEntry(models.Model):
    """One change that moved money or opened access. Written, never edited."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="audit_entries")
    at = models.DateTimeField(default=now)
    actor = models.CharField(max_length=160)
    action = models.CharField(max_length=60)
    subject = models.CharField(max_length=200)
    detail = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["project", "-at"], name="audit_by_time")]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"
