import re

import pytest


@pytest.fixture
def page(owner_client, filled):
    call, _ = filled
    answer = owner_client.get(f"/p/search/calls/{call.trace_id}-{call.span_id}/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_one_tick_for_every_output_token(page, filled):
    call, _ = filled
    assert page.count("data-token-tick=") == call.output_tokens


def test_phases_add_up_to_the_call(page):
    widths = re.findall(r'data-phase="\w+" x="[\d.]+%" width="([\d.]+)%"', page)
    assert len(widths) >= 3
    assert sum(map(float, widths)) == pytest.approx(100, abs=0.01)


def test_cost_says_its_basis_and_that_the_price_is_assumed(page):
    assert "at the server's price per hour" in page
    assert "~ $0.10 / h, assumed" in page


def test_nothing_reads_like_a_programming_accident(page):
    text = re.sub(r"<[^>]+>", " ", page)
    assert not re.search(r"\b(NaN|None|undefined|Infinity|nan|inf)\b", text)


def test_call_without_a_timeline_says_why_there_are_no_ticks(owner_client, filled):
    text = owner_client.get("/p/search/calls/?range=30d&provider=homegrown").content.decode()
    path = re.search(r'href="(/p/search/calls/[0-9a-f-]+/)"', text)[1]
    page = owner_client.get(path).content.decode()
    assert "there are no ticks" in page
    assert "unpriced" in page


def test_unknown_call_is_404(owner_client, project):
    for call_id in ("x", "0" * 32 + "-" + "0" * 16, "0" * 49):
        assert owner_client.get(f"/p/search/calls/{call_id}/").status_code == 404
