from decimal import Decimal

import pytest
from django.template import Context, Template

from webapp.ui.tiles import Tile, delta


def test_page_has_one_heading_which_is_its_title(owner_client):
    text = owner_client.get("/p/search/overview/").content.decode()
    assert text.count("<h1>") == 1
    assert "<h1>Overview</h1>" in text
    assert "<title>Overview · Search · Inferometer</title>" in text


def test_navigation_marks_the_page_and_keeps_the_filters(owner_client):
    text = owner_client.get("/p/search/overview/?range=7d").content.decode()
    assert 'href="/p/search/overview/?range=7d" aria-current="page"' in text
    assert 'href="/p/search/latency/?range=7d"' in text


def test_stranger_gets_404_on_the_overview(stranger_client):
    answer = stranger_client.get("/p/search/overview/")
    assert answer.status_code == 404
    assert "Search" not in answer.content.decode()


def test_home_leads_to_the_first_project(owner_client):
    assert owner_client.get("/").url == "/p/search/overview/"


def test_theme_is_kept_and_written_into_the_page(owner, owner_client):
    answer = owner_client.post("/theme/", {"theme": "dark", "next": "/p/search/overview/"})
    assert answer.url == "/p/search/overview/"
    owner.refresh_from_db()
    assert owner.theme == "dark"
    assert 'data-theme="dark"' in owner_client.get("/p/search/overview/").content.decode()


def test_theme_never_leads_to_another_site(owner_client):
    answer = owner_client.post("/theme/", {"theme": "light", "next": "https://evil.example/"})
    assert answer.url == "/"


@pytest.mark.parametrize(
    "query", ["range=9y", "tz=Mars", "group_by=x", "from=soon", "range=custom"]
)
def test_senseless_filter_is_a_400_with_a_sentence(owner_client, query):
    answer = owner_client.get(f"/p/search/overview/?{query}")
    assert answer.status_code == 400
    assert "That request does not work" in answer.content.decode()


def test_tiles_say_value_change_and_what_it_is_compared_with():
    tile = Tile(
        "cost", "Spend", "$1.20", url="/x", delta=delta(12, 10, compared="$1.00", good="down")
    )
    text = Template('{% include "ui/_tiles.html" %}').render(Context({"tiles": [tile]}))
    assert 'data-kpi="cost"' in text
    assert 'class="delta bad"' in text
    assert "+20.0\u00a0%" in text
    assert "vs $1.00" in text


def test_chart_carries_its_numbers_as_a_table():
    figure = {
        "data": [{"name": "p95", "x": ["a", "b"], "y": [1.5, None]}],
        "layout": {"xaxis": {"title": {"text": "Model"}}, "height": 200},
    }
    template = Template('{% load charts %}{% chart "c" figure "Latency" "Says it." %}')
    text = template.render(Context({"figure": figure}))
    assert 'data-chart="c"' in text
    assert '<td class="num">1.5</td>' in text
    assert '<td class="num">—</td>' in text
    assert "<script>" not in text


def test_change_needs_both_values():
    assert delta(None, Decimal(1), compared="$1") is None
    assert delta(1, None, compared="—") is None
