"""A headless Chromium, and a page that notes everything that must not happen."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

from tests.browser.traffic import fill

# Playwright keeps an event loop in this thread; the fixtures still ask the database plainly.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

CHROMIUM = os.environ.get("INFEROMETER_CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP, PHONE = (1440, 900), (390, 844)


@dataclass
class Visit:
    """A page of the browser, and what went wrong on it."""

    page: Page
    origin: str
    problems: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("request", self._request)

    def open(self, path: str) -> int:
        answer = self.page.goto(self.origin + path, wait_until="networkidle")
        drawn = "[data-chart]:not([data-drawn])"
        self.page.wait_for_function(f"!document.querySelector('{drawn}')")
        return answer.status if answer else 0

    def overflow(self) -> int:
        """How many pixels the page is wider than its window."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def _console(self, message: object) -> None:
        kind, text = message.type, message.text  # type: ignore[attr-defined]
        if kind in ("error", "warning"):
            self.problems.append(f"console {kind}: {text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self.problems.append(f"request to another origin: {request.url}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with tempfile.TemporaryDirectory(), sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def context(browser: Browser, live_server, owner, request) -> Iterator[BrowserContext]:
    """Signed in as the owner; `request.param` is (theme, (width, height))."""
    theme, (width, height) = getattr(request, "param", ("light", DESKTOP))
    owner.theme = theme
    owner.save(update_fields=["theme"])
    client = Client()
    client.force_login(owner)
    made = browser.new_context(viewport={"width": width, "height": height})
    made.add_cookies(
        [{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}]
    )
    yield made
    made.close()


@pytest.fixture
def visit(context: BrowserContext, live_server) -> Visit:
    watched = Visit(context.new_page(), live_server.url)
    watched.watch()
    return watched


@pytest.fixture
def filled(project):
    """Two days of traffic; the longest engine call, and the id of an agent's trace."""
    return fill(project, datetime.now(UTC), count=1200)
