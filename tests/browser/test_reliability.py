"""The page Reliability in a real browser: the rows of a bin, lines and the sensitivity strip.

The explorer is tested in test_explorer.py.
"""

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from calib.loading.examples import EXAMPLES
from tests.browser.actions import address, press_slider
from tests.browser.harness import by_key, open_static, settle, traces, visit

EXAMPLE = EXAMPLES["naive_bayes"].load()
SAID = re.compile(
    r"([\d,]+) of ([\d,]+) positive\. Mean score ([\d.]+)%, observed frequency ([\d.]+)%"
)


def click_dot(page: Page, number: int) -> None:
    open_static(page)
    dot = by_key(page, "chart_reliability").locator("path.point").nth(number)
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    settle(page)


def picker(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Bin", exact=True)


def said(page: Page) -> tuple[int, int, float, float]:
    """Positive rows, rows, mean score, observed frequency of the bin that is looked into."""
    found = SAID.search(page.get_by_text(SAID).inner_text())
    assert found is not None
    positive, n, mean, observed = (part.replace(",", "") for part in found.groups())
    return int(positive), int(n), float(mean) / 100, float(observed) / 100


def test_a_click_on_a_dot_shows_the_rows_that_it_counts(page: Page):
    visit(page, "/reliability")
    click_dot(page, 9)
    positive, n, mean, observed = said(page)
    # Quantile bins hold equally many rows: the tenth of 15, counted from the data.
    score = EXAMPLE.scores
    low, high = np.quantile(score, [9 / 15, 10 / 15], method="averaged_inverted_cdf")
    inside = (score > low) & (score <= high)
    assert (positive, n) == (EXAMPLE.outcome[inside].sum(), inside.sum())
    assert mean == pytest.approx(score[inside].mean(), abs=6e-4)
    assert observed == pytest.approx(EXAMPLE.outcome[inside].mean(), abs=6e-4)
    expect(picker(page)).to_have_value(re.compile(r"^10: scores"))
    (ring,) = [t for t in traces(page, "chart_reliability") if t["name"] == "Inspected bin"]
    dots = next(t for t in traces(page, "chart_reliability") if len(t["x"]) == 15)
    assert (ring["x"], ring["y"]) == ([dots["x"][9]], [dots["y"][9]])
    click_dot(page, 9)
    expect(page.get_by_text(SAID)).to_have_count(0)
    assert "at" not in address(page)


def test_a_bin_is_picked_by_keyboard_and_its_rows_are_paged(page: Page):
    visit(page, "/reliability")
    box = picker(page)
    box.focus()
    box.press("ArrowDown")
    box.press("ArrowDown")
    box.press("Enter")
    settle(page)
    expect(box).to_have_value(re.compile(r"^2: scores"))
    n = said(page)[1]
    last = page.get_by_role("button", name=re.compile(r"^Page \d+$")).last
    expect(last).to_have_text(str(-(-n // 50)))
    last.focus()
    last.press("Enter")
    settle(page)
    shown = f"Rows of the bin: {n % 50 or 50} of {n}"
    expect(page.get_by_role("region", name=shown)).to_be_visible()


def test_other_bins_keep_the_score_that_is_looked_into(page: Page):
    visit(page, "/reliability?v=1&at=0.8")
    before = said(page)
    press_slider(page, "n_bins", "ArrowRight")
    settle(page)
    assert address(page) == {"v": "1", "bins": "16", "at": "0.8"}
    assert said(page) != before
    by_key(page, "strategy").get_by_text("Uniform").click()
    settle(page)
    settle(page)
    inside = (EXAMPLE.scores > 12 / 16) & (EXAMPLE.scores <= 13 / 16)
    assert said(page)[:2] == (EXAMPLE.outcome[inside].sum(), inside.sum())


def test_the_bin_of_a_calibrated_method(page: Page):
    visit(page, "/reliability?v=1&show=uncalibrated.platt")
    by_key(page, "bin_of").get_by_text("Platt scaling (on scores)").click()
    settle(page)
    box = picker(page)
    box.focus()
    box.press("ArrowDown")
    box.press("Enter")
    settle(page)
    assert address(page)["of"] == "platt"
    assert said(page)[1] > 0
    expect(page.get_by_role("region", name="its share of the bin")).to_be_visible()


def named(page: Page, chart: str, name: str) -> list[dict]:
    return [trace for trace in traces(page, chart) if trace.get("name") == name]


def test_the_corp_line_appears_with_a_band_that_holds_it(page: Page):
    visit(page, "/reliability")
    explorer = by_key(page, "explorer").locator(".explorer")
    joined = explorer.locator(".diagram path.line:not(.rate)").first
    expect(joined).to_be_visible()
    explorer.locator("summary").click()
    explorer.get_by_label("CORP line").check()
    settle(page)
    expect(explorer.locator(".diagram path.rate")).to_have_count(1)
    # Dots are not joined beside a line without bins.
    expect(joined).to_be_hidden()
    assert "line=corp" in page.url
    band, line = named(page, "chart_reliability", "CORP line")
    drawn = explorer.locator(".diagram path.rate").get_attribute("d") or ""
    assert drawn.count(" ") == len(line["x"])
    assert band["fill"] == "toself"
    assert np.all(np.diff(line["y"]) >= 0)
    n = len(line["x"])
    assert np.all(np.array(band["y"][:n]) <= np.array(line["y"]) + 1e-6)
    assert np.all(np.array(band["y"][n:][::-1]) >= np.array(line["y"]) - 1e-6)
    page.get_by_text("How to read it").click()
    expect(page.get_by_text("best-fitting non-decreasing curve").first).to_be_visible()


def test_the_strip_marks_the_choice_and_moves_with_the_slider(page: Page):
    visit(page, "/reliability?v=1&bins=20")
    (mark,) = named(page, "chart_sensitivity", "Current choice")
    (curve,) = named(page, "chart_sensitivity", "Quantile bins")
    assert mark["x"] == [20]
    assert mark["y"][0] == curve["y"][curve["x"].index(20)]
    slider = by_key(page, "n_bins").get_by_role("slider")
    slider.focus()
    slider.press("ArrowRight")
    settle(page)
    (moved,) = named(page, "chart_sensitivity", "Current choice")
    assert moved["x"] == [21]
    assert named(page, "chart_sensitivity", "Quantile bins")[0]["y"] == curve["y"]
    by_key(page, "strategy").get_by_text("Uniform").click()
    settle(page)
    (uniform,) = named(page, "chart_sensitivity", "Uniform bins")
    (chosen,) = named(page, "chart_sensitivity", "Current choice")
    assert chosen["y"][0] == uniform["y"][uniform["x"].index(21)]


def test_auto_takes_the_slider_over(page: Page):
    visit(page, "/reliability")
    explorer = by_key(page, "explorer").locator(".explorer")
    explorer.locator("summary").click()
    explorer.get_by_label("Automatic").check()
    settle(page)
    open_static(page)
    expect(by_key(page, "n_bins").get_by_role("slider")).to_be_disabled()
    n_bins = int(by_key(page, "n_bins").get_by_role("slider").input_value())
    assert explorer.get_by_role("slider").input_value() == str(n_bins)
    expect(explorer.get_by_role("slider")).to_be_disabled()
    assert len(named(page, "chart_reliability", "Uncalibrated")[0]["x"]) == n_bins
    assert named(page, "chart_sensitivity", "Current choice")[0]["x"] == [n_bins]
