"""The explorer: the numbers that it reads, and a hand on it, in a real browser."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

import calib
from calib.curves.reliability import BIN_COLUMNS, bin_tests, reliability_curve
from calib.curves.stops import STOPS
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.figures.explorer import (
    compressed,
    packed,
    packed_cells,
    packed_stops,
    script,
    stops_data,
)
from calib.loading.examples import EXAMPLES
from calib.metrics.binned import expected_calibration_error
from calib.metrics.cumulative import ks_error, kuiper_error
from calib.numerics.intervals import normal_quantile
from calib.text import p_value, percent
from calib.words.measures import without_band
from tests.browser.actions import address, go, upload
from tests.browser.harness import TWO_FRAMES, by_key, open_static, settle, visit

EXAMPLE = EXAMPLES["naive_bayes"].load()
EXACT = [(15, "quantile"), (15, "uniform"), (100, "uniform")]
IN_MODULE = """
async ([source, work, input]) => {
    const url = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
    return await eval(work)(await import(url), input);
}
"""
READ = """
async (m, {sent, all, exact, ends, halfWidth}) => {
    const cells = m.readCells(sent), stops = m.readStops(await m.inflate(Uint8Array.from(all)));
    const own = m.readStops(exact), curve = m.cumulativeDifference(cells);
    return {
        drawn: [...stops.places.keys()].map(name => m.stopOf(cells, stops, ...name.split(" "))),
        exact: [...own.places.keys()].map(name => m.stopOf(cells, own, ...name.split(" "))),
        missing: m.stopOf(cells, own, 3, "uniform"),
        extremes: [curve.least, curve.most, curve.difference[curve.peak]],
        between: m.between(cells, ends, halfWidth),
    };
}
"""


def run(page: Page, work: str, given: object) -> object:
    """The answer of a function of the explorer's module, imported into an empty page."""
    return page.evaluate(IN_MODULE, [script(), work, given])


def hostile(kind: str) -> ScoreCells:
    rng = np.random.default_rng(3)
    n = 40_000 if kind == "more than are sent" else 3000
    score = rng.beta(0.8, 1.5, n)
    outcome = rng.random(n) < score**1.2
    weight = None
    if kind == "ties at the edges":
        score = score.round(1)
    elif kind == "weights":
        weight = rng.exponential(size=n) + 0.01
    elif kind == "0 and 1":
        score[:400], score[400:900] = 0.0, 1.0
    elif kind == "one cell":
        score[:] = 0.3
    elif kind == "rare":
        score, outcome = score / 300, rng.random(n) < score / 300
    elif kind == "two rows":
        score, outcome = np.array([0.0, 1.0]), np.array([True, False])
    return ScoreCells.from_arrays(outcome, score, weight)


KINDS = ("plain", "ties at the edges", "weights", "0 and 1", "one cell", "rare", "two rows")


def cells_of(name: str) -> ScoreCells:
    if name not in EXAMPLES:
        return hostile(name)
    rows = EXAMPLES[name].load()
    return ScoreCells.from_arrays(rows.outcome, rows.scores)


@pytest.mark.parametrize("name", [*KINDS, "more than are sent", "naive_bayes"])
def test_it_reads_the_numbers_of_the_library(page: Page, name: str):
    cells, level, ends = cells_of(name), 0.9, (0.05, 0.35)
    given = {
        "sent": packed_cells(cells),
        "all": [*compressed(stops_data(cells, level))],
        "exact": packed_stops(cells, level, EXACT),
        "ends": ends,
        "halfWidth": normal_quantile(level),
    }
    found = run(page, READ, given)
    assert found["missing"] is None
    extremes = np.array(found["extremes"])
    assert np.abs(extremes).max() == pytest.approx(ks_error(cells), abs=1e-12)
    assert np.abs(extremes[2]) == pytest.approx(ks_error(cells), abs=1e-12)
    assert extremes[1] - extremes[0] == pytest.approx(kuiper_error(cells), abs=1e-12)
    # Edges of all stops and the printed numbers are sent in full, and what is only drawn in single
    # precision. The chosen stop has all in full.
    for kind, stops, near in (("drawn", STOPS, 1e-7), ("exact", EXACT, 1e-12)):
        for drawn, (n_bins, by) in zip(found[kind], stops, strict=True):
            if n_bins in (2, 10, 15, 33, 100):
                agrees(drawn, cells, level, near, n_bins=n_bins, strategy=by)
    between = reliability_curve(cells, edges=np.array([0.0, *ends, 1.0]), confidence_level=level)
    inside = np.flatnonzero(between.low_edge == ends[0])
    assert (found["between"] is None) == (len(inside) == 0)
    for i in inside:
        predicted = between.mean_score[i]
        bounds = [between.low[i] - predicted, between.high[i] - predicted]
        assert found["between"]["rows"] == between.rows[i]
        assert found["between"]["difference"] == pytest.approx(between.gap[i], abs=1e-12)
        assert found["between"]["interval"] == pytest.approx(bounds, abs=1e-12)


