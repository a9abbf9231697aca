"""A call's time as a picture: its phases, a tick for each token, and the gaps between them.

Positions are percent of the call's own time; nothing here knows a template or a request.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from webapp.domain.token_timeline import Timeline, TimelineError
from webapp.telemetry.call import CallDetail

# A gap this many times the median one is a stall.
STALL_TIMES = 5
# More ticks than this cannot be told apart and would weigh megabytes.
MOST_TICKS = 4000
_AXIS_STEPS = 5


@dataclass(frozen=True)
class Phase:
    """One part of the call's time; `x` and `width` in percent."""

    key: str
    label: str
    micros: int
    x: float
    width: float


@dataclass(frozen=True)
class Tick:
    """One token of an output event; `gap_us` since the event before, None for the first."""

    index: int
    x: float
    offset_us: int
    gap_us: int | None
    tokens: int
    is_stall: bool
    height: float

    @property
    def top(self) -> float:
        return 100 - self.height


@dataclass(frozen=True)
class Stall:
    """A gap far longer than the call's usual ones."""

    before_token: int
    at_us: int
    gap_us: int
    x: float
    width: float


@dataclass(frozen=True)
class Strip:
    """Everything the token timeline shows."""

    span_us: int
    phases: list[Phase]
    ticks: list[Tick]
    stalls: list[Stall]
    marks: list[tuple[float, int]]
    ttft_us: int | None
    ttft_x: float | None
    median_gap_us: float | None
    p95_gap_us: float | None
    longest_gap_us: int | None
    events: int
    tokens: int | None
    tokens_per_s: float | None
    left_out: int
    problem: str


def strip_of(call: CallDetail) -> Strip:
    """The picture of a call; without a timeline it still has the phases that are known."""
    timeline, problem = _timeline_of(call)
    last = timeline.last_us if timeline else None
    span_us = max(call.duration_us or 0, last or 0, 1)
    gaps = [int(gap) for gap in timeline.itl_us] if timeline else []
    middle = median(gaps) if gaps else None
    ticks = _ticks(timeline, gaps, middle, span_us) if timeline else []
    ttft = call.ttft_us if call.ttft_us is not None else call.client_ttft_us
    ttft = ttft if ttft is not None else (timeline.ttft_us if timeline else None)
    return Strip(
        span_us=span_us,
        phases=_phases(call, span_us),
        ticks=ticks[:MOST_TICKS],
        stalls=_stalls(ticks, span_us),
        marks=[
            (100 * step / _AXIS_STEPS, span_us * step // _AXIS_STEPS)
            for step in range(_AXIS_STEPS + 1)
        ],
        ttft_us=ttft,
        ttft_x=None if ttft is None else min(100.0, 100 * ttft / span_us),
        median_gap_us=middle,
        p95_gap_us=_quantile(gaps, 0.95) if len(gaps) >= 20 else None,
        longest_gap_us=max(gaps, default=None),
        events=len(timeline.offsets_us) if timeline else 0,
        tokens=timeline.token_count if timeline else None,
        tokens_per_s=_speed(timeline),
        left_out=max(0, len(ticks) - MOST_TICKS),
        problem=problem,
    )


def _timeline_of(call: CallDetail) -> tuple[Timeline | None, str]:
    try:
        found = call.timeline
    except TimelineError as error:
        return None, str(error)
    return (found, "") if found is not None and len(found.offsets_us) else (None, "")


def _phases(call: CallDetail, span_us: int) -> list[Phase]:
    """Known phases in their order; what they leave of the call is shown as other time."""
    known = [
        ("queue", "Queue", call.queue_us),
        ("prefill", "Prefill", call.prefill_us),
        ("decode", "Decode", _decode_alone(call)),
        ("preempted", "Preempted", call.preempted_us),
    ]
    if all(micros is None for _, _, micros in known[:3]):
        return _seen_from_outside(call, span_us)
    parts = [(key, label, micros) for key, label, micros in known if micros]
    rest = span_us - sum(micros for _, _, micros in parts)
    if rest > 0:
        parts.append(("other", "Other", rest))
    return _laid_out(parts, span_us)


def _decode_alone(call: CallDetail) -> int | None:
    """Decoding without the time the call lay preempted, so that the phases add up."""
    if call.decode_us is None:
        return None
    return max(0, call.decode_us - (call.preempted_us or 0))


def _seen_from_outside(call: CallDetail, span_us: int) -> list[Phase]:
    """Without the server's own phases: waiting for the first token, then streaming."""
    ttft = call.ttft_us if call.ttft_us is not None else call.client_ttft_us
    if ttft is None or call.duration_us is None:
        return []
    streaming = max(0, span_us - ttft)
    return _laid_out(
        [("prefill", "Until first token", ttft), ("decode", "Streaming", streaming)], span_us
    )


def _laid_out(parts: Sequence[tuple[str, str, int]], span_us: int) -> list[Phase]:
    total = max(span_us, sum(micros for _, _, micros in parts))
    phases, x = [], 0.0
    for key, label, micros in parts:
        width = 100 * micros / total
        phases.append(Phase(key, label, micros, round(x, 4), round(width, 4)))
        x += width
    return phases


def _ticks(
    timeline: Timeline, gaps: Sequence[int], middle: float | None, span_us: int
) -> list[Tick]:
    """One tick a token: an event of several tokens makes several, an unknown count makes one."""
    longest = max(gaps, default=0) or 1
    limit = middle * STALL_TIMES if middle else None
    ticks: list[Tick] = []
    events = zip(timeline.offsets_us.tolist(), timeline.tokens.tolist(), strict=True)
    for place, (offset, tokens) in enumerate(events):
        gap = gaps[place - 1] if place else None
        stalled = limit is not None and gap is not None and gap > limit
        height = 0.0 if gap is None else max(2.0, 100 * gap / longest)
        for _ in range(max(1, tokens)):
            ticks.append(
                Tick(
                    index=len(ticks) + 1,
                    x=round(100 * offset / span_us, 4),
                    offset_us=offset,
                    gap_us=gap,
                    tokens=tokens,
                    is_stall=stalled,
                    height=round(height, 2),
                )
            )
    return ticks


def _stalls(ticks: Sequence[Tick], span_us: int) -> list[Stall]:
    found: list[Stall] = []
    seen: set[int] = set()
    for tick in ticks:
        if not tick.is_stall or tick.gap_us is None or tick.offset_us in seen:
            continue
        seen.add(tick.offset_us)
        width = 100 * tick.gap_us / span_us
        start = tick.offset_us - tick.gap_us
        found.append(
            Stall(tick.index, start, tick.gap_us, round(tick.x - width, 4), round(width, 4))
        )
    return found


def _quantile(values: Sequence[int], q: float) -> float:
    ordered = sorted(values)
    rank = q * (len(ordered) - 1)
    low = int(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)


def _speed(timeline: Timeline | None) -> float | None:
    """Output tokens a second after the first event; None where the stream was a single event."""
    if timeline is None or timeline.token_count is None or len(timeline.offsets_us) < 2:
        return None
    micros = int(timeline.offsets_us[-1] - timeline.offsets_us[0])
    rest = timeline.token_count - int(timeline.tokens[0])
    return rest * 1e6 / micros if micros > 0 and rest > 0 else None
