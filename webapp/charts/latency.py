"""Percentiles of a latency over time: one hue in three strengths, gaps where nothing was seen."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from webapp.charts.theme import STRENGTHS, Figure, figure


def percentiles_over_time(
    times: Sequence[str], values: Mapping[str, Sequence[float | None]], *, name: str
) -> Figure:
    """`values`: seconds by percentile label, drawn in the unit that reads best."""
    known = [value for column in values.values() for value in column if value is not None]
    scale, unit = (1.0, "s") if known and max(known) >= 1 else (1000.0, "ms")
    traces = [
        go.Scatter(
            x=list(times),
            y=[None if value is None else round(value * scale, 6) for value in column],
            name=label,
            mode="lines+markers",
            connectgaps=False,
            line={
                "color": STRENGTHS[place % 3],
                "width": 2,
                "dash": ("solid", "dash", "dot")[place],
            },
            marker={"size": 4},
            hovertemplate="%{y:,.3~f} " + unit,
        )
        for place, (label, column) in enumerate(values.items())
    ]
    return figure(traces, y_title=f"{name} ({unit})", height=300)
