"""Latencies seen by the server and by the client are different clocks: they never share a number.

A server's side is what its newest calls of the range report: its own TTFT, else the client's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from webapp.telemetry.queries import Scope, Summary, list_calls, summarise
from webapp.ui.buckets import merged

Side = Literal["server", "client"]
LABELS: dict[Side, str] = {"server": "Server side", "client": "Client side"}
LATENCIES = ("ttft_us", "itl_us", "tpot_us", "e2e_us", "queue_us")
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

    def of(self, side: Side, rows: Sequence[Summary]) -> list[Summary]:
        """Rows, grouped by server, of one side; all of them where there is only one."""
        names = self.server if side == "server" else self.client
        if not self.is_mixed:
            return list(rows)
        return [row for row in rows if not row.is_other and (row.key or "") in names]


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


def summarise_groups(scope: Scope, sides: Sides, side: Side, group_by: str) -> list[Summary]:
    """Calls of one side by a dimension."""
    if not sides.is_mixed or group_by == "server":
        return sides.of(side, summarise(scope, group_by=group_by))
    names = sides.server if side == "server" else sides.client
    parts = [summarise(replace(scope, server=name), group_by=group_by) for name in names]
    rows = merged([row for part in parts for row in part], lambda row: row.key, LATENCIES)
    return list(rows.values())