def agrees(drawn: dict, cells: ScoreCells, level: float, near: float, **chosen: Any) -> None:
    """Whether the bins that the browser draws are those of the library."""
    curve = reliability_curve(cells, **chosen, confidence_level=level)
    together = reliability_curve(cells, **chosen, confidence_level=level, band="simultaneous")
    names = ("lowEdge", "highEdge", "rows", "weight", "positive", "meanScore", "observed")
    bins = [[each[name] for name in names] for each in drawn["bins"]]
    own = [getattr(curve, name) for name in BIN_COLUMNS]
    np.testing.assert_allclose(bins, np.column_stack(own), rtol=1e-12, atol=1e-12)
    bounds = {
        "intervals": (curve.low, curve.high),
        "per_bin": (curve.band_low, curve.band_high),
        "simultaneous": (together.band_low, together.band_high),
    }
    for name, ends in bounds.items():
        read = drawn["intervals"] if name == "intervals" else drawn["bands"][name]
        np.testing.assert_allclose(read, np.column_stack(ends), rtol=0, atol=near)
    for name, (low, high) in [*bounds.items()][1:]:
        assert drawn["widths"][name] == pytest.approx(np.median(high - low), abs=1e-12)
    ece = expected_calibration_error(cells, **chosen)
    assert drawn["ece"] == pytest.approx(ece, abs=1e-15)
    assert drawn["worst"] == curve.worst
    assert drawn["interval"] == [curve.low[curve.worst], curve.high[curve.worst]]
    assert drawn["p"] == bin_tests(cells, curve).p_adjusted[curve.worst]


def test_functions_are_linear_between_their_points(page: Page):
    xs, ys = np.array([0.0, 0.2, 0.5, 1.0]), np.array([0.1, 0.3, 0.3, 0.9])
    at = [0.0, 0.05, 0.2, 0.4, 0.75, 1.0]
    work = "(m, [xs, ys, at]) => at.map(x => m.interpolate(m.decode(xs), m.decode(ys), x))"
    found = run(page, work, [packed(xs), packed(ys), at])
    assert found == pytest.approx(np.interp(at, xs, ys), abs=1e-15)


def explorer(page: Page) -> Locator:
    return by_key(page, "explorer").locator(".explorer")


def all_controls(page: Page) -> Locator:
    """The explorer with the controls that few people need."""
    drawn = explorer(page)
    if drawn.locator("details:not([open])").count():
        drawn.locator("summary").click()
    return drawn


def panel(page: Page, name: str) -> Locator:
    return explorer(page).locator(f"svg.{name}")


def size_of(drawn: Locator) -> dict[str, float]:
    box = drawn.bounding_box()
    assert box is not None
    return dict(box)


def drag(page: Page, name: str, start: float, end: float) -> None:
    """Over a panel, from a score to another."""
    svg = panel(page, name)
    svg.scroll_into_view_if_needed()
    box, frame = svg.bounding_box(), svg.locator(".frame").bounding_box()
    assert box is not None
    assert frame is not None
    places = [frame["x"] + (p + 0.02) / 1.04 * frame["width"] for p in (start, end)]
    height = frame["y"] + frame["height"] / 2
    page.mouse.move(places[0], height)
    page.mouse.down()
    page.mouse.move(sum(places) / 2, height)
    page.mouse.move(places[1], height)


