"""Days and hours of a zone are whole, follow its clock changes, and a split loses nothing."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.domain.periods import (
    bucket_edges,
    bucket_start,
    day_start,
    hour_start,
    next_day,
    split,
    zone_named,
)

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "America/Havana",
    "Asia/Beirut",
    "Pacific/Apia",
]


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_spring_day_has_23_hours_and_autumn_day_25():
    berlin = zone_named("Europe/Berlin")
    spring = utc("2026-03-29T12:00")
    autumn = utc("2026-10-25T12:00")
    assert next_day(spring, berlin) - day_start(spring, berlin) == timedelta(hours=23)
    assert next_day(autumn, berlin) - day_start(autumn, berlin) == timedelta(hours=25)
    assert (
        len(bucket_edges(day_start(autumn, berlin), next_day(autumn, berlin), "hour", berlin)) == 26
    )


def test_hours_of_a_half_hour_zone_start_at_half_past():
    kolkata = zone_named("Asia/Kolkata")
    assert hour_start(utc("2026-06-10T10:40"), kolkata) == utc("2026-06-10T10:30")
    assert hour_start(utc("2026-06-10T10:10"), kolkata) == utc("2026-06-10T09:30")


def test_18_and_19_utc_fall_on_two_days_in_india():
    kolkata = zone_named("Asia/Kolkata")
    assert day_start(utc("2026-06-10T18:00"), kolkata) == utc("2026-06-09T18:30")
    assert day_start(utc("2026-06-10T19:00"), kolkata) == utc("2026-06-10T18:30")


def test_a_day_whose_midnight_is_skipped_starts_when_the_clock_jumps():
    beirut = zone_named("Asia/Beirut")
    noon = utc("2025-03-30T12:00")
    assert day_start(noon, beirut) == utc("2025-03-29T22:00")
    assert next_day(noon, beirut) - day_start(noon, beirut) == timedelta(hours=23)


def test_a_skipped_date_is_no_day():
    apia = zone_named("Pacific/Apia")
    before = utc("2011-12-30T08:00")
    assert next_day(before, apia) == utc("2011-12-30T10:00")
    assert next_day(next_day(before, apia), apia) == utc("2011-12-31T10:00")


def test_an_unknown_zone_is_named():
    with pytest.raises(ValueError, match="Europe/Atlantis"):
        zone_named("Europe/Atlantis")
    with pytest.raises(ValueError, match="zone"):
        zone_named("../etc/passwd")


moments = st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1)).map(
    lambda at: at.replace(tzinfo=UTC)
)
zones = st.sampled_from(ZONES).map(zone_named)


@given(moments, zones, st.sampled_from(["minute", "hour", "day"]))
def test_a_bucket_holds_its_moment_and_ends_where_the_next_starts(at, zone, bucket):
    edges = bucket_edges(at, at + timedelta(microseconds=1), bucket, zone)
    assert edges[0] <= at < edges[-1]
    assert bucket_start(edges[-1], bucket, zone) == edges[-1]
    assert bucket_start(edges[-1] - timedelta(microseconds=1), bucket, zone) == edges[-2]


@given(moments, zones)
def test_days_consist_of_whole_hours_of_their_own(at, zone):
    hour = hour_start(at, zone)
    assert day_start(hour, zone) == day_start(at, zone) <= hour <= at < hour + timedelta(hours=1)


@given(
    moments,
    st.timedeltas(timedelta(0), timedelta(days=40)),
    zones,
    st.timedeltas(timedelta(0), timedelta(days=30)),
    st.timedeltas(timedelta(0), timedelta(days=10)),
)
def test_a_split_covers_the_range_once_with_aligned_pieces(
    at, length, zone, hours_age, minutes_age
):
    start, end = at, at + length
    hours_from, minutes_from = end - hours_age, end - minutes_age
    pieces = split(start, end, zone, hours_from=hours_from, minutes_from=minutes_from)
    assert [piece.start for piece in pieces] == [start, *(p.end for p in pieces[:-1])][
        : len(pieces)
    ]
    assert not pieces or pieces[-1].end == end
    for piece in pieces:
        assert piece.start < piece.end
        if piece.level != "exact":
            assert bucket_start(piece.start, piece.level, zone) == piece.start
            assert bucket_start(piece.end, piece.level, zone) == piece.end
        if piece.level == "hour":
            assert piece.start >= hours_from
        if piece.level == "minute":
            assert piece.start >= minutes_from


def test_a_ragged_month_is_days_with_hours_and_minutes_at_its_edges():
    utc_zone = zone_named("UTC")
    pieces = split(utc("2026-01-01T10:20:30"), utc("2026-01-31T05:07"), utc_zone)
    assert [piece.level for piece in pieces] == ["exact", "minute", "hour", "day", "hour", "minute"]
