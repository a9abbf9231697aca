"""Figures of the costs page."""

from collections.abc import Sequence
from decimal import Decimal

import plotly.graph_objects as go

from webapp.charts.theme import OTHER, SERIES, Figure, figure

# Parts of a cost, in the order they are stacked.
PARTS = {
    "Input": SERIES[0],
    "Cache read": SERIES[1],
    "Cache write": SERIES[2],
    "Output": SERIES[3],
    "Engine time": SERIES[4],
}


def cost_by_part(times: Sequence[str], parts: dict[str, Sequence[Decimal]]) -> Figure:
    """Stacked bars over time; parts nothing was spent on are left out."""
    traces = [
        go.Bar(
            x=list(times),
            y=[float(value) for value in parts[name]],
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate="$%{y:,.6~f}",
        )
        for name, colour in PARTS.items()
        if any(parts.get(name, ()))
    ]
    return figure(traces, y_title="Cost (USD)", barmode="stack", bargap=0.15, height=300)


def bill_split(
    servers: Sequence[str],
    attributed: Sequence[Decimal],
    idle: Sequence[Decimal],
    unattributed: Sequence[Decimal],
) -> Figure:
    """One bar a server: what its bill went to."""
    rows = (
        ("Calls", attributed, SERIES[0]),
        ("Unattributed", unattributed, SERIES[3]),
        ("Idle", idle, OTHER),
    )
    traces = [
        go.Bar(
            x=list(servers),
            y=[float(value) for value in values],
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate="$%{y:,.6~f}",
        )
        for name, values, colour in rows
        if any(values)
    ]
    return figure(traces, y_title="Bill (USD)", barmode="stack", x_type="category", height=240)
