import re

import pytest
from django.urls import NoReverseMatch, reverse

from tests.browser.conftest import DESKTOP, PHONE

pytestmark = pytest.mark.browser

NAMES = (
    "ui:overview",
    "ui:latency",
    "telemetry:calls",
    "costs:overview",
    "drift:overview",
    "whatif:list",
    "servers:list",
    "accounts:settings",
)
LOOKS = [
    pytest.param((theme, size), id=f"{theme}-{size[0]}")
    for theme in ("light", "dark")
    for size in (DESKTOP, PHONE)
]
ACCIDENTS = re.compile(r"\b(NaN|None|undefined|Infinity|inf|nan)\b")


def paths_of(project):
    """Every page of the project; a page that has no route is its name, which no server answers."""
    for name in NAMES:
        try:
            yield reverse(name, kwargs={"slug": project.slug})
        except NoReverseMatch:
            yield f"/no-route-for/{name}/"


def faults(visit, path):
    """What is wrong with a page, in words; empty where nothing is."""
    visit.problems.clear()
    status = visit.open(path)
    found = [*visit.problems]
    if status != 200:
        found.append(f"status {status}")
    if visit.overflow() > 0:
        found.append(f"{visit.overflow()} px wider than its window")
    if visit.page.locator("h1").count() != 1:
        found.append("not exactly one h1")
    if " · " not in visit.page.title():
        found.append("its title does not name the page and the project")
    accident = ACCIDENTS.search(visit.page.locator("body").inner_text())
    if accident:
        found.append(f"shows {accident[0]!r}")
    unnamed = visit.page.locator("table:not(:has(caption))").count()
    if unnamed:
        found.append(f"{unnamed} tables without a caption")
    return [f"{path}: {fault}" for fault in found]


@pytest.mark.parametrize("context", LOOKS, indirect=True)
def test_every_page_is_clean_with_traffic(visit, project, filled):
    call, trace_id = filled
    found = [fault for path in paths_of(project) for fault in faults(visit, path)]
    found += faults(visit, f"/p/search/calls/{call.trace_id}-{call.span_id}/")
    assert visit.page.locator("[data-token-tick]").count() == call.output_tokens
    found += faults(visit, f"/p/search/traces/{trace_id}/")
    assert visit.page.locator("[data-bar]").count() == 6
    assert found == []


@pytest.mark.parametrize("context", LOOKS, indirect=True)
def test_every_page_is_clean_without_any_record(visit, project):
    assert [fault for path in paths_of(project) for fault in faults(visit, path)] == []
