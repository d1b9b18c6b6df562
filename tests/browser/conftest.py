"""Fixtures of the browser tests: one server and one Chromium a session, a fresh context a test.

A test asks for `page`, opens the app with `visit(page, "/reliability")` and uses the helpers of
tests/browser/harness.py. Whatever the test itself asserts, it also fails on a script error, a
request to another machine, an exception shown, or a traceback in the server's log.
"""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser import chromium, harness

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def server_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server") / "streamlit.log"


@pytest.fixture(scope="session")
def app_url(server_log: Path) -> Iterator[str]:
    """Address of the running app, without a slash at the end."""
    if not (harness.ROOT / "app.py").exists():
        pytest.skip("app.py is not here: skipped")
    with harness.serve(server_log) as url:
        yield url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = chromium.find()
    if executable is None:
        pytest.skip(chromium.MISSING)
    with sync_playwright() as playwright:
        browser = harness.launch(playwright, executable)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, app_url: str, server_log: Path) -> Iterator[Page]:
    """An empty tab; paths given to `visit` or `page.goto` are the app's."""
    logged = server_log.stat().st_size
    context = browser.new_context(base_url=app_url, viewport={"width": 1280, "height": 900})
    problems = _watch(context)
    page = context.new_page()
    yield page
    problems += [text for tab in context.pages for text in harness.exceptions(tab)]
    context.close()
    log = server_log.read_bytes()[logged:].decode(errors="replace")
    if "Traceback" in log:
        problems.append(f"The server logged a traceback:\n{log}")
    assert not problems, "\n".join(problems)


def _watch(context: BrowserContext) -> list[str]:
    """Collect script errors and outside requests of all the context's tabs."""
    problems: list[str] = []

    def check(url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in {"http", "https", "ws", "wss"} and parts.hostname != "localhost":
            problems.append(f"Request to another machine: {url}")

    context.on("weberror", lambda event: problems.append(f"Script error: {event.error}"))
    context.on("request", lambda request: check(request.url))
    context.on("page", lambda page: page.on("websocket", lambda socket: check(socket.url)))
    return problems
