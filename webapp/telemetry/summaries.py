"""Numbers over a range: from rollup cells, exactly, with spans only at ragged edges."""

from webapp.telemetry.scope import Scope
from webapp.telemetry.summary import Summary


def summarise(
    scope: Scope,
    *,
    group_by: str | None = None,
    bucket: str | None = None,
    tz: str = "UTC",
) -> list[Summary]:
    """One row per group and bucket that holds calls; always one row where neither is asked for.

    `group_by`: server model provider team feature environment. `bucket`: minute hour day, on the
    clock of `tz`. Rows come by bucket, then by cost, then calls, highest first.
    """
    raise NotImplementedError
