"""Every number over a range equals what the calls themselves say, folded or not."""

from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest
from django.utils.timezone import now

from collectors.timeline import pack_timeline
from tests.webapp.ingest.sending import send, span
from webapp.telemetry.models import RollupDay, RollupHour, RollupIncrement, RollupMinute
from webapp.telemetry.queries import Scope, summarise
from webapp.telemetry.rollups import fold_increments

QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999)


def traffic(count=400, days=3, seed=1):
    """Calls over some days with heavy-tailed latencies; the newest a quarter of an hour old."""
    rng = np.random.default_rng(seed)
    start = now().replace(microsecond=0) - timedelta(days=days)
    length = timedelta(days=days) - timedelta(minutes=15)
    calls = []
    for index in range(count):
        tokens = int(rng.integers(2, 30))
        gaps = rng.lognormal(9.5, 0.8, tokens).astype(int)
        offsets = np.cumsum(np.append(int(rng.lognormal(12, 1)), gaps[1:])).tolist()
        calls.append(
            span(
                started_at=start + length * float(rng.random()),
                ttft_us=offsets[0],
                queue_us=int(rng.lognormal(8, 1)),
                duration_us=offsets[-1] + 1,
                output_tokens=tokens,
                input_tokens=int(rng.integers(1, 2000)),
                team=("search", "ads", None)[index % 3],
                token_timeline=pack_timeline((at, 1) for at in offsets),
            )
        )
    return calls


def send_all(secret, calls):
    for first in range(0, len(calls), 100):
        assert send(secret, calls[first : first + 100]).status_code == 200


def inside(calls, scope):
    return [call for call in calls if scope.start <= call.started_at < scope.end]


def close(row, metric, values):
    """Within 1 % of numpy's quantiles of the exact values, at each quantile asked for."""
    assert row.observed(metric) == len(values)
    for q in QUANTILES:
        assert row.percentile(metric, q) == pytest.approx(np.quantile(values, q), rel=0.01)


def scopes(project):
    at = now()
    yield Scope(project.pk, at - timedelta(days=4), at)
    yield Scope(project.pk, at - timedelta(days=2, hours=5, minutes=7, seconds=13), at)
    yield Scope(project.pk, at - timedelta(hours=30, seconds=1), at - timedelta(hours=2, seconds=9))
    yield Scope(project.pk, at - timedelta(days=4), at, team="search")
    yield Scope(project.pk, at - timedelta(days=4), at, team="")


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/St_Johns", "Australia/Lord_Howe"])
@pytest.mark.parametrize("folds", [0, 1])
def test_percentiles_and_sums_are_those_of_the_calls(project, ingest_key, zone, folds):
    project.organisation.timezone = zone
    project.organisation.save()
    calls = traffic()
    send_all(ingest_key, calls[:300])
    if folds:
        fold_increments()
    send_all(ingest_key, calls[300:])
    for scope in scopes(project):
        found = [
            c for c in inside(calls, scope) if scope.team is None or (c.team or "") == scope.team
        ]
        (row,) = summarise(scope)
        assert row.calls == len(found) > 20
        assert row.output_tokens == sum(c.output_tokens for c in found)
        assert row.input_tokens == sum(c.input_tokens for c in found)
        close(row, "ttft_s", [c.ttft_us / 1e6 for c in found])
        close(row, "e2e_s", [c.duration_us / 1e6 for c in found])
        close(row, "queue_s", [c.queue_us / 1e6 for c in found])
        cost = sum(
            Decimal(c.input_tokens) * Decimal("2.5") + Decimal(c.output_tokens) * 10 for c in found
        )
        assert row.cost_usd == cost / 1_000_000


def test_inter_token_gaps_are_one_sample_a_gap(project, ingest_key):
    calls = traffic(60)
    send_all(ingest_key, calls)
    (row,) = summarise(next(scopes(project)))
    assert row.observed("itl_s") == sum(c.output_tokens - 1 for c in calls)


def test_fold_moves_everything_and_again_changes_nothing(project, ingest_key):
    send_all(ingest_key, traffic(150))
    scope = next(scopes(project))
    (before,) = summarise(scope)
    assert fold_increments() > 0
    assert fold_increments() == 0
    assert RollupIncrement.objects.count() == 0
    assert RollupMinute.objects.exists()
    assert RollupHour.objects.exists()
    assert RollupDay.objects.exists()
    (after,) = summarise(scope)
    assert after.calls == before.calls == 150
    assert after.cost_usd == before.cost_usd
    for q in QUANTILES:
        assert after.percentile("ttft_s", q) == before.percentile("ttft_s", q)


@pytest.mark.parametrize("bucket", ["hour", "day"])
@pytest.mark.parametrize("tz", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_buckets_split_the_range_on_the_zones_clock(project, ingest_key, bucket, tz):
    from webapp.domain.periods import bucket_start, zone_named

    calls = traffic(200)
    send_all(ingest_key, calls)
    fold_increments()
    scope = list(scopes(project))[1]
    rows = summarise(scope, bucket=bucket, tz=tz)
    expected: dict[datetime, int] = {}
    for call in inside(calls, scope):
        at = bucket_start(call.started_at, bucket, zone_named(tz))
        expected[at] = expected.get(at, 0) + 1
    assert {row.starts_at: row.calls for row in rows} == expected


def test_groups_add_up_to_the_whole_with_unknown_kept_apart(project, ingest_key):
    send_all(ingest_key, traffic(90))
    scope = next(scopes(project))
    rows = summarise(scope, group_by="team")
    assert {row.key for row in rows} == {"search", "ads", None}
    assert sum(row.calls for row in rows) == 90


def test_series_past_the_cap_are_counted_under_other(project, ingest_key, settings):
    settings.INFEROMETER = {**settings.INFEROMETER, "MAX_SERIES": 3}
    send_all(ingest_key, [span(team=f"team-{n}") for n in range(10)])
    rows = summarise(next(scopes(project)), group_by="team")
    assert sum(row.calls for row in rows) == 10
    (other,) = [row for row in rows if row.is_other]
    assert other.calls == 7


def test_empty_range_is_one_row_of_nothing(project):
    (row,) = summarise(next(scopes(project)))
    assert (row.calls, row.percentile("ttft_s", 0.5), row.mean("e2e_s")) == (0, None, None)
    assert summarise(next(scopes(project)), group_by="team") == []


def test_unknown_group_or_bucket_is_refused_in_words(project):
    with pytest.raises(ValueError, match="Group by one of"):
        summarise(next(scopes(project)), group_by="colour")
    with pytest.raises(ValueError, match="Bucket is one of"):
        summarise(next(scopes(project)), bucket="week")
