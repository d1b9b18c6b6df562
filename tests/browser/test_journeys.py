"""Seven journeys of a person through the dashboard, and the eighth, sign-in, in test_sign_in.py.

These are the tests of this folder that `make test` runs. Each is what one person does, in order.
What is asserted on the way are numbers, states, links and files.
"""

import csv
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

import calib
from calib.analysis import LiveAnalysis
from calib.analysis.decisions import Costs, decide
from calib.calibrators import CALIBRATORS
from calib.curves.reliability import reliability_curve
from calib.exports import verify
from calib.loading.examples import EXAMPLES
from calib.metrics import expected_calibration_error
from calib.reports import Report
from calib.store import Store
from calib.text import percent
from calib.words.overview import counts
from tests.browser.actions import address, choose, go, press, save, saved, upload
from tests.browser.harness import by_key, settle, traces, visit
from tests.browser.looks import (
    CONTRASTS,
    FOCUSED,
    LEAST_CONTRAST,
    ODD_TYPE,
    OPERABLE,
    violations,
)
from tests.browser.screenshots import full_height

# Each page has one of these texts once all of it has been computed and drawn.
ON_PAGES = {
    "Overview": ".st-key-summary svg.plot",
    "Reliability": ".st-key-explorer svg.diagram path.line",
    "Slices": ".st-key-slice_rows svg",
    "Calibrators": ".st-key-chart_functions svg.plot",
    "Decisions": ".st-key-live_decisions svg.benefit",
    "Monitor": ".st-key-monitor_example button",
    "Reports": ":is(.st-key-save, .st-key-new_report) button",
    "Learn": ".st-key-glossary_metrics code",
}
PHONE = {"width": 390, "height": 844}
# WCAG 2.2, 2.5.8: targets of 24 pixels, or as much room.
TARGET_PIXELS = 24


@pytest.fixture(scope="module")
def analysis() -> LiveAnalysis:
    """The analysis of the first example."""
    return calib.analyze(EXAMPLES["naive_bayes"].load())


@pytest.fixture
def churn(tmp_path: Path) -> Path:
    """An overconfident model's file, with words for labels and columns that nobody would guess."""
    rng = np.random.default_rng(0)
    z = rng.normal(-1, 1.5, 1000)
    left = rng.random(1000) < 1 / (1 + np.exp(-z))
    risk = 1 / (1 + np.exp(-(1.8 * z + 0.4)))
    rows = pd.DataFrame({"left?": np.where(left, "churned", "stayed"), "risk": risk, "region": 7})
    rows.to_csv(tmp_path / "customers.csv", sep=";", index=False, float_format="%.8f")
    return tmp_path / "customers.csv"


def opened(page: Page, label: str) -> None:
    """Follow the navigation to a page, until all of it is there."""
    go(page, label)
    expect(page.locator(ON_PAGES[label]).first).to_be_attached()


def has_answer(page: Page, analysis: LiveAnalysis) -> None:
    """The page has the numbers of the library: KS error before and after, rows, change in rows."""
    keys = ("uncalibrated", analysis.recommendation.method)
    before, after = (percent(analysis.methods[key].ks.statistic) for key in keys)
    shown = page.get_by_test_id("stMain")
    expect(shown).to_contain_text(f"KS calibration error {before} (")
    expect(shown).to_contain_text(f" → {after} (")
    expect(by_key(page, "summary")).to_contain_text(f"{analysis.data.n_rows:,} rows")
    for one in counts(analysis):
        expect(shown).to_contain_text(f"{one.of(one.now)} predicted now")


