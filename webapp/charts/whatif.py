"""Scenarios of a what-if as points: what a call costs against how long the slow ones take."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from webapp.charts.theme import GOOD, OTHER, SERIES, Figure, figure


@dataclass(frozen=True)
class Point:
    """One scenario: USD per 1M output tokens, p95 E2E in seconds; `on_front` if none beats it."""

    words: str
    cost: float
    e2e_p95_s: float
    is_baseline: bool
    on_front: bool


def cost_against_latency(points: Sequence[Point]) -> Figure:
    """Nearer to the lower left is better; the recorded setting is drawn apart."""
    groups = (
        ("As recorded, simulated", OTHER, "diamond", [one for one in points if one.is_baseline]),
        (
            "No other is cheaper and faster",
            GOOD,
            "circle",
            [one for one in points if one.on_front and not one.is_baseline],
        ),
        (
            "Another is cheaper and faster",
            SERIES[0],
            "circle-open",
            [one for one in points if not one.on_front and not one.is_baseline],
        ),
    )
    traces = [
        go.Scatter(
            x=[one.e2e_p95_s for one in members],
            y=[one.cost for one in members],
            text=[one.words for one in members],
            name=name,
            mode="markers",
            marker={"color": colour, "size": 11, "symbol": symbol, "line": {"width": 2}},
            hovertemplate="%{text}<br>p95 E2E %{x:,.3~g} s<br>$%{y:,.4~g} per 1M tokens",
        )
        for name, colour, symbol, members in groups
        if members
    ]
    return figure(
        traces,
        y_title="USD per 1M output tokens",
        x_title="p95 E2E (s)",
        x_type="linear",
        height=300,
        xaxis={"rangemode": "tozero"},
    )
