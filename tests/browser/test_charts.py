"""Charts and tables: their size, and the files that they give, which have what is drawn."""

import csv
import io
import re
from collections import Counter
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import calib
from calib.calibrators import CALIBRATORS
from calib.loading.examples import EXAMPLES
from tests.browser.harness import by_key, open_static, settle, visit

KINDS = ("PNG", "SVG", "CSV")
SIZE = "plot => { const {xaxis, yaxis} = plot._fullLayout; return [xaxis._length, yaxis._length]; }"
# The number of points that Plotly drew of each curve, in all panels.
DRAWN = """
plot => {
    const counts = {};
    for (const {visible, name, x, fill} of plot._fullData) {
        if (visible !== true || !x || (x.length === 1 && x[0] === null)) continue;
        const n = fill === "toself" ? x.length / 2 : x.length;
        counts[name] = (counts[name] ?? 0) + n;
    }
    return counts;
}
"""
# The number of points of each line of a chart in SVG.
POINTS = """
plots => plots.flatMap(plot => [...plot.querySelectorAll("path[fill=none]")])
    .map(line => line.getAttribute("d").match(/[ML]/g).length)
"""
ON_TOP = """
bar => {
    const {x, y, width, height} = bar.getBoundingClientRect();
    return bar.contains(document.elementFromPoint(x + width - 12, y + height / 2));
}
"""
# Chromium refuses more than ten downloads in a second.
PAUSE_MS = 120
SVG_NAME = "{http://www.w3.org/2000/svg}"
PAGES = {
    "/": 1,
    "/reliability": 1,
    "/reliability?tab=cumulative": 1,
    "/reliability?tab=panels": 8,
    "/slices?pick=0.1": 1,
    "/calibrators": 8,
    "/calibrators?ex=rounds": 9,
    "/decisions": 2,
    "/monitor?ex=churn": 1,
}


def files(page: Page, buttons: Locator) -> dict[str, bytes]:
    """What the three buttons save, by kind."""
    saved = {}
    for kind in KINDS:
        button = buttons.filter(has_text=kind) if kind != "PNG" else buttons.first
        with page.expect_download() as waiting:
            button.click()
        assert waiting.value.suggested_filename.endswith(f".{kind.lower()}")
        saved[kind] = Path(waiting.value.path()).read_bytes()
        page.wait_for_timeout(PAUSE_MS)
    return saved


def numbers(saved: dict[str, bytes]) -> pd.DataFrame:
    """The rows of the CSV, after a look at both images."""
    assert saved["PNG"].startswith(b"\x89PNG")
    assert len(saved["PNG"]) > 3000
    texts = [text.text for text in ElementTree.fromstring(saved["SVG"]).iter(f"{SVG_NAME}text")]
    assert any(texts)
    table = pd.read_csv(io.BytesIO(saved["CSV"]))
    assert len(table) > 1
    return table


def shown_by_plotly(page: Page, chart: Locator) -> None:
    chart.scroll_into_view_if_needed()
    chart.hover()
    buttons = chart.locator(".modebar-btn.words, .modebar-btn[data-title^='Download plot']")
    expect(buttons).to_have_count(3)
    table = numbers(files(page, buttons))
    drawn = {unescape(re.sub("<[^>]*>", "", name)): n for name, n in chart.evaluate(DRAWN).items()}
    rows = table.groupby("series").size().to_dict()
    assert rows
    assert {name: drawn.get(name) for name in rows} == rows


def shown_as_svg(page: Page, chart: Locator) -> None:
    chart.scroll_into_view_if_needed()
    chart.hover()
    buttons = chart.locator(".chart-buttons button")
    expect(buttons).to_have_count(3)
    table = numbers(files(page, buttons))
    plot = chart.locator("svg.plot:visible svg")
    ends = [name for name in table if name.endswith("_low")]
    if ends:
        # Every marker is a row with an interval.
        markers = plot.locator(":is(circle, path):has(title)").count()
        assert markers
        assert table[ends[0]].notna().sum() >= markers
    else:
        # Every series is a line with as many points.
        rows = table.groupby("series").size().tolist()
        assert rows
        assert not Counter(rows) - Counter(plot.evaluate_all(POINTS))


@pytest.mark.parametrize("path", list(PAGES))
def test_every_chart_is_saved_with_what_it_draws(page: Page, path: str):
    visit(page, path)
    open_static(page)
    # Charts far below are drawn when they are scrolled to.
    page.keyboard.press("End")
    settle(page)
    by_plotly, as_svg = page.locator(".js-plotly-plot").all(), page.locator(".saved").all()
    assert len(by_plotly) + len(as_svg) >= PAGES[path]
    for chart in by_plotly:
        shown_by_plotly(page, chart)
    for chart in as_svg:
        shown_as_svg(page, chart)


def test_the_charts_that_follow_a_hand_are_saved_as_they_are(page: Page):
    visit(page, "/decisions?fn=4")
    live = by_key(page, "live_decisions").locator(".explorer")
    live.hover()
    saved = {}
    for kind in KINDS:
        with page.expect_download() as waiting:
            live.get_by_role("button", name=kind, exact=True).click()
        assert waiting.value.suggested_filename == f"decisions-naive_bayes.{kind.lower()}"
        saved[kind] = Path(waiting.value.path()).read_bytes()
    table = numbers(saved)
    assert list(table.method.unique()) == ["Uncalibrated", "Logistic (on log-odds)"]
    rows = EXAMPLES["naive_bayes"].load()
    own = table[table.method == "Uncalibrated"]
    for at in (0.2, 0.5, 0.9):
        line = own.iloc[(own.threshold - at).abs().argmin()]
        flagged, positive = rows.scores >= line.threshold, rows.outcome == 1
        cost = (4 * (~flagged & positive) + (flagged & ~positive)).mean()
        assert line.cost_per_row == pytest.approx(cost, abs=1e-9)
        odds = line.threshold / (1 - line.threshold)
        benefit = (flagged & positive).mean() - odds * (flagged & ~positive).mean()
        assert line.net_benefit == pytest.approx(benefit, abs=1e-9)


