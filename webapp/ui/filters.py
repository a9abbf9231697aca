"""What the filter bar of a page says: range, zone, comparison and dimensions, all from the URL."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.utils.timezone import now

from webapp.accounts.models import Project
from webapp.domain.periods import day_start, hour_start, next_day, zone_named
from webapp.telemetry.scope import DIMENSIONS, Scope

PRESETS: dict[str, str] = {
    "1h": "Last hour",
    "6h": "Last 6 hours",
    "24h": "Last 24 hours",
    "7d": "Last 7 days",
    "30d": "Last 30 days",
    "month": "Month to date",
    "custom": "Custom dates",
}
_LENGTHS = {
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
DEFAULT_RANGE = "24h"
# Parameters of single pages that narrow them too, so that each shows as a chip.
_NARROWING = ("status", "session")
_MINUTE = timedelta(minutes=1)
_LONGEST = timedelta(days=400)


@dataclass(frozen=True)
class Chip:
    """One dimension the page is narrowed by; `without` is the query string that drops it."""

    name: str
    value: str
    without: str


@dataclass(frozen=True)
class PageFilters:
    """The filter bar's state. `scope` is what is shown, `previous_scope` what it is compared to.

    `previous_scope` is None where comparison is off; it is the stretch of the same length right
    before, for month to date the same part of the month before.
    """

    range: str
    tz: str
    compare: bool
    scope: Scope
    previous_scope: Scope | None
    group_by: str
    chips: tuple[Chip, ...]
    query: str

    @property
    def zone(self) -> ZoneInfo:
        return zone_named(self.tz)

    @property
    def label(self) -> str:
        return PRESETS[self.range]

    @property
    def bucket(self) -> str:
        """The bucket that draws the range with a readable number of points."""
        length = self.scope.end - self.scope.start
        if length <= timedelta(hours=6):
            return "minute"
        return "hour" if length <= timedelta(days=8) else "day"

    @property
    def presets(self) -> list[tuple[str, str]]:
        return list(PRESETS.items())

    @property
    def start_local(self) -> datetime:
        return self.scope.start.astimezone(self.zone)

    @property
    def end_local(self) -> datetime:
        return self.scope.end.astimezone(self.zone)

    @property
    def last_day_local(self) -> date:
        """The last day shown, as the date field of the bar names it."""
        return (self.scope.end - timedelta(microseconds=1)).astimezone(self.zone).date()

    @property
    def compared_with(self) -> str:
        """What the comparison is with, in words."""
        if self.range == "month":
            return "same part of last month"
        words = {"custom": "the period before"}
        return words.get(self.range, self.label.replace("Last", "previous").lower())


def page_filters(request: HttpRequest, project: Project) -> PageFilters:
    """The filters of the request; BadRequest with a sentence for a value that makes no sense."""
    given = request.GET
    zone = _checked(lambda: zone_named(given.get("tz") or project.organisation.timezone))
    chosen = given.get("range") or ("custom" if given.get("from") else DEFAULT_RANGE)
    if chosen not in PRESETS:
        raise BadRequest(f"range is one of {', '.join(PRESETS)}, not {chosen!r}.")
    start, end = _range(chosen, given.get("from", ""), given.get("to", ""), zone)
    if "\x00" in request.GET.urlencode().replace("%00", "\x00"):
        raise BadRequest("A filter holds a NUL character, which no value has.")
    dimensions = {name: given[name] for name in DIMENSIONS if given.get(name)}
    group_by = given.get("group_by") or "model"
    if group_by not in DIMENSIONS:
        raise BadRequest(f"group_by is one of {', '.join(DIMENSIONS)}, not {group_by!r}.")
    compare = given.get("compare", "on") != "off"
    scope = Scope(project.pk, start, end, **dimensions)
    return PageFilters(
        range=chosen,
        tz=zone.key,
        compare=compare,
        scope=scope,
        previous_scope=_previous(scope, chosen, zone) if compare else None,
        group_by=group_by,
        chips=tuple(
            _chip(request, name, given[name])
            for name in (*DIMENSIONS, *_NARROWING)
            if given.get(name)
        ),
        query=urlencode(_kept(request)),
    )


def _kept(request: HttpRequest) -> list[tuple[str, str]]:
    """Parameters that every page understands, for links from one page to the next."""
    names = ("range", "from", "to", "tz", "compare", *DIMENSIONS)
    return [(name, request.GET[name]) for name in names if request.GET.get(name)]


def _chip(request: HttpRequest, name: str, value: str) -> Chip:
    query = request.GET.copy()
    for gone in (name, "cursor", "page"):
        query.pop(gone, None)
    return Chip(name, value, "?" + query.urlencode())


def _range(chosen: str, first: str, last: str, zone: ZoneInfo) -> tuple[datetime, datetime]:
    if chosen == "custom":
        return _custom(first, last, zone)
    # The minute that runs counts whole: a call of this second is already shown.
    end = now().replace(second=0, microsecond=0) + _MINUTE
    if chosen == "month":
        today = end.astimezone(zone)
        return day_start(datetime(today.year, today.month, 1, 12, tzinfo=zone), zone), end
    start = end - _LENGTHS[chosen]
    return (start if _LENGTHS[chosen] <= timedelta(days=1) else hour_start(start, zone)), end


def _custom(first: str, last: str, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Dates of the zone, both included, or exact ISO times."""
    start = date_edge(first, zone, "from")
    end = date_edge(last or first, zone, "to", is_end=True)
    if end <= start:
        raise BadRequest(f"The range ends ({last or first}) before it starts ({first}).")
    if end - start > _LONGEST:
        raise BadRequest(f"A range is at most {_LONGEST.days} days; this one is longer.")
    return start, end


def date_edge(text: str, zone: ZoneInfo, name: str, *, is_end: bool = False) -> datetime:
    """A date of the zone (its start, or with `is_end` its end) or an exact ISO time.

    BadRequest, naming the parameter, for anything else.
    """
    try:
        parsed = datetime.fromisoformat(text)
        if not 2000 <= parsed.year <= 2200:
            raise ValueError(text)
        at = parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)
        if len(text) == 10:
            noon = at.replace(hour=12)
            return next_day(noon, zone) if is_end else day_start(noon, zone)
        return at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadRequest(f"{name} is a date like 2026-03-01, not {text!r}.") from None


def _previous(scope: Scope, chosen: str, zone: ZoneInfo) -> Scope:
    length = scope.end - scope.start
    if chosen != "month":
        return replace(scope, start=scope.start - length, end=scope.start)
    last_of_before = (scope.start - timedelta(hours=12)).astimezone(zone)
    first = day_start(last_of_before.replace(day=1, hour=12), zone)
    return replace(scope, start=first, end=min(first + length, scope.start))


def _checked(make: Callable[[], ZoneInfo]) -> ZoneInfo:
    try:
        return make()
    except ValueError as error:
        raise BadRequest(str(error)) from None
