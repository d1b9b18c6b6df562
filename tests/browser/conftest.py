"""Fixtures of the browser tests: one server, one Chromium and one tab per process.

`make test` runs eight journeys, because a page takes a second of a processor: what one page or one
control does is tested faster in tests/pages and tests/ui. All other tests of this folder are rare:
what only a browser knows (places and sizes, contrasts, printing, drawn charts, the numbers that
JavaScript computes, several people, killed servers), on every page and in every case.

A test asks for `page`, opens the app with `visit(page, "/reliability")` and uses the helpers of
tests/browser/harness.py. Whatever the test itself asserts, it also fails on a script error, a
request to another machine, what the server's security policy refuses, an exception shown, or a
traceback in the server's log. A test of two people asks for `other` too, a tab of another browser.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from tests.browser import chromium, harness

HERE = Path(__file__).parent
JOURNEYS = ("test_journeys.py", "test_sign_in.py")
# After a fast click Streamlit starts a new run of the page, and the old one goes on until it next
# asks whether to stop. Both have locks of their own, so the new run can change the session while a
# widget of the old one reads it. What the old run raises is logged, but not sent to the browser.
REPLACED_RUN = re.compile(
    r"^.*Uncaught app execution\nTraceback .*\n(?: .*\n)*"
    r'  File ".*/session_state\.py", line \d+, in filtered_state\n(?: .*\n)*'
    r"RuntimeError: dictionary changed size during iteration\n",
    re.MULTILINE,
)
# A page of a test is left before code that is compiled to run faster has paid for itself.
NOT_OPTIMISED = "--js-flags=--no-maglev,--no-turbofan"
expect.set_options(timeout=harness.MAX_WAIT_MS)


@pytest.hookimpl(tryfirst=True)  # Tests that are not asked for leave after this.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if item.path.name not in JOURNEYS:
                item.add_marker(pytest.mark.rare)


@pytest.fixture(scope="session")
def server_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server") / "streamlit.log"


@pytest.fixture(scope="session")
def app_url(server_log: Path) -> Iterator[str]:
    """Address of the app as `calib serve` serves it, without a slash at the end."""
    port = harness.free_port()
    url = f"http://localhost:{port}"
    command = [sys.executable, "-m", "calib", "serve", "--port", str(port)]
    command += ["--allow-host", "*.example.org"]
    known = {
        "STREAMLIT_LOGGER_ENABLE_RICH": "false",  # Tracebacks are plain text.
        # Reports that are saved here are none of those that other tests look for.
        "CALIB_HOME": str(server_log.parent),
    }
    with harness.running(command, url, server_log, known):
        yield url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = chromium.find()
    if executable is None:
        pytest.skip(chromium.MISSING)
    with sync_playwright() as playwright:
        browser = harness.launch(playwright, executable, NOT_OPTIMISED)
        yield browser
        browser.close()


Tab = tuple[Page, list[str]]


@contextmanager
def _opened(browser: Browser, url: str) -> Iterator[Tab]:
    """The tab that tests share, and what went wrong in its context.

    A tab keeps the compiled scripts of Streamlit and plotly: a page then opens for a third of the
    processor time that it takes in a new context.
    """
    context = browser.new_context(base_url=url)
    problems = _watch(context)
    yield context.new_page(), problems
    context.close()


@pytest.fixture(scope="session")
def tab(browser: Browser, app_url: str) -> Iterator[Tab]:
    with _opened(browser, app_url) as tab:
        yield tab


@pytest.fixture(scope="session")
def other_tab(browser: Browser, app_url: str) -> Iterator[Tab]:
    with _opened(browser, app_url) as tab:
        yield tab


@contextmanager
def _watched(tab: Tab) -> Iterator[Page]:
    """A tab that is used, which fails if anything went wrong in it, and is left as a new one."""
    page, problems = tab
    problems.clear()
    page.set_viewport_size({"width": 1280, "height": 900})
    yield page
    problems += [text for each in page.context.pages for text in harness.exceptions(each)]
    _forget(page)
    assert not problems, "\n".join(problems)


@contextmanager
def used(tab: Tab, server_log: Path) -> Iterator[Page]:
    """The same, which also fails if the server logs a traceback."""
    logged = server_log.stat().st_size
    with _watched(tab) as page:
        yield page
    log = REPLACED_RUN.sub("", server_log.read_bytes()[logged:].decode(errors="replace"))
    assert "Traceback" not in log, f"The server logged a traceback:\n{log}"


@pytest.fixture
def page(tab: Tab, server_log: Path) -> Iterator[Page]:
    """An empty tab that remembers nothing; paths given to `visit` or `page.goto` are the app's.

    A script that runs before every page (`add_init_script`) stays for good: a test that needs one
    opens a tab of its own with `page.context.new_page()`.
    """
    with used(tab, server_log) as page:
        yield page


@pytest.fixture
def other(other_tab: Tab) -> Iterator[Page]:
    """The same of somebody else's browser, which has none of the first one's cookies."""
    with _watched(other_tab) as page:
        yield page


def _forget(page: Page) -> None:
    """Leave the tab as a new one: nothing stored, permitted, pretended or under the pointer."""
    for other in page.context.pages:
        if other is not page:
            other.close()
    # This address has the origin and headers of the app, but not the app. It stays open, so the
    # next page needs no new process and finds its scripts compiled.
    page.goto("/_stcore/health")
    page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    page.context.clear_cookies()
    page.context.clear_permissions()
    page.emulate_media(
        media="null",
        color_scheme="light",
        reduced_motion="null",
        forced_colors="null",
        contrast="null",
    )
    page.mouse.move(0, 0)


def _watch(context: BrowserContext) -> list[str]:
    """Collect script errors, outside requests and refused ones of all the context's tabs."""
    problems: list[str] = []

    def check(url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in {"http", "https", "ws", "wss"} and parts.hostname != "localhost":
            problems.append(f"Request to another machine: {url}")

    def note(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            problems.append(message.text)

    context.on("console", note)
    context.on("weberror", lambda event: problems.append(f"Script error: {event.error}"))
    context.on("request", lambda request: check(request.url))
    context.on("page", lambda page: page.on("websocket", lambda socket: check(socket.url)))
    return problems
