"""Nothing that is read moves while a page arrives, as `calib serve` serves it."""

import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser import harness

# What web.dev calls good, of the largest burst of shifts.
MOST = 0.1
COLLECT = """
window.shifts = [];
new PerformanceObserver(list => window.shifts.push(...list.getEntries().map(
    ({value, startTime, hadRecentInput}) => ({value, startTime, hadRecentInput})
))).observe({type: "layout-shift", buffered: true});
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("served"), harness.free_port()
    url = f"http://localhost:{port}"
    command = [sys.executable, "-m", "calib", "serve", "--port", str(port)]
    environment = {"STREAMLIT_SERVER_HEADLESS": "true", "CALIB_HOME": str(folder)}
    with harness.running(command, url, folder / "log", environment):
        yield url


def largest_burst(shifts: list[dict[str, float]]) -> float:
    """The cumulative layout shift: of bursts with pauses below 1 s, at most 5 s long."""
    worst = total = 0.0
    start = last = -1e9
    for shift in shifts:
        if shift["hadRecentInput"]:
            continue
        now = shift["startTime"]
        if now - last > 1000 or now - start > 5000:
            start, total = now, 0.0
        total, last = total + shift["value"], now
        worst = max(worst, total)
    return worst


def shift_of(browser: Browser, url: str, path: str, width: int) -> float:
    size = {"width": width, "height": 844 if width < 640 else 900}
    with browser.new_context(base_url=url, viewport=size) as context:
        page = context.new_page()
        page.add_init_script(COLLECT)
        harness.visit(page, path)
        return largest_burst(page.evaluate("() => window.shifts"))


@pytest.mark.parametrize("path", ["/", "/reliability", "/compare"])
def test_pages_keep_places_free_for_what_arrives_late(browser: Browser, served: str, path: str):
    # The first visit of a server computes the analysis, and shows its progress.
    with browser.new_context(base_url=served) as context:
        harness.visit(context.new_page(), path)
    assert shift_of(browser, served, path, 1440) <= MOST
    assert shift_of(browser, served, path, 390) <= MOST
