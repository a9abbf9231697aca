"""A trace as nested bars on one time axis, in percent of the trace's own length."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from webapp.telemetry.call import CallDetail

# More rows than this are not drawn; the page says how many are left out.
MOST_ROWS = 1000
_AXIS_STEPS = 5


@dataclass(frozen=True)
class Row:
    """One span: its place in the tree, and its bar. `x` and `width` in percent."""

    span: CallDetail
    depth: int
    offset_us: int
    x: float
    width: float
    first_token_x: float | None
    queue_width: float | None
    label: Literal["after", "before", "inside"]

    @property
    def level(self) -> int:
        """How far the name is indented; deeper ones stay where the sixth level is."""
        return min(self.depth, 6)

    @property
    def label_x(self) -> float:
        return self.x if self.label == "before" else min(100.0, self.x + self.width)


@dataclass(frozen=True)
class Waterfall:
    rows: list[Row]
    span_us: int
    depth: int
    marks: list[tuple[float, int]]
    left_out: int


def waterfall_of(spans: Sequence[CallDetail]) -> Waterfall:
    """Depth first, children by start; a span whose parent is missing stands at the top."""
    first = min(span.started_at for span in spans)
    offsets = {
        span.span_id: (span.started_at - first) // timedelta(microseconds=1) for span in spans
    }
    span_us = max(max(offsets[span.span_id] + (span.duration_us or 0) for span in spans), 1)
    ordered = _depth_first(spans)
    rows = [_row(span, depth, offsets[span.span_id], span_us) for span, depth in ordered]
    return Waterfall(
        rows=rows[:MOST_ROWS],
        span_us=span_us,
        depth=1 + max(depth for _, depth in ordered),
        marks=[
            (100 * step / _AXIS_STEPS, span_us * step // _AXIS_STEPS)
            for step in range(_AXIS_STEPS + 1)
        ],
        left_out=max(0, len(rows) - MOST_ROWS),
    )


def _depth_first(spans: Sequence[CallDetail]) -> list[tuple[CallDetail, int]]:
    known = {span.span_id for span in spans}
    children: dict[str | None, list[CallDetail]] = {}
    for span in sorted(spans, key=lambda each: each.started_at):
        above = span.parent_span_id if span.parent_span_id in known else None
        children.setdefault(above, []).append(span)
    ordered: list[tuple[CallDetail, int]] = []
    placed: set[str] = set()
    stack = [(span, 0) for span in reversed(children.get(None, []))]
    while stack:
        span, depth = stack.pop()
        if span.span_id in placed:
            continue
        placed.add(span.span_id)
        ordered.append((span, depth))
        stack += [(child, depth + 1) for child in reversed(children.get(span.span_id, []))]
    # Spans that are each other's parents hang from nothing: they are shown, at the top.
    return ordered + [(span, 0) for span in spans if span.span_id not in placed]


def _row(span: CallDetail, depth: int, offset_us: int, span_us: int) -> Row:
    duration = span.duration_us or 0
    x, width = 100 * offset_us / span_us, 100 * duration / span_us
    ttft = span.ttft_us if span.ttft_us is not None else span.client_ttft_us
    shows_token = ttft is not None and ttft <= duration
    return Row(
        span=span,
        depth=depth,
        offset_us=offset_us,
        x=round(x, 4),
        width=round(min(width, 100 - x), 4),
        first_token_x=round(x + 100 * (ttft or 0) / span_us, 4) if shows_token else None,
        queue_width=round(100 * min(span.queue_us, duration) / span_us, 4)
        if span.queue_us
        else None,
        label="after" if x + width < 85 else "before" if x > 15 else "inside",
    )
