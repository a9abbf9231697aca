"""What has arrived from a server: enough to see at a glance whether its telemetry works."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.utils.timezone import now

_SPANS = """
select server_id, count(*) filter (where cost_state is not null), count(*), max(started_at),
       bool_or(token_timeline is not null)
from span where project_id = %s and started_at >= %s and server_id is not null group by server_id
"""
_STEPS = """
select server_id, sum(step_count) from step_batch
where project_id = %s and ended_at >= %s group by server_id
"""
_SAMPLES = """
select server_id, count(*) from server_sample
where project_id = %s and at >= %s group by server_id
"""
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Seen:
    """What came from a server in the last day."""

    calls: int = 0
    spans: int = 0
    last_at: datetime | None = None
    has_timelines: bool = False
    steps: int = 0
    samples: int = 0


def seen_today(project_id: int) -> dict[int, Seen]:
    """By server; a server nothing came from is not in it."""
    since = [project_id, now() - _DAY]
    with connection.cursor() as cursor:
        cursor.execute(_STEPS, since)
        steps = dict(cursor.fetchall())
        cursor.execute(_SAMPLES, since)
        samples = dict(cursor.fetchall())
        cursor.execute(_SPANS, since)
        spans = {row[0]: row[1:] for row in cursor.fetchall()}
    return {
        server_id: Seen(
            *spans.get(server_id, (0, 0, None, False)),
            steps=int(steps.get(server_id) or 0),
            samples=samples.get(server_id, 0),
        )
        for server_id in {*spans, *steps, *samples} - {None}
    }
