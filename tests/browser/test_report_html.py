"""The HTML report in a real browser: from a file, without a network, with and without scripts."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from calib.analysis import analyze
from calib.predictions import Predictions
from calib.reports import Report

HOSTILE = "<img src=x onerror=window.hacked=1></script><script>window.hacked=1</script>"
KEPT = Path(__file__).parents[1] / "reports" / "fixtures" / "schema_2.json"
DRAWN = """
() => [...document.querySelectorAll(".plot")].map(
    plot => plot.querySelectorAll(".main-svg").length && plot._fullData ? plot._fullData.length : 0)
"""
WIDEST = "() => document.documentElement.scrollWidth"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    score = rng.random(1000)
    predictions = Predictions.from_arrays(rng.random(1000) < score**2, score, name=HOSTILE)
    report = Report.from_analysis(analyze(predictions), title=HOSTILE, note=HOSTILE)
    path = tmp_path_factory.mktemp("report") / "report.html"
    report.save(path)
    return path


@contextmanager
def opened(browser: Browser, file: Path, **options: Any) -> Iterator[Page]:
    """The report in a tab without a network; fails on anything in the console."""
    context = browser.new_context(offline=True, **options)
    problems: list[str] = []
    context.on("weberror", lambda event: problems.append(str(event.error)))
    context.on("console", lambda message: problems.append(message.text))
    context.on("request", lambda request: problems.append(request.url))
    page = context.new_page()
    page.goto(file.as_uri())
    yield page
    context.close()
    outside = [problem for problem in problems if not problem.startswith(("file:", "data:"))]
    assert not outside, "\n".join(outside)


def wait_until_drawn(page: Page) -> list[int]:
    page.wait_for_function(f"() => ({DRAWN})().every(Boolean)")
    return page.evaluate(DRAWN)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_is_drawn(browser: Browser, file: Path, scheme: str):
    with opened(browser, file, color_scheme=scheme) as page:
        assert len(wait_until_drawn(page)) == 4
        assert page.evaluate("window.hacked") is None
        expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)


def test_text_on_charts_has_the_colour_of_the_page(browser: Browser, file: Path):
    with opened(browser, file, color_scheme="dark") as page:
        wait_until_drawn(page)
        fill = page.locator(".plot .xtick text").first.evaluate("t => getComputedStyle(t).fill")
        assert fill == page.evaluate("getComputedStyle(document.body).color")


def test_slices_time_and_decisions_are_drawn(browser: Browser, tmp_path: Path):
    Report.open(KEPT).save(tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as page:
        assert len(wait_until_drawn(page)) == 10


@pytest.mark.parametrize("width", [320, 380, 1280])
def test_the_page_is_no_wider_than_the_window(browser: Browser, file: Path, width: int):
    with opened(browser, file, viewport={"width": width, "height": 800}) as page:
        wait_until_drawn(page)
        assert page.evaluate(WIDEST) == width


def test_it_reads_without_scripts(browser: Browser, file: Path):
    with opened(browser, file, java_script_enabled=False) as page:
        expect(page.locator("figcaption")).to_have_count(4)
        expect(page.locator("figcaption").first).to_be_visible()
        expect(page.get_by_role("heading", name="Verdict")).to_be_visible()
        expect(page.get_by_role("row", name="Isotonic").first).to_be_visible()
        expect(page.locator(".plot").first).to_be_hidden()


def test_charts_fit_on_paper(browser: Browser, file: Path):
    # A4 less its margins, in CSS pixels.
    with opened(browser, file, viewport={"width": 687, "height": 1000}) as page:
        page.emulate_media(media="print", color_scheme="dark")
        wait_until_drawn(page)
        assert page.evaluate(WIDEST) == 687
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