@pytest.mark.parametrize("name", ["diagram", "histogram", "difference"])
def test_a_range_that_is_dragged_is_counted_at_once_and_kept_at_release(page: Page, name: str):
    visit(page, "/reliability")
    before = address(page)
    drag(page, name, 0.2, 0.6)
    shown = explorer(page).locator("svg .brush:not([hidden])")
    expect(shown).to_have_count(3)
    said = explorer(page).locator(".said").first
    expect(said).to_contain_text(
        re.compile(r"rows with scores of (20|19.9|20.1)% to (60|59.9|60.1)%")
    )
    assert address(page) == before
    page.mouse.up()
    settle(page)
    low, high = map(float, address(page)["range"].split("~"))
    assert (low, high) == pytest.approx((0.2, 0.6), abs=0.004)
    inside = (EXAMPLE.scores > low) & (EXAMPLE.scores <= high)
    positive = EXAMPLE.outcome[inside]
    gap = positive.mean() - EXAMPLE.scores[inside].mean()
    expect(said).to_contain_text(
        f"{inside.sum():,} rows with scores of {100 * low:g}% to {100 * high:g}%: predicted "
    )
    expect(said).to_contain_text(f"observed {positive.mean():.1%}, difference {100 * gap:+.1f}")
    # The rest of the page follows.
    counted = f"{positive.sum()} of {inside.sum()} positive"
    expect(page.get_by_text(counted)).to_be_visible()
    expect(panel(page, "diagram")).not_to_contain_text("Circle")
    explorer(page).get_by_role("button", name="Clear").click()
    settle(page)
    assert "range" not in address(page)
    expect(shown).to_have_count(0)


COUNT_CHANGES = """
() => {
    const panel = document.querySelector("[data-explorer]").shadowRoot.querySelector(".diagram");
    window.changes = 0;
    new MutationObserver(seen => { window.changes += seen.length; })
        .observe(panel, {subtree: true, childList: true, attributes: true});
}
"""


def test_the_bin_slider_draws_at_once_and_the_page_follows(page: Page):
    visit(page, "/reliability?show=uncalibrated")
    live = explorer(page).locator("[aria-live=polite]")
    said = "Average gap of 15 quantile bins (expected calibration error, ECE): Uncalibrated 8.9%."
    expect(live).to_contain_text(said)
    slider = explorer(page).get_by_role("slider")
    line = panel(page, "diagram").locator("path.line")
    assert line.get_attribute("d").count(" ") == 15
    same = panel(page, "diagram").evaluate_handle("svg => svg")
    slider.focus()
    for _ in range(3):
        slider.press("ArrowRight")
    assert line.get_attribute("d").count(" ") == 18
    page.evaluate(TWO_FRAMES)
    page.evaluate(COUNT_CHANGES)
    page.wait_for_url("**bins=18**")
    settle(page)
    # The answer of the server draws nothing again that a hand has drawn.
    assert page.evaluate("window.changes") == 0
    slider.press("ArrowRight")
    page.evaluate(TWO_FRAMES)
    assert page.evaluate("window.changes") > 0
    # A move while the server answers is not undone.
    for _ in range(20):
        slider.press("ArrowRight")
        page.wait_for_timeout(40)
    assert slider.input_value() == "39"
    settle(page)
    assert (slider.input_value(), address(page)["bins"]) == ("39", "39")
    # One control for one thing: the page has a slider only where the static diagram is open.
    expect(by_key(page, "n_bins")).to_have_count(0)
    open_static(page)
    assert by_key(page, "n_bins").get_by_role("slider").input_value() == "39"
    # The other way: that slider moves the explorer.
    own = by_key(page, "n_bins").get_by_role("slider")
    own.focus()
    own.press("ArrowLeft")
    settle(page)
    assert (slider.input_value(), line.get_attribute("d").count(" ")) == ("38", 38)
    assert same.evaluate("svg => svg.isConnected")


