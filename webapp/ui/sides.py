"""Latencies seen by the server and by the client are different clocks: they never share a number.

A server's side is what its newest calls of the range report: its own TTFT, else the client's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from webapp.telemetry.queries import COUNTS, MONEY, Scope, Summary, list_calls, summarise

Side = Literal["server", "client"]
LABELS: dict[Side, str] = {"server": "Server side", "client": "Client side"}
_SAMPLE = 20
_MOST_SERVERS = 30


@dataclass(frozen=True)
class Sides:
    """The servers of each side that have calls in the range; "" stands for calls without one."""

    server: tuple[str, ...] = ()
    client: tuple[str, ...] = ()

    @property
    def is_mixed(self) -> bool:
        return bool(self.server and self.client)

    @property
    def first(self) -> Side:
        """The side a page shows unless asked: the server's own, where there is any."""
        return "client" if self.client and not self.server else "server"

    def of(self, side: Side) -> tuple[str, ...]:
        return self.server if side == "server" else self.client


def sides_of(scope: Scope, servers: Sequence[str]) -> Sides:
    """Which of the servers report their own times in this scope, and which are only watched."""
    names = [scope.server] if scope.server is not None else [*servers[:_MOST_SERVERS], ""]
    found: dict[str, list[str]] = {"server": [], "client": []}
    for name in names:
        calls = list_calls(replace(scope, server=name), limit=_SAMPLE).items
        if any(call.ttft_us is not None for call in calls):
            found["server"].append(name)
        elif any(call.client_ttft_us is not None for call in calls):
            found["client"].append(name)
    return Sides(tuple(found["server"]), tuple(found["client"]))


def summarise_side(scope: Scope, sides: Sides, side: Side, **how: Any) -> list[Summary]:
    """As `summarise`, over the calls of one side; over all of them where there is only one."""
    if not sides.is_mixed:
        return summarise(scope, **how)
    merged: dict[tuple[datetime | None, str | None, bool], Summary] = {}
    for name in sides.of(side):
        for row in summarise(replace(scope, server=name), **how):
            place = (row.starts_at, row.key, row.is_other)
            if place in merged:
                add(merged[place], row)
            else:
                merged[place] = row
    return list(merged.values())


def add(into: Summary, row: Summary) -> None:
    """Add sums and distributions of one summary to another."""
    for name in (*COUNTS, *MONEY):
        setattr(into, name, getattr(into, name) + getattr(row, name))
    for name, sketch in row.sketches.items():
        if not sketch.is_empty():
            into.sketches.add_packed(name, sketch.to_bytes())
