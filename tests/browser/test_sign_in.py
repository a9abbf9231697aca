import pytest

from tests.conftest import PASSWORD

pytestmark = pytest.mark.browser


def test_signing_in_leads_to_the_page_that_was_asked_for(browser, live_server, owner):
    page = browser.new_page()
    page.goto(f"{live_server.url}/p/search/calls/")
    page.get_by_label("User name").fill("owner")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/p/search/calls/")
    assert page.locator("h1").inner_text() == "Calls"
    page.close()


def test_a_wrong_password_says_so_and_keeps_the_name(browser, live_server, owner):
    page = browser.new_page()
    page.goto(f"{live_server.url}/sign-in/")
    page.get_by_label("User name").fill("owner")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_load_state("networkidle")
    assert page.get_by_label("User name").input_value() == "owner"
    assert page.locator("h1").count() == 1
    page.close()