def test_keys_move_the_range_and_the_probe_reads_the_calibrators(page: Page):
    visit(page, "/reliability?v=1&range=0.3~0.5")
    svg = panel(page, "diagram")
    svg.focus()
    svg.press("ArrowRight")
    svg.press("Shift+ArrowRight")
    settle(page)
    assert address(page)["range"] == "0.31~0.52"
    svg.press("Escape")
    settle(page)
    assert "range" not in address(page)
    probe = explorer(page).get_by_role("spinbutton", name="A score of")
    probe.fill("50")
    probe.press("Enter")
    read = explorer(page).locator(".probed tr")
    expect(read.nth(0)).to_have_text("MethodCalibrated value95% CI")
    calibrated = calib.analyze(EXAMPLE).held_out.calibrators["logistic"].predict(np.array([0.5]))[0]
    expect(read.nth(1)).to_have_text(
        re.compile(r"Logistic \(on log-odds\)[\d.]+%[\d.]+% to [\d.]+%")
    )
    value, low, high = map(float, re.findall(r"(\d+\.\d+)%", read.nth(1).inner_text()))
    assert value / 100 == pytest.approx(calibrated, abs=6e-4)
    assert low < value < high
    expect(explorer(page).locator("[aria-live=polite]")).to_contain_text(
        re.compile(r"Logistic \(on log-odds\) \d+\.\d% 95% CI \d+\.\d%")
    )
    panel(page, "difference").hover()
    expect(read.nth(1)).not_to_contain_text(f"{value}%")
    # Only calibrators that are shown have a row, because other scores stay what they are.
    explorer(page).get_by_label("Logistic").uncheck()
    expect(read.first).to_be_hidden()


def test_one_typed_end_selects_the_rows_up_to_the_other(page: Page):
    visit(page, "/reliability")
    low = explorer(page).get_by_role("spinbutton", name="Look closer at scores from")
    high = explorer(page).get_by_role("spinbutton", name=re.compile("^to"))
    assert (low.input_value(), high.input_value()) == ("22.8", "46.8")
    low.fill("60")
    low.press("Enter")
    settle(page)
    # The end of the bin with the largest gap is below 60%.
    assert address(page)["range"] == "0.6~1.0"
    high.fill("80")
    high.press("Enter")
    settle(page)
    assert address(page)["range"] == "0.6~0.8"


def test_the_simultaneous_band_is_drawn_at_once_and_kept(page: Page):
    visit(page, "/reliability?show=uncalibrated")
    band = panel(page, "diagram").locator("path.band")
    alone = band.get_attribute("d")
    all_controls(page).get_by_label("Simultaneous").check()
    together = band.get_attribute("d")
    assert together != alone
    settle(page)
    assert address(page)["band"] == "simultaneous"
    assert band.get_attribute("d") == together
    explorer(page).get_by_label("Consistency band").uncheck()
    expect(explorer(page).get_by_label("Simultaneous")).to_be_disabled()


def test_rows_in_clusters_have_the_intervals_that_count_clusters(page: Page, tmp_path: Path):
    rng = np.random.default_rng(5)
    score, cluster = rng.beta(1, 2, 400).round(3), np.repeat(np.arange(400), 8)
    positive = (rng.random(400) < score).astype(int)
    rows = pd.DataFrame({"outcome": positive, "score": score}).iloc[cluster]
    rows.assign(group=cluster).to_csv(tmp_path / "clusters.csv", index=False)
    visit(page, "/data")
    upload(page, tmp_path / "clusters.csv")
    go(page, "Reliability")
    bars = panel(page, "diagram").locator("path.bars").first
    side = float(panel(page, "diagram").locator(".frame").get_attribute("height") or 0)
    ends = re.findall(r"M[\d.]+ ([\d.]+)V([\d.]+)", bars.get_attribute("d") or "")
    heights = [(float(low) - float(high)) * 1.04 / side for low, high in ends]
    analysis = calib.analyze(Predictions(positive[cluster], score[cluster], group=cluster))
    curve = analysis.uncalibrated.reliability
    assert heights == pytest.approx(curve.high - curve.low, abs=1e-3)
    by_row = reliability_curve(ScoreCells.from_arrays(positive[cluster], score[cluster]), n_bins=15)
    assert np.mean(heights) > 1.5 * np.mean(by_row.high - by_row.low)
    expect(panel(page, "diagram").locator("path.band")).to_have_attribute("d", re.compile("M.*L"))
    # Intervals of other bins come with the answer of the server.
    drag(page, "histogram", 0.2, 0.6)
    said = explorer(page).locator(".said").first
    expect(said).to_contain_text("95% CI when you let go")
    page.mouse.up()
    settle(page)
    expect(said).to_contain_text(re.compile(r"95% CI [+−]\d.\d to"))


