"""Template filters for numbers and times; the rules are in `webapp.ui.numbers`."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import now

from webapp.ui import numbers

register = template.Library()

for function in (
    numbers.money,
    numbers.money_exact,
    numbers.money_full,
    numbers.money_column,
    numbers.tokens,
    numbers.tokens_compact,
    numbers.duration,
    numbers.seconds,
    numbers.percent,
    numbers.change,
    numbers.points,
    numbers.rate,
    numbers.missing,
):
    register.filter(function.__name__, function)


@register.filter
def age(moment: datetime | None) -> str:
    return numbers.age(moment, now())


@register.filter
def when(moment: datetime | None, zone: str = "UTC") -> SafeString | str:
    """A moment in the reader's zone, its exact UTC in the title."""
    if moment is None:
        return numbers.MISSING
    local = moment.astimezone(ZoneInfo(zone or "UTC"))
    exact = moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        exact,
        exact,
        f"{local.day} {local:%b}, {local:%H:%M:%S}",
    )
