import re

import pytest

from tests.browser.conftest import DESKTOP, PHONE

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("context", [("system", DESKTOP)], indirect=True)
def test_charts_follow_the_theme_of_the_system(visit, filled):
    visit.page.emulate_media(color_scheme="light")
    visit.open("/p/search/overview/")
    bars = "#region, .chart-area .bars path, .chart-area .point path"
    light = visit.page.locator(bars).first.evaluate("node => getComputedStyle(node).fill")
    visit.page.emulate_media(color_scheme="dark")
    visit.page.wait_for_function(
        "([bars, light]) => getComputedStyle(document.querySelector(bars)).fill !== light",
        arg=[bars, light],
    )
    assert light == "rgb(0, 45, 156)"
    assert visit.problems == []


def test_theme_button_turns_the_page_dark_and_it_stays(visit, project):
    visit.open("/p/search/overview/")
    button = visit.page.locator(".topbar .icon-button")
    button.click()
    visit.page.wait_for_load_state("networkidle")
    visit.page.locator(".topbar .icon-button").click()
    visit.page.wait_for_load_state("networkidle")
    assert visit.page.locator("html").get_attribute("data-theme") == "dark"
    visit.page.reload()
    assert visit.page.locator("html").get_attribute("data-theme") == "dark"


def test_sorting_calls_swaps_the_table_and_goes_back(visit, filled):
    visit.open("/p/search/calls/?range=30d")
    page = visit.page
    page.evaluate("window.unbroken = true")
    page.get_by_role("link", name="Cost (USD)").click()
    page.wait_for_url(re.compile(r"sort=-cost"))
    page.wait_for_selector("th[aria-sort=descending] >> text=Cost (USD)")
    assert page.evaluate("window.unbroken") is True, "the page was loaded anew"
    assert page.locator("#announce").text_content() == "50 calls shown"
    page.get_by_role("link", name="Next page").click()
    page.wait_for_url(re.compile(r"cursor="))
    page.reload()
    assert page.locator("tbody tr").count() == 50
    page.go_back()
    page.wait_for_selector("th[aria-sort=descending] >> text=Cost (USD)")
    assert "cursor=" not in page.url
    assert visit.problems == []


def test_filtering_calls_narrows_the_table_and_is_in_the_address(visit, filled):
    visit.open("/p/search/calls/?range=30d")
    page = visit.page
    page.get_by_label("Status").select_option("cancelled")
    page.wait_for_url(re.compile(r"status=cancelled"))
    page.wait_for_function(
        "[...document.querySelectorAll('tbody .badge')].every(b => b.textContent === 'cancelled')"
    )
    shown = page.locator("tbody tr").count()
    assert 0 < shown < 50
    page.reload()
    assert page.locator("tbody tr").count() == shown
    assert page.get_by_label("Status").input_value() == "cancelled"
    assert visit.problems == []


def test_choosing_a_range_changes_the_address_and_every_tile(visit, filled):
    visit.open("/p/search/overview/")
    calls = visit.page.locator("[data-kpi=calls] .tile-value")
    day = calls.inner_text()
    visit.page.get_by_label("Range").select_option("30d")
    visit.page.wait_for_url(re.compile(r"range=30d"))
    assert calls.inner_text() != day
    assert "server=" not in visit.page.url, "fields without a value stay out of the address"
    visit.page.go_back()
    visit.page.wait_for_load_state("networkidle")
    assert calls.inner_text() == day
    assert visit.problems == []


def test_a_driver_narrows_the_page_and_its_chip_widens_it_again(visit, filled):
    visit.open("/p/search/overview/?range=30d")
    visit.page.get_by_role("link", name="gpt-4o-mini").first.click()
    visit.page.wait_for_url(re.compile(r"model=gpt-4o-mini"))
    assert "range=30d" in visit.page.url
    visit.page.get_by_role("link", name=re.compile("model: gpt-4o-mini")).click()
    visit.page.wait_for_load_state("networkidle")
    assert "model=" not in visit.page.url
    assert visit.problems == []


def test_first_screen_holds_tiles_and_the_whole_chart(visit, filled):
    visit.open("/p/search/overview/")
    box = visit.page.locator(".chart-area").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 900


def test_from_a_call_to_its_trace_by_keyboard(visit, filled):
    call, _ = filled
    visit.open(f"/p/search/calls/{call.trace_id}-{call.span_id}/")
    visit.page.get_by_role("link", name="Trace", exact=True).focus()
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_url(re.compile(rf"/traces/{call.trace_id}/"))
    assert visit.page.locator("[data-bar]").count() == 1


def test_nothing_is_stored_in_the_browser(visit, filled):
    visit.open("/p/search/calls/")
    visit.page.get_by_role("link", name="Cost (USD)").click()
    visit.page.wait_for_url(re.compile("sort"))
    assert visit.page.evaluate("localStorage.length + sessionStorage.length") == 0


def test_custom_dates_unfold_and_apply(visit, filled):
    visit.open("/p/search/overview/?team=search")
    page = visit.page
    assert not page.get_by_label("From").is_visible()
    page.get_by_label("Range").select_option("custom")
    page.get_by_label("From").fill("2026-01-05")
    page.get_by_label("To", exact=True).fill("2026-01-06")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url(re.compile("from=2026-01-05&to=2026-01-06"))
    assert "team=search" in page.url
    assert page.get_by_label("To", exact=True).input_value() == "2026-01-06"
    assert visit.problems == []


@pytest.mark.parametrize("context", [("light", PHONE)], indirect=True)
def test_on_a_phone_the_filters_fold(visit, filled):
    visit.open("/p/search/overview/")
    page = visit.page
    assert not page.get_by_label("Model").is_visible()
    page.get_by_role("button", name="Filters").click()
    assert page.get_by_label("Model").is_visible()
    assert visit.overflow() <= 0


def test_keyboard_skips_to_the_content_and_every_ring_is_visible(visit, filled):
    visit.open("/p/search/overview/")
    page = visit.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Tab")
        width = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
        assert width == "2px"
        assert page.evaluate("document.querySelector('main').contains(document.activeElement)")
