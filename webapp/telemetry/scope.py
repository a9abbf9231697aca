"""What a question is asked about: a project, a range of time, and values of dimensions."""

from dataclasses import dataclass, fields
from datetime import datetime

# Dimensions a scope narrows by and a summary groups by.
DIMENSIONS = ("server", "model", "provider", "team", "feature", "environment")


@dataclass(frozen=True)
class Scope:
    """Calls of a project that started in [start, end), both aware UTC.

    A dimension of None means all of its values, "" the calls that have none. `server` is the
    server's name.
    """

    project_id: int
    start: datetime
    end: datetime
    server: str | None = None
    model: str | None = None
    provider: str | None = None
    team: str | None = None
    feature: str | None = None
    environment: str | None = None

    def dimensions(self) -> dict[str, str]:
        """The dimensions this scope narrows by."""
        chosen = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: chosen[name] for name in DIMENSIONS if chosen[name] is not None}