@pytest.mark.parametrize("width", [1440, 390])
def test_what_few_people_need_is_behind_more_by_keyboard_too(page: Page, width: int):
    page.set_viewport_size({"width": width, "height": 900})
    visit(page, "/reliability")
    band, more = explorer(page).get_by_label("Simultaneous"), explorer(page).locator("summary")
    expect(band).to_be_hidden()
    place = size_of(more)
    more.press("Enter")
    expect(band).to_be_visible()
    # The name stays where it is, and what opens is not wider than the page.
    assert size_of(more) == place
    rest = size_of(explorer(page).locator(".rest"))
    assert rest["y"] >= place["y"] + place["height"]
    assert rest["x"] + rest["width"] <= width
    band.press("Space")
    settle(page)
    # A link with such a choice opens it, and a person can close it.
    visit(page, f"/reliability?{urlsplit(page.url).query}")
    expect(band).to_be_checked()
    more.press("Enter")
    explorer(page).get_by_role("slider").press("ArrowRight")
    settle(page)
    assert address(page)["band"] == "simultaneous"
    expect(band).to_be_hidden()


def test_axes_layers_and_methods_are_chosen_in_it(page: Page):
    visit(page, "/reliability?show=uncalibrated")
    all_controls(page).get_by_label("Log-odds", exact=True).check()
    explorer(page).get_by_label("Intervals").uncheck()
    explorer(page).get_by_label("Beta").check()
    settle(page)
    settle(page)
    assert address(page) == {
        "v": "1", "axis": "logit", "hide": "intervals", "show": "uncalibrated.beta"
    }  # fmt: skip
    assert panel(page, "diagram").locator("path.line").count() == 2
    assert set(panel(page, "diagram").locator("path.bars").evaluate_all(
        "bars => bars.map(bar => bar.getAttribute('d'))"
    )) == {""}  # fmt: skip
    explorer(page).get_by_label("Uncalibrated").uncheck()
    assert panel(page, "diagram").locator("path.line").count() == 1


@pytest.mark.parametrize(
    ("label", "in_address"),
    [
        ("Uniform", {"by": "uniform"}),
        ("Automatic", {"auto": "1"}),
        ("Log-odds", {"axis": "logit"}),
        ("Beta", {"show": "uncalibrated.beta.logistic"}),
        ("Intervals", {"hide": "intervals"}),
        ("Consistency band", {"hide": "band"}),
        ("Simultaneous", {"band": "simultaneous"}),
        ("CORP line", {"line": "corp"}),
        ("Smooth line", {"line": "smooth"}),
    ],
)
def test_the_last_of_200_fast_clicks_wins_and_nothing_scrolls(
    page: Page, label: str, in_address: dict[str, str]
):
    visit(page, "/reliability")
    main = page.get_by_test_id("stMain")
    main.evaluate("main => main.scrollTo(0, 40)")
    control = all_controls(page).get_by_label(label, exact=True)
    first = {"Uniform": "Quantile", "Log-odds": "Linear"}.get(label, label)
    other = explorer(page).get_by_label(first, exact=True)
    was = control.is_checked()
    places = [size_of(other), size_of(control)]
    for step in range(199 if first == label else 200):
        box = places[step % 2]
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    settle(page)
    page.wait_for_timeout(400)
    settle(page)
    assert control.is_checked() != was
    assert {name: address(page).get(name) for name in in_address} == in_address
    assert main.evaluate("main => main.scrollTop") == 40


def test_the_page_below_stays_where_it_is_while_the_bins_change(page: Page):
    page.set_viewport_size({"width": 1000, "height": 900})
    visit(page, "/reliability")
    slider, section = explorer(page).get_by_role("slider"), explorer(page)
    slider.focus()
    heights = []
    for _ in range(30):
        page.keyboard.press("ArrowRight")
        page.evaluate(TWO_FRAMES)
        heights.append(size_of(section)["height"])
    # A name of a method has two lines in some steps; the place of the table only grows.
    assert heights == sorted(heights), heights


