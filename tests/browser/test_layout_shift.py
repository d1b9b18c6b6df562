"""Nothing that is read moves while a page arrives."""

from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from calib.ui.session.page_list import PAGES as EVERY_PAGE
from tests.browser import harness

# web.dev calls this good.
MAX_SHIFT_SCORE = 0.1
COLLECT = """
window.shifts = [];
new PerformanceObserver(list => window.shifts.push(...list.getEntries().map(
    ({value, startTime, hadRecentInput}) => ({value, startTime, hadRecentInput})
))).observe({type: "layout-shift", buffered: true});
"""


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


PAGES = [
    "/",
    *(f"/{page.lower()}" for page in EVERY_PAGE if page != "Overview"),
]
PAGES += ["/calibrators?ex=digits", "/classes?ex=digits", "/monitor?ex=churn"]


@pytest.mark.parametrize(("path", "width"), list(product(PAGES, (1440, 390, 1024))))
def test_pages_keep_places_free_for_what_arrives_late(
    browser: Browser, app_url: str, path: str, width: int
):
    # The first visit of a page computes, the next ones find what it kept.
    assert shift_of(browser, app_url, path, width) <= MAX_SHIFT_SCORE


def test_and_if_streamlit_starts_the_app(browser: Browser, tmp_path: Path):
    with harness.serve(tmp_path / "log") as url:
        # The first page of a server takes longest: the saved reports wait for the form above them.
        assert shift_of(browser, url, "/reports", 390) <= MAX_SHIFT_SCORE
        assert shift_of(browser, url, "/", 1440) <= MAX_SHIFT_SCORE
