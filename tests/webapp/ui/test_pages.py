import re
from datetime import UTC, datetime

import pytest

from tests.browser.traffic import fill

PAGES = ["/p/search/overview/", "/p/search/latency/"]


@pytest.fixture
def filled(project):
    return fill(project, datetime.now(UTC), count=400)


@pytest.mark.parametrize("path", PAGES)
def test_stranger_gets_404_and_members_the_page(
    path, filled, stranger_client, viewer_client, owner_client
):
    assert stranger_client.get(path).status_code == 404
    assert viewer_client.get(path).status_code == 200
    assert owner_client.get(path).status_code == 200


@pytest.mark.parametrize("path", PAGES)
def test_empty_project_shows_the_way_to_a_first_record(path, owner_client, project):
    text = owner_client.get(path).content.decode()
    assert "No call has arrived yet" in text


@pytest.mark.parametrize("range_", ["1h", "6h", "24h", "7d", "30d", "month"])
@pytest.mark.parametrize("path", PAGES)
def test_no_accident_of_programming_is_shown(path, range_, owner_client, filled):
    text = owner_client.get(f"{path}?range={range_}").content.decode()
    shown = re.sub(r"<script.*?</script>|<[^>]+>", " ", text, flags=re.S)
    assert not re.search(r"\b(NaN|None|undefined|Infinity|nan|inf)\b", shown)


def test_overview_has_five_tiles_that_lead_on(owner_client, filled):
    text = owner_client.get("/p/search/overview/").content.decode()
    tiles = re.findall(r'data-kpi="([\w-]+)">\s*<a href="([^"]+)"', text)
    assert [key for key, _ in tiles] == ["cost", "unit-cost", "calls", "ttft", "errors"]


def test_drivers_add_up_to_the_total(owner_client, filled):
    text = owner_client.get("/p/search/overview/?range=30d").content.decode()
    calls = re.findall(r'<td class="num">([\d,]+)</td>\s*<td class="num">[\d,]+</td>\s*<td', text)
    numbers = [int(value.replace(",", "")) for value in calls]
    assert len(numbers) > 2
    assert sum(numbers[:-1]) == numbers[-1] == 402


def test_unpriced_calls_are_named_and_not_zero(owner_client, filled):
    text = owner_client.get("/p/search/overview/?range=30d").content.decode()
    assert "calls have no price" in text
    assert 'title="No call of this group has a price">—' in text
    assert 'tuned-classifier",' not in text  # a bar of no height is no bar


def test_compare_off_removes_every_change(owner_client, filled):
    assert 'class="delta ' in owner_client.get("/p/search/overview/").content.decode()
    without = owner_client.get("/p/search/overview/?compare=off").content.decode()
    assert 'class="delta ' not in without


def test_a_percentile_of_too_few_calls_is_a_dash(owner_client, filled):
    text = owner_client.get("/p/search/latency/?range=1h").content.decode()
    assert "needs 1,000 observations" in text


def test_latency_offers_each_metric_and_refuses_others(owner_client, filled):
    for metric in ("ttft_s", "itl_s", "tpot_s", "e2e_s", "queue_s"):
        text = owner_client.get(f"/p/search/latency/?metric={metric}").content.decode()
        assert 'data-chart="latency-over-time"' in text
    assert owner_client.get("/p/search/latency/?metric=x").status_code == 400
    assert owner_client.get("/p/search/latency/?group_by=x").status_code == 400


def test_server_side_and_client_side_never_share_a_number(owner_client, filled):
    base = "/p/search/latency/?range=30d&group_by=server"
    texts = {
        side: owner_client.get(f"{base}&side={side}").content.decode()
        for side in ("server", "client")
    }
    names = {side: set(re.findall(r">([\w-]+)</a></th>", text)) for side, text in texts.items()}
    assert names == {"server": {"engine"}, "client": {"vllm-a100", "openai"}}
    assert "All latencies, server side" in owner_client.get(base).content.decode()


def test_one_server_needs_no_choice_of_side(owner_client, filled):
    text = owner_client.get("/p/search/latency/?range=30d&server=openai").content.decode()
    assert "All latencies, client side" in text
    assert 'aria-label="Measured on"' not in text