def test_first_visit(page: Page, analysis: LiveAnalysis, tmp_path: Path):
    """A person sees the answer, chooses another example, and looks at its pages."""
    page.set_viewport_size({"width": 1440, "height": 900})
    visit(page)
    assert full_height(page) <= 900
    has_answer(page, analysis)
    fix, chart = by_key(page, "best_fix"), by_key(page, "summary")
    expect(page.get_by_test_id("stFileUploaderDropzone")).to_be_visible()
    by_key(page, "compared").locator("summary").click()
    table = by_key(page, "compared").locator(".calibrators tbody tr")
    expect(table).to_have_count(len(analysis.methods) - 1)
    chart.hover()
    drawn = pd.read_csv(saved(page, chart.get_by_role("button", name="Download as CSV"), tmp_path))
    dots = drawn[(drawn["panel"] == "Observed frequency") & (drawn["series"] == "Now")]
    # Those after calibration are drawn, too.
    assert 2 * len(dots) == chart.locator(".wide svg svg circle").count() == 30
    expect(fix.get_by_role("button", name="Get the code")).to_be_visible()
    page.get_by_role("button", name="Examples").click()
    expect(page.get_by_role("radio")).to_have_count(len(EXAMPLES))
    page.get_by_text(EXAMPLES["svm"].title, exact=True).click()
    expect(by_key(page, "landing")).to_have_count(0)
    settle(page)
    assert address(page)["ex"] == "svm"

    for label in ("Reliability", "Slices", "Calibrators", "Monitor", "Learn"):
        opened(page, label)
        assert address(page) == {"v": "1", "ex": "svm"}
    page.go_back()
    expect(page.locator(ON_PAGES["Monitor"]).first).to_be_attached()

    # Other sites can neither frame the app nor ask it under a name of theirs.
    assert "frame-ancestors 'self'" in page.request.get("/").headers["content-security-policy"]
    assert page.request.get("/", headers={"Host": "evil.invalid"}).status == 400


def test_a_file_is_dropped(page: Page, churn: Path, tmp_path: Path):
    """A person drops a file, reads its numbers, and sends the link to somebody who has the file."""
    own = calib.analyze(calib.load(churn))
    visit(page)
    upload(page, churn)
    has_answer(page, own)
    expect(by_key(page, "data_chip")).to_contain_text("customers")
    opened(page, "Calibrators")
    page.reload()
    settle(page)
    metrics = by_key(page, "lines_metrics")
    metrics.get_by_role("checkbox", name="All digits").check()
    table = saved(page, metrics.get_by_role("button", name="CSV"), tmp_path)
    head, *lines = csv.reader(table.read_text("utf-8-sig").splitlines())
    by_method = {line[0]: dict(zip(head, line, strict=True)) for line in lines}
    for key, row in own.table().iterrows():
        assert float(by_method[CALIBRATORS[key].label]["log_loss"]) == row["log_loss"], key
    link = page.url

    # Somebody else has the link and sees nothing without the file. The settings wait for it.
    page.context.clear_cookies()
    visit(page, f"{link}&bins=7")
    expect(page.get_by_role("heading", name="customers.csv (1,000 rows)")).to_be_visible()
    expect(page.locator("svg.plot, .metric-table")).to_have_count(0)
    upload(page, churn)
    expect(page.locator(ON_PAGES["Calibrators"]).first).to_be_attached()
    assert address(page)["bins"] == "7"


def test_a_question_and_its_button(page: Page, tmp_path: Path):
    """A person divides per cents, says which label is positive, and sees the result."""
    rng = np.random.default_rng(0)
    score = rng.random(600)
    positive = rng.random(600) < score**1.5
    rows = pd.DataFrame({"kind": np.where(positive, "B", "A"), "score": (100 * score).round(3)})
    rows.to_csv(tmp_path / "kinds.csv", index=False)
    visit(page)
    upload(page, tmp_path / "kinds.csv")
    press(page, "repair_percent")
    expect(by_key(page, "repair_percent")).to_have_count(0)
    # Nothing is concluded before the answer.
    go(page, "Calibrators")
    question = by_key(page, "question_choose").get_by_role("button")
    expect(question).to_have_count(2)
    expect(page.locator("svg.plot, .js-plotly-plot, .metric-table")).to_have_count(0)
    question.filter(has_text=f"{positive.mean():.1%} positive").click()
    expect(page.locator(ON_PAGES["Calibrators"]).first).to_be_attached()
    opened(page, "Overview")
    expect(by_key(page, "summary")).to_contain_text(f"{len(rows)} rows")