def test_the_panel_beside_the_diagram_is_never_empty(page: Page):
    visit(page, "/reliability")
    analysis = calib.analyze(EXAMPLE)
    for i, key in enumerate(("uncalibrated", "logistic"), 1):
        result = analysis.methods[key]
        curve, worst = result.reliability, result.reliability.worst
        p = bin_tests(analysis.held_out.cells[key], curve).p_adjusted[worst]
        # Both kinds are among the two methods.
        assert (p < 0.05) == (key == "uncalibrated")
        row = explorer(page).locator(".gaps tr").nth(i)
        chance = "too large for chance" if p < 0.05 else "may be chance: largest of 15 bins"
        gap = f"{100 * (curve.observed - curve.mean_score)[worst]:+.1f} points"
        rows = f"{curve.rows[worst]:.0f} rows"
        expect(row.locator("th")).to_have_text(result.label)
        expect(row.locator("td").nth(0)).to_have_text(f"{result.metrics['ece_quantile'].value:.1%}")
        expect(row.locator("td").nth(1)).to_have_text(gap + chance)
        expect(row.locator("td").nth(2)).to_have_text(re.compile(f"% to [0-9.]+%{rows}$"))
        expect(row.locator("td").nth(3)).to_have_text(f"{curve.mean_score[worst]:.1%}")
        expect(row.locator("td").nth(4)).to_have_text(f"{curve.observed[worst]:.1%}")
        ends = [end[worst] - curve.mean_score[worst] for end in (curve.low, curve.high)]
        interval = " to ".join(f"{100 * end:+.1f}" for end in ends)
        alone = f"95% CI of this bin alone: {interval} points."
        test = f"Exact test: {p_value(p)}, Holm-corrected for 15 bins."
        expect(row.locator("td").nth(1)).to_have_attribute("title", f"{alone} {test}")
    value = explorer(page).locator(".probed td").first
    expect(value).to_have_text(re.compile(r"^\d+\.\d%$"))
    explorer(page).get_by_role("button", name="Show", exact=True).click()
    expect(explorer(page).get_by_role("button", name="Clear")).to_be_focused()
    settle(page)
    low, high = map(float, address(page)["range"].split("~"))
    curve = analysis.uncalibrated.reliability
    assert (low, high) == pytest.approx((curve.low_edge[worst], curve.high_edge[worst]))
    heading = page.get_by_role("heading", name="Rows of one bin")
    expect(heading).not_to_be_in_viewport()
    explorer(page).get_by_role("button", name="Show them below").click()
    expect(heading).to_be_in_viewport()
    expect(explorer(page).get_by_role("button", name="Show", exact=True)).to_be_hidden()


