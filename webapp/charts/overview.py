"""Cost over time, as stacked bars of the largest groups and what is left."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import plotly.graph_objects as go

from webapp.charts.theme import MUTED, Figure, colours_of, figure

OTHER = "Other"
LARGEST = 5


@dataclass(frozen=True)
class CostSeries:
    """Cost by bucket of one group; as many values as there are times."""

    name: str
    values: Sequence[Decimal]

    @property
    def total(self) -> Decimal:
        return sum(self.values, Decimal(0))


def cost_over_time(
    times: Sequence[str],
    groups: Sequence[CostSeries],
    *,
    previous: Sequence[Decimal] | None = None,
    previous_name: str = "previous period",
) -> Figure:
    """Stacked bars: the five largest groups by name, the rest as Other; the old total as a line."""
    shown = largest(groups)
    colours = colours_of([series.name for series in shown], OTHER)
    traces: list[object] = [
        go.Bar(
            x=list(times),
            y=[float(value) for value in series.values],
            name=series.name,
            marker={"color": colours[series.name], "line": {"width": 0}},
            hovertemplate="$%{y:,.6~f}",
        )
        for series in shown
    ]
    if previous is not None and any(previous):
        traces.append(
            go.Scatter(
                x=list(times),
                y=[float(value) for value in previous[: len(times)]],
                name=previous_name,
                mode="lines",
                line={"color": MUTED, "width": 1.5, "dash": "dot"},
                hovertemplate="$%{y:,.6~f}",
            )
        )
    return figure(traces, y_title="Cost (USD)", barmode="stack", bargap=0.15, height=300)


def largest(groups: Sequence[CostSeries]) -> list[CostSeries]:
    """The five with the highest totals; everything else summed under Other."""
    ordered = sorted(groups, key=lambda series: (-series.total, series.name))
    named = [series for series in ordered if series.name != OTHER and series.total]
    kept = named[:LARGEST]
    rest = named[LARGEST:] + [series for series in ordered if series.name == OTHER]
    if not rest:
        return kept
    summed = [sum(column, Decimal(0)) for column in zip(*(s.values for s in rest), strict=True)]
    return [*kept, CostSeries(OTHER, summed)]
