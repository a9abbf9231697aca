from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import BadRequest
from django.test import RequestFactory

from webapp.ui import filters as module
from webapp.ui.filters import page_filters

NOW = datetime(2026, 3, 29, 9, 41, 20, tzinfo=UTC)


@pytest.fixture
def ask(project, monkeypatch):
    monkeypatch.setattr(module, "now", lambda: NOW)
    return lambda query="": page_filters(RequestFactory().get(f"/?{query}"), project)


def test_without_parameters_the_last_day_is_compared_with_the_one_before(ask):
    found = ask()
    assert found.scope.end == datetime(2026, 3, 29, 9, 42, tzinfo=UTC)
    assert found.scope.end - found.scope.start == timedelta(hours=24)
    assert found.previous_scope.end == found.scope.start
    assert found.bucket == "hour"


def test_compare_off_has_no_previous_scope(ask):
    assert ask("compare=off").previous_scope is None


def test_zone_is_the_organisations_unless_named(ask, project):
    project.organisation.timezone = "Europe/Berlin"
    assert ask().tz == "Europe/Berlin"
    assert ask("tz=Asia/Kolkata").tz == "Asia/Kolkata"


def test_custom_dates_are_whole_days_of_the_zone_even_when_clocks_change(ask):
    found = ask("range=custom&from=2026-03-29&to=2026-03-29&tz=Europe/Berlin")
    assert found.scope.start == datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert found.scope.end - found.scope.start == timedelta(hours=23)
    assert str(found.last_day_local) == "2026-03-29"


def test_month_to_date_is_compared_with_the_same_part_of_the_month_before(ask):
    found = ask("range=month")
    assert found.scope.start == datetime(2026, 3, 1, tzinfo=UTC)
    assert found.previous_scope.start == datetime(2026, 2, 1, tzinfo=UTC)
    # February is over before the 28th day of March is: the comparison stops where it ends.
    assert found.previous_scope.end == datetime(2026, 3, 1, tzinfo=UTC)


def test_dimensions_narrow_the_scope_and_can_be_dropped_one_by_one(ask):
    found = ask("range=7d&team=search&model=gpt-4o&cursor=abc")
    assert (found.scope.team, found.scope.model) == ("search", "gpt-4o")
    without = {chip.name: chip.without for chip in found.chips}
    assert without == {"model": "?range=7d&team=search", "team": "?range=7d&model=gpt-4o"}
    assert found.query == "range=7d&model=gpt-4o&team=search"


def test_exact_times_are_taken_as_they_are(ask):
    found = ask("from=2026-03-01T10:00:00Z&to=2026-03-01T11:30:00Z")
    assert found.range == "custom"
    assert found.scope.end - found.scope.start == timedelta(minutes=90)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("range=custom&from=2026-03-05&to=2026-03-01", "before it starts"),
        ("from=2020-01-01&to=2026-01-01", "at most 400 days"),
        ("from=0001-01-01&to=0001-01-02", "is a date like"),
        ("tz=../etc/passwd", "no time zone"),
        ("team=%00", "NUL"),
    ],
)
def test_senseless_values_are_refused_by_name(ask, query, says):
    with pytest.raises(BadRequest, match=says):
        ask(query)