def test_the_cumulative_difference_names_its_parts(page: Page):
    visit(page, "/reliability")
    error = percent(calib.analyze(EXAMPLE).uncalibrated.ks.statistic)
    texts = panel(page, "difference").locator("text").all_text_contents()
    title = (
        f"Uncalibrated. Of every 100 rows, scores up to 60% predict {error[:-1]} positives too few"
    )
    names = {f"KS calibration error {error}", "Uncalibrated", "Logistic (on log-odds)"}
    note = (
        "Observed minus predicted positives, counted from the lowest score up. It rises where "
        "scores are too low, and falls where they are too high. Grey: a calibrated model in 95% of "
        "samples (with the scores of Uncalibrated)."
    )
    assert {title, *names, "2%", "6%"} <= set(texts)
    assert note in " ".join(texts)  # It has as many lines as it needs.
    # The mark of the peak ends where the curve is highest.
    curve = panel(page, "difference").locator("path.line").first.get_attribute("d") or ""
    highest = min(float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", curve))
    mark = panel(page, "difference").locator("path.peak").get_attribute("d") or ""
    assert float(mark.partition("V")[2]) == highest
    # Narrow panels have more lines.
    page.set_viewport_size({"width": 390, "height": 844})
    expect(panel(page, "difference").get_by_text(title)).to_have_count(0)
    inside = panel(page, "difference").evaluate(
        "svg => [...svg.querySelectorAll('.heading, .tick')].every(text => "
        "text.getBoundingClientRect().right <= svg.getBoundingClientRect().right)"
    )
    assert inside


def test_the_diagram_names_what_is_drawn_besides_the_dots(page: Page):
    visit(page, "/reliability")
    texts = panel(page, "diagram").locator("text")
    grey = "Grey: where 95% of a calibrated model's dots lie (with the scores of Uncalibrated)."
    said = " ".join(texts.all_text_contents())
    assert "Uncalibrated. Not calibrated: overconfident" in said
    assert "1,797 rows · 15 quantile bins · 95% intervals" in said
    assert f"{grey} Circle: largest gap." in said
    slider = explorer(page).locator("input[name=n_bins]")
    slider.focus()
    slider.press("ArrowRight")
    expect(panel(page, "diagram")).to_contain_text("1,797 rows · 16 quantile bins")
    slider.press("ArrowLeft")
    all_controls(page).get_by_label("Simultaneous").check()
    expect(panel(page, "diagram")).to_contain_text("Grey: where all dots")
    explorer(page).get_by_label("Consistency band").uncheck()
    expect(panel(page, "diagram")).not_to_contain_text("Grey")
    explorer(page).get_by_label("Logistic").uncheck()
    expect(texts.get_by_text("Circle: largest gap.")).to_have_count(1)


def test_layers_have_a_sentence_each(page: Page):
    visit(page, "/reliability")
    for label in ("Consistency band", "Simultaneous", "CORP line", "Smooth line"):
        box = explorer(page).locator("label", has_text=label)
        expect(box).to_have_attribute("title", re.compile(r"^[^.]+\.$"))


def test_a_wide_band_is_a_sentence_as_on_the_static_chart(page: Page, tmp_path: Path):
    rng = np.random.default_rng(2)
    score = rng.random(60)
    rows = pd.DataFrame({"outcome": (rng.random(60) < score).astype(int), "score": score})
    rows.to_csv(tmp_path / "few.csv", index=False)
    visit(page, "/data?bins=8")
    upload(page, tmp_path / "few.csv")
    go(page, "Reliability")
    cells = ScoreCells.from_arrays(rows.outcome, score)
    reason = without_band(reliability_curve(cells, n_bins=8))
    assert "about 7 rows per bin" in reason
    expect(explorer(page).get_by_text(reason)).to_be_visible()
    band = panel(page, "diagram").locator("path.band")
    expect(band).to_have_attribute("d", "")
    slider = explorer(page).get_by_role("slider")
    slider.focus()
    for _ in range(6):
        slider.press("ArrowLeft")
    expect(band).to_have_attribute("d", re.compile("M.*L"))
    expect(explorer(page).get_by_text("No band")).to_have_count(0)


def test_drawings_and_their_numbers_can_be_saved(page: Page, tmp_path: Path):
    visit(page, "/reliability")
    files = {}
    for kind in ("PNG", "SVG", "CSV"):
        with page.expect_download() as saved:
            explorer(page).get_by_role("button", name=kind, exact=True).click()
        assert saved.value.suggested_filename.endswith(f"-15-quantile.{kind.lower()}")
        saved.value.save_as(tmp_path / kind)
        files[kind] = (tmp_path / kind).read_bytes()
    assert files["PNG"].startswith(b"\x89PNG")
    assert len(files["PNG"]) > 30_000
    drawn = ElementTree.fromstring(files["SVG"])
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert "1,797 rows · 15 quantile bins · 95% intervals" in texts
    axes = {"Mean predicted probability", "Scores up to", "Cumulative difference"}
    assert {"Uncalibrated", "Logistic (on log-odds)", *axes} <= set(texts)
    assert "Uncalibrated. Not calibrated: overconfident" in texts
    table = pd.read_csv(tmp_path / "CSV")
    curve = calib.analyze(EXAMPLE).uncalibrated.reliability
    own = table[table.method == "Uncalibrated"]
    np.testing.assert_allclose(own.mean_score, curve.mean_score, atol=1e-12)
    np.testing.assert_allclose(own.observed, curve.observed, atol=1e-12)
    np.testing.assert_allclose(own[["ci_low", "ci_high"]].T, [curve.low, curve.high], atol=1e-12)
    np.testing.assert_allclose(own.band_high, curve.band_high, atol=1e-12)


def test_it_fills_the_screen_and_the_window(page: Page):
    visit(page, "/reliability")
    side = size_of(panel(page, "diagram"))["width"]
    explorer(page).get_by_role("button", name="Full screen").click()
    expect(explorer(page).get_by_role("button", name="Exit full screen")).to_be_visible()
    page.evaluate(TWO_FRAMES)
    assert size_of(panel(page, "diagram"))["width"] > side
    explorer(page).get_by_role("button", name="Exit full screen").click()
    expect(explorer(page).get_by_role("button", name="Full screen")).to_be_visible()
    bottom = size_of(panel(page, "histogram"))
    assert 0.9 * 900 < bottom["y"] + bottom["height"] <= 900


def test_without_its_script_the_static_chart_stands(page: Page):
    page = page.context.new_page()
    page.add_init_script("window.atob = () => { throw Error('none'); }")
    visit(page, "/reliability")
    expect(page.get_by_text("The static chart is below")).to_be_visible()
    open_static(page)
    expect(by_key(page, "chart_reliability").locator(".js-plotly-plot")).to_be_visible()
