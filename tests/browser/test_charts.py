"""Charts in the browser: their size, and the files they give."""

from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from playwright.sync_api import Page

from tests.browser.harness import by_key, visit
from tests.rare import rare

SIZE = "plot => { const {xaxis, yaxis} = plot._fullLayout; return [xaxis._length, yaxis._length]; }"


@rare
@pytest.mark.parametrize("width", [390, 1024, 1440, 2560])
def test_the_square_is_as_wide_as_its_column_and_no_higher_than_the_window(page: Page, width: int):
    page.set_viewport_size({"width": width, "height": 900})
    visit(page, "/functions")
    chart = by_key(page, "chart_functions").locator(".js-plotly-plot")
    across, upward = chart.evaluate(SIZE)
    assert across == pytest.approx(upward, abs=1)
    box = chart.bounding_box()
    assert box is not None
    assert box["height"] <= 900
    assert across > {390: 280, 1024: 330, 1440: 550, 2560: 550}[width]


def test_a_chart_without_plotly_is_saved_in_the_same_forms(page: Page, tmp_path: Path):
    visit(page, "/")
    chart = by_key(page, "summary")
    saved = {}
    for ending in ("png", "svg", "csv"):
        chart.hover()
        with page.expect_download() as waiting:
            chart.get_by_role("button", name=f"Download as {ending.upper()}").click()
        assert waiting.value.suggested_filename == f"summary-naive_bayes.{ending}"
        waiting.value.save_as(tmp_path / ending)
        saved[ending] = (tmp_path / ending).read_bytes()
    assert saved["png"].startswith(b"\x89PNG")
    texts = ElementTree.fromstring(saved["svg"]).itertext()
    assert "Mean predicted probability" in texts
    numbers = pd.read_csv(tmp_path / "csv")
    drawn = numbers[numbers["panel"] == "Observed frequency"].groupby("series").size()
    assert drawn["Uncalibrated"] == chart.locator(".wide svg svg circle").count()


def test_the_browser_makes_named_images_and_prints_no_controls(page: Page):
    visit(page, "/cumulative")
    chart = by_key(page, "chart_difference").locator(".js-plotly-plot")
    kinds = {"png": "Download plot", "svg": "Download as SVG", "csv": "Download as CSV"}
    for ending, title in kinds.items():
        chart.hover()
        with page.expect_download() as waiting:
            chart.locator(f".modebar-btn[data-title^='{title}']").click()
        assert waiting.value.suggested_filename == f"cumulative-difference-naive_bayes.{ending}"
    page.emulate_media(media="print")
    for hidden in (by_key(page, "tools"), by_key(page, "navigation")):
        assert not hidden.is_visible()