def gaps_are(page: Page, analysis: LiveAnalysis, n_bins: int, strategy: str) -> None:
    """The explorer's table has the errors and the worst bins of the library."""
    for place, key in enumerate(("uncalibrated", "logistic"), 1):
        cells = analysis.held_out.cells[key]
        curve = reliability_curve(cells, n_bins=n_bins, strategy=strategy)
        error = expected_calibration_error(cells, n_bins=n_bins, strategy=strategy)
        i = curve.worst
        row = by_key(page, "explorer").locator(".gaps tr").nth(place).locator("td")
        expect(row.nth(0)).to_contain_text(f"{error:.1%}")
        expect(row.nth(1)).to_contain_text(f"{100 * curve.gap[i]:+.1f} points".replace("-", "−"))
        expect(row.nth(2)).to_contain_text(f"{curve.rows[i]:.0f} rows")
        expect(row.nth(3)).to_have_text(f"{curve.mean_score[i]:.1%}")
        expect(row.nth(4)).to_have_text(f"{curve.observed[i]:.1%}")


def test_bins_in_the_explorer(page: Page, analysis: LiveAnalysis, tmp_path: Path):
    """A person moves the bins, selects a range by hand and by keys, and takes the numbers."""
    visit(page, "/reliability")
    explorer = by_key(page, "explorer").locator(".explorer")
    diagram, slider = explorer.locator("svg.diagram"), explorer.get_by_role("slider")
    line = diagram.locator("path.line").first
    gaps_are(page, analysis, 15, "quantile")
    error = percent(analysis.uncalibrated.ks.statistic)
    expect(explorer.locator("svg.difference")).to_contain_text(f"KS calibration error {error}")
    for _ in range(3):
        slider.press("ArrowRight")
    # The browser draws and counts by itself, before the server knows.
    assert (line.get_attribute("d") or "").count(" ") == 18
    gaps_are(page, analysis, 18, "quantile")
    page.wait_for_url("**bins=18**")
    explorer.get_by_label("Uniform").check()
    gaps_are(page, analysis, 18, "uniform")
    settle(page)
    assert address(page) == {"v": "1", "bins": "18", "by": "uniform"}

    # A range that is dragged is kept when the hand lets go.
    diagram.scroll_into_view_if_needed()
    box = diagram.locator(".frame").bounding_box()
    assert box is not None
    start, end = (box["x"] + (score + 0.02) / 1.04 * box["width"] for score in (0.2, 0.6))
    page.mouse.move(start, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move((start + end) / 2, box["y"] + box["height"] / 2)
    page.mouse.move(end, box["y"] + box["height"] / 2)
    expect(explorer.locator("svg .brush:not([hidden])")).to_have_count(3)
    assert "range" not in address(page)
    page.mouse.up()
    page.wait_for_url("**range=**")
    settle(page)
    range_is_counted(page, 0.2, 0.6)
    diagram.press("Shift+ArrowRight")
    page.wait_for_function("before => location.href !== before", arg=page.url)
    settle(page)
    low, high = range_is_counted(page, 0.2, 0.61)
    rows = pd.read_csv(saved(page, by_key(page, "download_bin").get_by_role("button"), tmp_path))
    scores = EXAMPLES["naive_bayes"].load().scores
    assert len(rows) == ((scores > low) & (scores <= high)).sum()
    np.testing.assert_allclose(scores[rows["row"] - 1], rows["score"])

    # The calibrated value of a score, and the numbers of what is drawn.
    probe = explorer.get_by_role("spinbutton", name="A score of")
    probe.fill("50")
    probe.press("Enter")
    read = explorer.locator(".probed td").first
    calibrated = analysis.held_out.calibrators["logistic"].predict([0.5])[0]
    expect(read).to_have_text(f"{calibrated:.1%}")
    taken = {
        kind: saved(page, explorer.get_by_role("button", name=kind, exact=True), tmp_path)
        for kind in ("PNG", "CSV")
    }
    assert taken["PNG"].read_bytes().startswith(b"\x89PNG")
    table = pd.read_csv(taken["CSV"])
    cells = analysis.held_out.cells["uncalibrated"]
    curve = reliability_curve(cells, n_bins=18, strategy="uniform")
    own = table[table.method == "Uncalibrated"]
    np.testing.assert_allclose(own.observed, curve.observed, atol=1e-12)
    np.testing.assert_allclose(own[["ci_low", "ci_high"]].T, [curve.low, curve.high], atol=1e-12)
    np.testing.assert_allclose(own.band_high, curve.band_high, atol=1e-12)


def range_is_counted(page: Page, low: float, high: float) -> tuple[float, float]:
    """The explorer and the page count the rows of the range in the address, near these ends."""
    ends = tuple(map(float, address(page)["range"].split("~")))
    assert ends == pytest.approx((low, high), abs=0.006)
    rows = EXAMPLES["naive_bayes"].load()
    inside = (rows.scores > ends[0]) & (rows.scores <= ends[1])
    n, positive = inside.sum(), rows.outcome[inside].sum()
    said = by_key(page, "explorer").locator(".said").first
    expect(said).to_contain_text(f"{n:,} rows")
    expect(said).to_contain_text(f"observed {positive / n:.1%}")
    expect(page.get_by_text(f"{positive:,} of {n:,} positive")).to_be_visible()
    return ends


def test_a_report_is_saved_opened_and_compared(
    page: Page, analysis: LiveAnalysis, server_log: Path, tmp_path: Path
):
    """A person finds costs by hand, saves a report, and compares it with that of a colleague."""
    with Store(f"sqlite:///{server_log.parent}/reports.db") as store:
        settings = calib.Settings(methods=("logistic",), n_bins=8)
        changed = calib.report(calib.analyze(EXAMPLES["naive_bayes"].load(), settings))
        other = store.save(changed.edited(title="Of eight bins"))
    page.set_viewport_size({"width": 1440, "height": 900})
    visit(page, "/decisions")
    box = by_key(page, "live_decisions").locator("svg.benefit").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 100, steps=3)
    cells = by_key(page, "live_decisions").locator("tbody tr").first.locator("td")
    alone = cells.all_text_contents()
    # Until the hand lets go, only the browser counts. Then the server agrees.
    assert "fn" not in address(page)
    page.mouse.up()
    page.wait_for_url("**fn=**")
    settle(page)
    assert cells.all_text_contents() == alone
    costs = Costs(false_negative=float(address(page)["fn"]))
    cost = 1000 * decide(analysis.held_out, costs).methods["uncalibrated"].cost.value
    missed, alarms, printed = (float(text.replace(",", "")) for text in alone[1:])
    # Printed numbers add up, so the cost is that of whole rows.
    assert printed == pytest.approx(alarms + costs.false_negative * missed, abs=0.5)
    assert printed == pytest.approx(cost, abs=0.5 * (1.0 + costs.false_negative) + 0.5)

    opened(page, "Reports")
    press(page, "new_report")
    link = save(page, "With costs")

    # Whoever has the link opens the report, and cannot delete it.
    page.context.clear_cookies()
    visit(page, link)
    expect(page.get_by_role("heading", name="With costs")).to_be_visible()
    has_answer(page, analysis)
    expect(by_key(page, "delete")).to_have_count(0)
    report = Report.open(saved(page, by_key(page, "download_json").get_by_role("button"), tmp_path))
    assert report.analysis.data.fingerprint == analysis.data.fingerprint
    assert report.parts.decisions.table.costs == costs
    file = saved(page, by_key(page, "download_html").get_by_role("button"), tmp_path)

    press(page, "compare_with")
    choose(page, "against", "Of eight bins")
    page.wait_for_url(f"**{other}**")
    settle(page)
    by_key(page, "compared_2").locator("summary").click()
    drawn = [len(trace["x"]) for trace in traces(page, "chart_report_2_1")]
    assert {15, 8} <= set(drawn)

    # The file needs no server. Its explorer has the numbers of the library, and draws by itself.
    page.goto(file.as_uri())
    explorer, error = page.locator("#explorer"), analysis.uncalibrated.metrics["ece_quantile"]
    expect(explorer.locator(".gaps td").first).to_have_text(f"{error.value:.1%}")
    explorer.get_by_role("slider").press("ArrowRight")
    line = explorer.locator("svg.diagram path.line").first
    assert (line.get_attribute("d") or "").count(" ") == 16
    assert page.locator("svg.plot").count() > 5


