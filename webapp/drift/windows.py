"""The reference window that a current window is compared with."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from webapp.telemetry.queries import Scope

REFERENCES = {
    "previous": "right before",
    "week": "a week before",
    "custom": "chosen dates",
}
_WEEK = timedelta(days=7)
_LONGEST = timedelta(days=400)


class BadWindow(ValueError):
    """A reference window that makes no sense; the message is the sentence a person reads."""


class Given(Protocol):
    """A reference window given by its edges, aware."""

    @property
    def ref_from(self) -> datetime | None: ...

    @property
    def ref_to(self) -> datetime | None: ...


def reference_of(scope: Scope, kind: str, given: Given) -> Scope:
    """The scope to compare with: the same dimensions in the window that `kind` names."""
    length = scope.end - scope.start
    if kind == "previous":
        return replace(scope, start=scope.start - length, end=scope.start)
    if kind == "week":
        weeks = max(1, -(-length // _WEEK))  # whole weeks, so that the windows do not overlap
        return replace(scope, start=scope.start - weeks * _WEEK, end=scope.end - weeks * _WEEK)
    if kind != "custom":
        raise BadWindow(f"reference is one of {', '.join(REFERENCES)}, not {kind!r}.")
    start, end = given.ref_from, given.ref_to or scope.start
    if start is None:
        raise BadWindow("The reference window needs a start: give ref_from.")
    if start.tzinfo is None or end.tzinfo is None:
        raise BadWindow("ref_from and ref_to need an offset, as in 2026-11-30T00:00Z.")
    if start >= end:
        raise BadWindow("The reference window ends before it starts; give a later ref_to.")
    if end - start > _LONGEST:
        raise BadWindow(f"A reference window is at most {_LONGEST.days} days; this one is longer.")
    return replace(scope, start=start, end=end)