def test_buttons_are_quiet_until_a_hand_or_a_key_is_there_and_move_nothing(page: Page):
    visit(page, "/calibrators")
    chart = by_key(page, "chart_functions").locator(".saved")
    buttons = chart.locator(".chart-buttons")
    chart.scroll_into_view_if_needed()
    page.mouse.move(0, 0)
    before = chart.bounding_box()
    assert opacity(buttons) == 0
    chart.hover()
    assert opacity(buttons) == 1
    page.mouse.move(0, 0)
    buttons.locator("button").first.focus()
    assert opacity(buttons) == 1
    assert chart.bounding_box() == before


def test_on_touch_buttons_come_on_a_tap_and_cover_no_title(browser: Browser, app_url: str):
    with browser.new_context(base_url=app_url, has_touch=True, is_mobile=True) as touched:
        phone = touched.new_page()
        visit(phone, "/slices?pick=0.1")
        assert opacity(by_key(phone, "slice_rows").locator(".table-buttons")) == 1
        plot = by_key(phone, "chart_overlay").locator(".js-plotly-plot")
        _comes_on_a_tap(plot, plot.locator(".modebar"))
        expect(plot.locator(".modebar-btn.words")).to_have_count(2)
        visit(phone, "/")
        chart = by_key(phone, "summary").locator(".saved")
        _comes_on_a_tap(chart, chart.locator(".chart-buttons"))


def _comes_on_a_tap(chart: Locator, buttons: Locator) -> None:
    assert opacity(buttons) == 0
    chart.tap(position={"x": 150, "y": 150})
    expect(buttons).to_have_css("opacity", "1")
    buttons.scroll_into_view_if_needed()
    # A chart that hides what lies outside of it would itself scroll.
    box, bar = chart.bounding_box(), buttons.bounding_box()
    assert bar["y"] >= box["y"] + box["height"] - 1
    assert chart.evaluate("chart => getComputedStyle(chart).overflow") == "visible"
    # Nothing cuts the buttons off, or lies on them.
    assert buttons.evaluate(ON_TOP)


def opacity(shown: Locator) -> float:
    return float(shown.evaluate("element => getComputedStyle(element).opacity"))


@pytest.mark.parametrize("width", [390, 1024, 1440, 2560])
def test_the_square_is_as_wide_as_its_column_and_no_higher_than_the_window(page: Page, width: int):
    page.set_viewport_size({"width": width, "height": 900})
    visit(page, "/calibrators?ex=logistic&eps=0.01")
    chart = by_key(page, "chart_compact_logit").locator(".js-plotly-plot")
    across, upward = chart.evaluate(SIZE)
    assert across == pytest.approx(upward, abs=1)
    box = chart.bounding_box()
    assert box is not None
    assert box["height"] <= 900
    assert across > {390: 250, 1024: 330, 1440: 500, 2560: 550}[width]


def test_the_browser_makes_named_images_and_prints_no_controls(page: Page):
    visit(page, "/reliability?tab=cumulative")
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


def test_a_table_is_copied_and_saved_with_exact_numbers(page: Page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(page, "/calibrators?m=uncalibrated.platt")
    metrics = by_key(page, "lines_metrics")
    metrics.get_by_role("checkbox", name="All digits").check()
    with page.expect_download() as saved:
        metrics.get_by_role("button", name="CSV").click()
    assert saved.value.suggested_filename == "metrics.csv"
    lines = list(csv.reader(Path(saved.value.path()).read_text("utf-8-sig").splitlines()))
    rows = EXAMPLES["naive_bayes"].load()
    table = calib.analyze(rows, {"methods": ("uncalibrated", "platt")}).table()
    by_method = {line[0]: dict(zip(lines[0], line, strict=True)) for line in lines[1:]}
    for key, row in table.iterrows():
        assert float(by_method[CALIBRATORS[key].label]["log_loss"]) == row["log_loss"], key
    metrics.get_by_role("button", name="Copy", exact=True).click()
    pasted = page.evaluate("() => navigator.clipboard.readText()")
    assert [line.split("\t") for line in pasted.split("\n")] == lines
    metrics.get_by_role("button", name="Copy as Markdown").click()
    pasted = page.evaluate("() => navigator.clipboard.readText()")
    assert pasted.startswith("| Method | ")


def test_heads_sort_the_rows_and_a_row_opens(page: Page):
    visit(page, "/calibrators?m=uncalibrated.platt.beta")
    metrics = by_key(page, "lines_metrics")
    names = metrics.locator("tbody th")
    assert [name.split("\n")[0] for name in names.all_inner_texts()][-1] == "Uncalibrated"
    loss = metrics.get_by_role("columnheader").nth(1)
    loss.get_by_role("button").click()
    assert loss.get_attribute("aria-sort") == "ascending"
    loss.get_by_role("button").click()
    assert loss.get_attribute("aria-sort") == "descending"
    assert next(iter(names.all_inner_texts())).startswith("Uncalibrated")
    opened = metrics.locator("tr:has(th:has-text('Platt')) + .opened")
    expect(opened).to_be_hidden()
    metrics.get_by_role("button", name="Platt scaling (on scores)", exact=True).click()
    expect(opened).to_be_visible()
    expect(opened.locator("code")).to_have_text('calib.calibrator("platt")')
