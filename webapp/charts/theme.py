"""The look every figure shares. Colours are CSS variables; the browser resolves them."""

import json
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

Figure = dict[str, Any]

SERIES = tuple(f"var(--series-{slot})" for slot in range(1, 7))
OTHER = "var(--series-other)"
TEXT = "var(--text)"
MUTED = "var(--text-muted)"
GRID = "var(--chart-grid)"
BAD = "var(--bad)"
GOOD = "var(--good)"
WARN = "var(--warn)"
# Percentiles are one hue; strength and dash tell them apart.
STRENGTHS = ("var(--strength-1)", "var(--strength-2)", "var(--strength-3)")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
FONT = "var(--font)"


def colours_of(names: Sequence[str], other: str = "Other") -> dict[str, str]:
    """A colour by name, in order; the seventh and later share the colour of what is left over."""
    found: dict[str, str] = {}
    for name in names:
        slot = len([1 for known in found.values() if known != OTHER])
        found[name] = OTHER if name == other or slot >= len(SERIES) else SERIES[slot]
    return found


def figure(
    traces: Sequence[Any],
    *,
    y_title: str,
    x_title: str = "",
    height: int = 280,
    x_type: str = "date",
    **layout: Any,
) -> Figure:
    """A figure in the product's look, as plain JSON: `template` "none", horizontal grid only."""
    base: dict[str, Any] = {
        "template": "none",
        "height": height,
        "margin": {"l": 48, "r": 8, "t": 8, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12, "color": MUTED},
        "hovermode": "x unified" if x_type == "date" else "closest",
        "hoverlabel": {
            "bgcolor": "var(--surface)",
            "bordercolor": "var(--border-strong)",
            "font": {"color": TEXT},
        },
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.02,
            "yanchor": "bottom",
            "traceorder": "normal",
        },
        "uirevision": "keep",
        "xaxis": axis(x_title, grid=False) | {"type": x_type},
        "yaxis": axis(y_title) | {"rangemode": "tozero"},
    }
    built = go.Figure(data=list(traces), layout=merged(base, layout))
    made: Figure = json.loads(built.to_json())
    return made


def axis(title: str = "", *, grid: bool = True) -> dict[str, Any]:
    named = {"title": {"text": title, "standoff": 8}} if title else {}
    return {
        **named,
        "showgrid": grid,
        "gridcolor": GRID,
        "linecolor": GRID,
        "showline": not grid,
        "zeroline": False,
        "ticks": "",
        "nticks": 6,
        "automargin": True,
        "fixedrange": False,
    }


def merged(base: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """`extra` over `base`, dictionary by dictionary."""
    result = dict(base)
    for name, value in extra.items():
        known = result.get(name)
        both = isinstance(known, dict) and isinstance(value, dict)
        result[name] = merged(known, value) if both else value  # type: ignore[arg-type]
    return result
