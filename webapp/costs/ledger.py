"""The ledger: each hour's bill of a server, split over its calls, idle time and the unexplained."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.db import connection, transaction
from django.utils.timezone import now

from webapp.accounts import audit
from webapp.costs.models import LedgerHour
from webapp.domain.allocation import NANO, HourSplit, PricedStretch, split_hour
from webapp.servers.models import Server, ServerRate
from webapp.telemetry.queries import recorded_steps

HOUR = timedelta(hours=1)
# Late calls are waited for this long; what comes later settles the hour again, with an audit entry.
GRACE = timedelta(minutes=10)
_LOOK_BACK = timedelta(hours=26)
_LONGEST_CALL = timedelta(hours=6)
_MICROSECOND = timedelta(microseconds=1)
# A call's engine time, spread evenly over the call, as far as it lies in the hour.
_CALLS = """
select count(*) filter (where started_at >= %(start)s), coalesce(sum(
    busy_us * extract(epoch from
        least(started_at + duration_us * interval '1 microsecond', %(end)s)
        - greatest(started_at, %(start)s)
    ) * 1000000 / greatest(duration_us, 1)
), 0)
from span
where project_id = %(project)s and server_id = %(server)s and cost_state is not null
  and busy_us is not null and duration_us is not null
  and started_at >= %(earliest)s and started_at < %(end)s
  and started_at + duration_us * interval '1 microsecond' > %(start)s
"""


@dataclass(frozen=True)
class LedgerRow:
    """Sums over the hours of a server, in exact USD."""

    server: str
    starts_at: datetime | None
    bill_usd: Decimal
    attributed_usd: Decimal
    idle_usd: Decimal
    unattributed_usd: Decimal
    call_count: int
    is_settled: bool

    @property
    def idle_share(self) -> float | None:
        return float(self.idle_usd / self.bill_usd) if self.bill_usd else None


def settle_due(at: datetime | None = None) -> int:
    """Settle every priced server's hours that may still change; how many rows were written."""
    at = at or now()
    written = 0
    for server in Server.objects.filter(rates__isnull=False).distinct():
        for hour in _hours(server, at):
            written += settle_hour(server, hour, at=at)
    return written


def settle_hour(server: Server, hour: datetime, *, at: datetime | None = None) -> bool:
    """Work out one hour of a server; whether anything changed. Provisional until it has closed."""
    at = at or now()
    end = min(hour + HOUR, at)
    stretches = list(_stretches(server, hour, end))
    if not stretches:
        return False
    count, busy_us = _calls_busy(server, hour, end)
    split = split_hour(
        stretches, calls_busy_us=busy_us, steps_busy_us=_steps_busy(server, hour, end)
    )
    return _write(server, hour, split, count, busy_us, is_settled=hour + HOUR + GRACE <= at)


def ledger(
    project_id: int, start: datetime, end: datetime, *, server: str | None = None
) -> list[LedgerRow]:
    """Hours in [start, end), oldest first."""
    rows = LedgerHour.objects.filter(
        server__project_id=project_id, starts_at__gte=start, starts_at__lt=end
    ).select_related("server")
    if server:
        rows = rows.filter(server__name=server)
    return [_row(row) for row in rows.order_by("starts_at", "server__name")]


def ledger_by_server(
    project_id: int, start: datetime, end: datetime, *, server: str | None = None
) -> list[LedgerRow]:
    """One row a server, the dearest first."""
    sums: dict[str, LedgerRow] = {}
    for row in ledger(project_id, start, end, server=server):
        known = sums.get(row.server)
        sums[row.server] = row if known is None else _added(known, row)
    return sorted(sums.values(), key=lambda row: -row.bill_usd)


def _hours(server: Server, at: datetime) -> Iterator[datetime]:
    first = server.rates.order_by("valid_from").values_list("valid_from", flat=True)[0]
    hour = max(at - _LOOK_BACK, first).astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    while hour < at:
        yield hour
        hour += HOUR


def _stretches(server: Server, start: datetime, end: datetime) -> Iterator[PricedStretch]:
    rates = ServerRate.objects.filter(server=server, valid_from__lt=end, currency="USD")
    for rate in rates.order_by("valid_from"):
        low, high = max(start, rate.valid_from), min(end, rate.valid_to or end)
        if low < high:
            yield PricedStretch((high - low) // _MICROSECOND, rate.price_per_hour)


def _calls_busy(server: Server, start: datetime, end: datetime) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            _CALLS,
            {
                "project": server.project_id,
                "server": server.pk,
                "start": start,
                "end": end,
                "earliest": start - _LONGEST_CALL,
            },
        )
        count, busy_us = cursor.fetchone()
    return count, round(busy_us)


def _steps_busy(server: Server, start: datetime, end: datetime) -> int | None:
    steps = recorded_steps(server.pk, start, end)
    return int(steps["duration_us"].sum()) if len(steps) else None


def _write(
    server: Server, hour: datetime, split: HourSplit, count: int, busy_us: int, *, is_settled: bool
) -> bool:
    values = {
        "bill_nano_usd": split.bill,
        "attributed_nano_usd": split.attributed,
        "idle_nano_usd": split.idle,
        "unattributed_nano_usd": split.unattributed,
        "call_count": count,
        "busy_us": busy_us,
        "is_settled": is_settled,
    }
    with transaction.atomic():
        before = (
            LedgerHour.objects.select_for_update().filter(server=server, starts_at=hour).first()
        )
        if before is not None and all(getattr(before, n) == v for n, v in values.items()):
            return False
        LedgerHour.objects.update_or_create(
            server=server, starts_at=hour, defaults={**values, "settled_at": now()}
        )
        if before is not None and before.is_settled:
            audit.record(
                server.project,
                "ledger",
                "ledger.settled_again",
                f"{server.name} {hour:%Y-%m-%d %H:%M} UTC",
                attributed_before=before.attributed_nano_usd,
                attributed_after=split.attributed,
            )
    return True


def _row(row: LedgerHour) -> LedgerRow:
    return LedgerRow(
        row.server.name,
        row.starts_at,
        *(
            Decimal(nano) / NANO
            for nano in (
                row.bill_nano_usd,
                row.attributed_nano_usd,
                row.idle_nano_usd,
                row.unattributed_nano_usd,
            )
        ),
        row.call_count,
        row.is_settled,
    )


def _added(one: LedgerRow, other: LedgerRow) -> LedgerRow:
    return LedgerRow(
        one.server,
        None,
        one.bill_usd + other.bill_usd,
        one.attributed_usd + other.attributed_usd,
        one.idle_usd + other.idle_usd,
        one.unattributed_usd + other.unattributed_usd,
        one.call_count + other.call_count,
        one.is_settled and other.is_settled,
    )
