import json
from decimal import Decimal

from webapp.charts.latency import percentiles_over_time
from webapp.charts.overview import CostSeries, cost_over_time
from webapp.charts.theme import OTHER, SERIES, colours_of

TIMES = ["2026-03-01 00:00", "2026-03-01 01:00"]


def series(name, *values):
    return CostSeries(name, [Decimal(str(value)) for value in values])


def test_five_largest_and_the_rest_add_up_to_the_total():
    groups = [series(f"m{n}", n, 0.5) for n in range(1, 9)]
    figure = cost_over_time(TIMES, groups)
    assert [trace["name"] for trace in figure["data"]] == ["m8", "m7", "m6", "m5", "m4", "Other"]
    assert sum(sum(trace["y"]) for trace in figure["data"]) == 36 + 8 * 0.5
    assert figure["data"][-1]["marker"]["color"] == OTHER


def test_the_period_before_is_a_line_over_the_same_times():
    figure = cost_over_time(TIMES, [series("a", 1, 2)], previous=[Decimal(3), Decimal(4)])
    line = figure["data"][-1]
    assert (line["type"], line["x"], line["y"]) == ("scatter", TIMES, [3.0, 4.0])


def test_a_group_that_cost_nothing_is_not_drawn():
    figure = cost_over_time(TIMES, [series("a", 1, 2), series("free", 0, 0)])
    assert [trace["name"] for trace in figure["data"]] == ["a"]


def test_figures_carry_no_template_and_no_binary_blocks():
    text = json.dumps(cost_over_time(TIMES, [series("a", 1, 2)]))
    assert "bdata" not in text
    assert len(text) < 3000


def test_absent_percentiles_are_gaps_and_the_unit_is_on_the_axis():
    figure = percentiles_over_time(TIMES, {"p50": [0.012, None], "p95": [0.02, 0.03]}, name="TTFT")
    assert figure["data"][0]["y"] == [12.0, None]
    assert figure["data"][0]["connectgaps"] is False
    assert figure["layout"]["yaxis"]["title"]["text"] == "TTFT (ms)"


def test_seconds_are_drawn_as_seconds():
    figure = percentiles_over_time(TIMES, {"p50": [1.5, 0.2]}, name="E2E")
    assert figure["data"][0]["y"] == [1.5, 0.2]
    assert figure["layout"]["yaxis"]["title"]["text"] == "E2E (s)"


def test_the_seventh_name_shares_the_colour_of_the_rest():
    colours = colours_of([f"n{place}" for place in range(8)])
    assert [colours[f"n{place}"] for place in range(8)] == [*SERIES, OTHER, OTHER]
