"""Every hour's bill is calls + idle + unattributed, to the last nano-dollar."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from tests.webapp.ingest.sending import send, span
from webapp.accounts.models import AuditEntry
from webapp.costs.ledger import HOUR, ledger, ledger_by_server, settle_due, settle_hour
from webapp.costs.models import LedgerHour
from webapp.servers.models import ServerRate

NOON = datetime(2026, 11, 12, 12, tzinfo=UTC)
LATER = NOON + 2 * HOUR


@pytest.fixture
def priced(server):
    ServerRate.objects.create(
        server=server, valid_from=NOON - 48 * HOUR, price_per_hour=Decimal("1.00")
    )
    return server


def busy(start, minutes, busy_minutes):
    return span(
        started_at=start,
        duration_us=minutes * 60_000_000,
        busy_us=busy_minutes * 60_000_000,
        provider="inferometer",
    )


def settled(server, hour=NOON, at=LATER):
    settle_hour(server, hour, at=at)
    (row,) = ledger(server.project_id, hour, hour + HOUR)
    assert row.attributed_usd + row.idle_usd + row.unattributed_usd == row.bill_usd
    return row


def test_calls_and_idle_add_up_to_the_bill(priced, server_key):
    send(server_key, [busy(NOON + timedelta(minutes=m), 10, 5) for m in (0, 20, 40)])
    row = settled(priced)
    assert row.bill_usd == Decimal("1.00")
    assert row.attributed_usd == Decimal("0.25")
    assert row.idle_usd == Decimal("0.75")
    assert (row.call_count, row.is_settled, row.idle_share) == (3, True, 0.75)


def test_call_over_the_hour_is_split_by_time(priced, server_key):
    send(server_key, [busy(NOON - timedelta(minutes=30), 60, 30)])
    first, second = settled(priced, NOON - HOUR), settled(priced, NOON)
    assert (first.attributed_usd, second.attributed_usd) == (Decimal("0.25"), Decimal("0.25"))
    assert (first.call_count, second.call_count) == (1, 0)


def test_sums_are_exact_for_a_price_that_does_not_divide(priced, server_key):
    priced.rates.update(price_per_hour=Decimal("0.0999999999"))
    send(server_key, [busy(NOON + timedelta(minutes=m), 7, 3) for m in range(0, 49, 7)])
    settled(priced)


def test_price_that_changes_within_the_hour_counts_each_stretch(priced, server_key):
    priced.rates.update(valid_to=NOON + timedelta(minutes=15))
    ServerRate.objects.create(
        server=priced, valid_from=NOON + timedelta(minutes=15), price_per_hour=Decimal("5.00")
    )
    assert settled(priced).bill_usd == Decimal("4.00")


def test_late_call_settles_again_and_is_audited(priced, server_key):
    send(server_key, [busy(NOON, 10, 5)])
    settled(priced)
    assert not AuditEntry.objects.filter(action="ledger.settled_again").exists()
    assert settle_hour(priced, NOON, at=LATER) is False
    send(server_key, [busy(NOON + timedelta(minutes=30), 10, 10)])
    assert settled(priced).attributed_usd == Decimal("0.25")
    assert AuditEntry.objects.get(action="ledger.settled_again").detail


def test_running_hour_is_provisional(priced, server_key):
    half = NOON + timedelta(minutes=30)
    row = settled(priced, NOON, at=half)
    assert (row.bill_usd, row.is_settled) == (Decimal("0.50"), False)
    assert settled(priced, NOON, at=NOON + HOUR).is_settled is False
    assert settled(priced, NOON, at=NOON + HOUR + timedelta(minutes=10)).is_settled


def test_server_without_price_has_no_bill(server, server_key):
    send(server_key, [busy(NOON, 10, 5)])
    assert settle_hour(server, NOON, at=LATER) is False
    assert not LedgerHour.objects.exists()


def test_settling_what_is_due_is_safe_to_repeat(priced, server_key):
    send(server_key, [busy(NOON, 10, 5)])
    assert settle_due(LATER) > 20
    assert settle_due(LATER) == 0
    (row,) = ledger_by_server(priced.project_id, NOON - 24 * HOUR, LATER)
    assert row.bill_usd == row.attributed_usd + row.idle_usd + row.unattributed_usd
    assert row.call_count == 1
