"""Lines, the sensitivity strip and the Methods page in a real browser."""

import numpy as np
from playwright.sync_api import Page, expect

from calib.calibrators import score_methods
from calib.metrics import METRICS
from tests.browser.actions import go
from tests.browser.harness import by_key, open_static, settle, traces, visit
from tests.rare import rare


def named(page: Page, chart: str, name: str) -> list[dict]:
    return [trace for trace in traces(page, chart) if trace.get("name") == name]


@rare
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


@rare
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


@rare
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


@rare
def test_the_methods_page_lists_everything_and_finds_it(page: Page):
    visit(page)
    go(page, "Methods")
    metrics, methods = by_key(page, "glossary_metrics"), by_key(page, "glossary_calibrators")
    assert set(METRICS) <= set(metrics.locator("code").all_text_contents())
    assert set(score_methods()) <= set(methods.locator("code").all_text_contents())
    expect(metrics.get_by_role("link", name="arXiv")).to_have_count(0)
    metrics.get_by_text("Mean gap between observed frequency and mean score").click()
    link = metrics.get_by_role("link", name="arXiv:1706.04599").first
    expect(link).to_have_attribute("href", "https://arxiv.org/abs/1706.04599")
    box = by_key(page, "methods_filter").get_by_role("textbox")
    box.fill("nixon classwise")
    box.press("Enter")
    settle(page)
    expect(metrics.locator("code")).to_have_text(["static_calibration_error"])
    expect(metrics.locator("code")).to_be_visible()
    expect(methods.locator("code")).to_have_count(0)
    box.fill("no such words")
    box.press("Enter")
    settle(page)
    expect(page.get_by_text("No matches.")).to_be_visible()
