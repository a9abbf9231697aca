from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from webapp.ui import numbers

S = "\u00a0"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "—"),
        (0, "$0.00"),
        (Decimal("0.000213"), "$0.000213"),
        (Decimal("0.0183"), "$0.0183"),
        (Decimal("12.345"), "$12.34"),
        (Decimal("-12.3"), "\u2212$12.30"),
        (Decimal("1204.1"), "$1,204.10"),
        (Decimal("12412.07"), "$12.4K"),
        (Decimal("3200000"), "$3.2M"),
        (Decimal("0.000000001"), "< $0.00000001"),
        (float("nan"), "—"),
    ],
)
def test_money_of_a_tile(value, shown):
    assert numbers.money(value) == shown


def test_money_of_another_currency_names_it():
    assert numbers.money(5, "EUR") == "€5.00"
    assert numbers.money(5, "CHF") == f"CHF{S}5.00"


def test_full_money_keeps_every_digit():
    assert numbers.money_full(Decimal("0.000000000120")) == "$0.00000000012"
    assert numbers.money_full(Decimal("1204")) == "$1,204.00"


def test_a_column_shows_its_smallest_amount_at_its_decimals():
    values = [Decimal("1204.1"), Decimal("0.0004"), None, Decimal(0)]
    decimals = numbers.money_decimals(values)
    shown = [numbers.money_column(value, decimals) for value in values]
    assert shown == ["1,204.10000", "0.00040", "—", "0.00000"]


def test_what_a_column_cannot_show_is_not_zero():
    assert numbers.money_column(Decimal("0.0000001"), 6) == "< 0.000001"


@pytest.mark.parametrize(
    ("micros", "shown"),
    [
        (None, "—"),
        (0, f"0{S}µs"),
        (850, f"850{S}µs"),
        (13_800, f"13.8{S}ms"),
        (999_700, f"1.00{S}s"),
        (1_840_000, f"1.84{S}s"),
        (138_000_000, f"2{S}m 18{S}s"),
        (3_600_000_000, f"1{S}h"),
        (-2_000, f"\u22122.00{S}ms"),
    ],
)
def test_duration_has_three_digits_and_the_unit_that_fits(micros, shown):
    assert numbers.duration(micros) == shown


@pytest.mark.parametrize(
    ("after", "before", "shown"),
    [
        (112.4, 100, f"+12.4{S}%"),
        (90, 100, f"\u221210.0{S}%"),
        (100.01, 100, f"0.0{S}%"),
        (5, 0, "new"),
        (0, 0, f"0.0{S}%"),
        (None, 1, "—"),
    ],
)
def test_change_is_signed_and_new_from_zero(after, before, shown):
    assert numbers.change(after, before) == shown


def test_rates_move_in_points():
    assert numbers.points(0.023, 0.02) == f"+0.3{S}pp"
    assert numbers.percent(0.0001) == f"< 0.1{S}%"
    assert numbers.percent(0) == f"0.0{S}%"


def test_tokens_are_grouped_or_compact():
    assert numbers.tokens(1_204_332) == "1,204,332"
    assert numbers.tokens_compact(1_204_332) == "1.2M"
    assert numbers.tokens_compact(9_999) == "9,999"


def test_age_is_two_units_at_most():
    now = datetime(2026, 5, 1, tzinfo=UTC)
    assert numbers.age(now - timedelta(seconds=12), now) == f"12{S}s ago"
    assert numbers.age(now - timedelta(hours=49, minutes=3), now) == f"2{S}d 1{S}h ago"
    assert numbers.age(None, now) == "—"
