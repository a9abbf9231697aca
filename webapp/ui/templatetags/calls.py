"""Links of sortable tables."""

from django import template
from django.template.context import Context

register = template.Library()


@register.filter
def sort_state(sort: str, key: str) -> str:
    """The value of `aria-sort` for a column."""
    if sort.removeprefix("-") != key:
        return "none"
    return "descending" if sort.startswith("-") else "ascending"


@register.simple_tag(takes_context=True)
def sort_query(context: Context, key: str) -> str:
    """The query that sorts by a column: largest first, and the other way on the second click."""
    query = context["request"].GET.copy()
    query.pop("cursor", None)
    query["sort"] = key if context["sort"] == f"-{key}" else f"-{key}"
    return "?" + query.urlencode()
