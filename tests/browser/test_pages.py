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


def check(visit, path):
    visit.problems.clear()
    assert visit.open(path) == 200, path
    assert visit.problems == [], path
    assert visit.overflow() <= 0, f"{path} is wider than its window"
    assert visit.page.locator("h1").count() == 1, path


@pytest.mark.parametrize("context", LOOKS, indirect=True)
def test_every_page_is_clean_with_traffic(visit, project, filled):
    call, trace_id = filled
    for name in NAMES:
        check(visit, reverse(name, kwargs={"slug": project.slug}))
    check(visit, f"/p/search/calls/{call.trace_id}-{call.span_id}/")
    assert visit.page.locator("[data-token-tick]").count() == call.output_tokens
    check(visit, f"/p/search/traces/{trace_id}/")
    assert visit.page.locator("[data-bar]").count() == 6


@pytest.mark.parametrize("context", LOOKS, indirect=True)
def test_every_page_is_clean_without_any_record(visit, project):
    for name in NAMES:
        check(visit, reverse(name, kwargs={"slug": project.slug}))


def test_names_are_routes():
    for name in NAMES:
        try:
            assert reverse(name, kwargs={"slug": "x"})
        except NoReverseMatch:
            pytest.fail(f"{name} is no route")