def fits(page: Page) -> None:
    """The page is as wide as the phone, its text is not small, and its place is in sight."""
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth <= main.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(ODD_TYPE) == []
    shown = by_key(page, "navigation").locator("[aria-current=page]").bounding_box()
    assert shown is not None
    assert shown["x"] >= 0
    assert shown["x"] + shown["width"] <= PHONE["width"]


def test_on_a_phone(page: Page):
    """A person with a phone in the dark reads the answer and three pages."""
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    visit(page)
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", "rgb(20, 24, 29)")
    parts = (
        by_key(page, "logo"),
        page.get_by_test_id("stFileUploaderDropzone"),
        page.get_by_role("button", name="Examples"),
        page.get_by_role("heading", level=1),
    )
    boxes = [box for part in parts if (box := part.bounding_box())]
    assert len(boxes) == len(parts)
    assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
    assert all(box["y"] + box["height"] <= PHONE["height"] for box in boxes)
    fits(page)
    found = page.evaluate(CONTRASTS)
    assert len(found) > 20
    assert {text: value for text, value in found.items() if value < LEAST_CONTRAST} == {}
    links = by_key(page, "navigation").get_by_role("link")
    boxes = [box for link in links.all() if (box := link.bounding_box())]
    assert min(box["height"] for box in boxes) >= TARGET_PIXELS
    lines = sorted((box["x"], box["x"] + box["width"]) for box in boxes)
    assert all(end <= start for (_, end), (start, _) in pairwise(lines))
    for label in ("Reliability", "Calibrators", "Decisions"):
        opened(page, label)
        fits(page)


