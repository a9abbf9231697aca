"""What every page needs beside its own content: project, role, navigation, theme."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpRequest
from django.urls import NoReverseMatch, reverse

from webapp.accounts.access import project_for_user, projects_of, role_in
from webapp.accounts.models import Project
from webapp.telemetry.scope import DIMENSIONS

_ITEMS = (
    ("Overview", "ui:overview"),
    ("Latency", "ui:latency"),
    ("Calls", "telemetry:calls"),
    ("Costs", "costs:overview"),
    ("Drift", "drift:overview"),
    ("What-if", "whatif:list"),
    ("Servers", "servers:list"),
    ("Settings", "accounts:settings"),
)
# A page of another name that belongs under an item.
_UNDER = {"telemetry:call-detail": "telemetry:calls", "telemetry:trace": "telemetry:calls"}
_FILTERED = {"ui", "telemetry", "costs", "drift"}
_KEPT = ("range", "from", "to", "tz", "compare", *DIMENSIONS)


@dataclass(frozen=True)
class NavItem:
    label: str
    url: str
    is_current: bool


def page(request: HttpRequest) -> dict[str, object]:
    """`project`, `role`, `nav`, `projects` and `theme`; no project on pages outside of one."""
    user = getattr(request, "user", None)
    signed_in = user is not None and user.is_authenticated
    project = _project(request) if signed_in else None
    return {
        "project": project,
        "role": role_in(user, project) if user is not None and project else None,
        "nav": _nav(request, project) if project else [],
        "projects": projects_of(user) if user is not None and signed_in and project else [],
        "theme": getattr(user, "theme", "system") if signed_in else "system",
    }


def _project(request: HttpRequest) -> Project | None:
    match = request.resolver_match
    slug = match.kwargs.get("slug") if match else None
    if not isinstance(slug, str) or not request.path.startswith("/p/"):
        return None
    try:
        return project_for_user(request, slug)
    except Http404:
        return None


def _nav(request: HttpRequest, project: Project) -> list[NavItem]:
    """Items of the project; the filters in the URL go along to the pages that have a filter bar."""
    kept = [(name, request.GET[name]) for name in _KEPT if request.GET.get(name)]
    here = request.resolver_match.view_name if request.resolver_match else ""
    here = _UNDER.get(here, here)
    items = []
    for label, name in _ITEMS:
        try:
            url = reverse(name, kwargs={"slug": project.slug})
        except NoReverseMatch:
            continue
        app = name.partition(":")[0]
        same_app = app == here.partition(":")[0] and app != "ui"
        query = f"?{urlencode(kept)}" if kept and app in _FILTERED else ""
        items.append(NavItem(label, url + query, here == name or same_app))
    return items
