"""Two windows of one metric, as the share of observations at or below each value."""

from collections.abc import Sequence

import plotly.graph_objects as go

from webapp.charts.theme import OTHER, SERIES, Figure, figure

Curve = tuple[Sequence[float], Sequence[float]]


def two_distributions(reference: Curve, current: Curve, *, name: str, unit: str) -> Figure:
    """`reference` and `current`: values in `unit` and cumulative shares from 0 to 1."""
    largest = max((value for curve in (reference, current) for value in curve[0]), default=0.0)
    scale, shown = (1000.0, "ms") if unit == "s" and largest < 1 else (1.0, unit)
    looks = (("Reference", reference, OTHER, "dash"), ("Current", current, SERIES[0], "solid"))
    traces = [
        go.Scatter(
            x=[value * scale for value in values],
            y=[share * 100 for share in shares],
            name=label,
            mode="lines",
            line={"color": colour, "width": 2, "dash": dash, "shape": "hv"},
            hovertemplate="%{y:.1f} % at or below %{x:,.4~g} " + shown,
        )
        for label, (values, shares), colour, dash in looks
        if values
    ]
    return figure(
        traces,
        y_title="Share of observations (%)",
        x_title=f"{name} ({shown})",
        x_type="linear",
        height=300,
        yaxis={"range": [0, 101]},
    )