def test_by_keyboard_and_with_axe(page: Page, tmp_path: Path):
    """A person without a mouse reaches all controls, and takes a calibrator."""
    visit(page)
    assert violations(page) == []
    wanted, reached = set(page.evaluate(OPERABLE)), set[str]()
    assert wanted
    for _ in range(100):
        page.keyboard.press("Tab")
        reached |= set(page.evaluate(FOCUSED))
        if wanted <= reached:
            break
    assert not wanted - reached

    by_key(page, "navigation").get_by_role("link", name="Calibrators", exact=True).press("Enter")
    page.wait_for_url("**/calibrators*")
    expect(page.locator(ON_PAGES["Calibrators"]).first).to_be_attached()
    settle(page)
    assert violations(page) == []
    page.get_by_role("button", name="Get the code of Platt scaling").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.locator("pre").wait_for()  # The code is drawn last.
    settle(page)
    assert violations(page) == []
    button = dialog.get_by_role("button", name="Download naive_bayes-platt.sql")
    with page.expect_download() as download:
        button.press("Enter")
    download.value.save_as(tmp_path / "platt.sql")
    assert verify(tmp_path / "platt.sql").deviation <= 1e-12
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    page.emulate_media(color_scheme="dark")
    by_key(page, "navigation").get_by_role("link", name="Reliability", exact=True).press("Enter")
    expect(page.locator(ON_PAGES["Reliability"]).first).to_be_attached()
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", "rgb(20, 24, 29)")
    settle(page)
    assert violations(page) == []
