"""`{% chart "dom-id" figure title summary %}`: a figure, its summary, its numbers as a table."""

from typing import Any

from django import template

from webapp.ui.sparkline import points_of

register = template.Library()
_ROWS = 500


@register.inclusion_tag("ui/_chart.html")
def chart(dom_id: str, figure: dict[str, Any], title: str, summary: str = "") -> dict[str, Any]:
    columns, rows = table_of(figure)
    shown = [[row[0], *map(_cell, row[1:])] for row in rows[:_ROWS]]
    return {
        "id": dom_id,
        "figure": figure,
        "title": title,
        "summary": summary,
        "height": figure.get("layout", {}).get("height", 280),
        "columns": columns,
        "rows": shown,
        "left_out": max(0, len(rows) - _ROWS),
        "has_data": any(trace.get("x") or trace.get("y") for trace in figure.get("data", [])),
    }


@register.inclusion_tag("ui/_sparkline.html")
def sparkline(values: list[float | None], label: str = "") -> dict[str, Any]:
    """A tiny line without axes, drawn by the server; absent values are gaps."""
    return {"lines": points_of(values), "label": label}


def table_of(figure: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """The figure's numbers: one row an x, one column a trace; None where a trace has no value."""
    traces = [trace for trace in figure.get("data", []) if trace.get("y") or trace.get("x")]
    horizontal = bool(traces) and all(trace.get("orientation") == "h" for trace in traces)
    across, along = ("y", "x") if horizontal else ("x", "y")
    columns = [_title(figure, across) or ("Time" if across == "x" else "Name")]
    rows: dict[Any, list[Any]] = {}
    for place, trace in enumerate(traces):
        columns.append(trace.get("name") or _title(figure, along))
        for key, value in zip(trace.get(across) or [], trace.get(along) or [], strict=False):
            rows.setdefault(key, [None] * len(traces))[place] = value
    ordered = sorted(rows, key=str) if across == "x" and _is_time(figure) else list(rows)
    return columns, [[key, *rows[key]] for key in ordered]


def _cell(value: Any) -> Any:
    """Six significant digits of a number; text and absence as they are."""
    return f"{value:,.6g}" if isinstance(value, float) else value


def _title(figure: dict[str, Any], axis: str) -> str:
    layout = figure.get("layout", {})
    return layout.get(f"{axis}axis", {}).get("title", {}).get("text") or ""


def _is_time(figure: dict[str, Any]) -> bool:
    return bool(figure.get("layout", {}).get("xaxis", {}).get("type") == "date")
