"""Slices, periods and decisions in a real browser."""

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from calib.analysis.decisions import Costs, decide
from calib.crossfit.fitting import cross_fit
from calib.crossfit.settings import Settings
from calib.figures.live_decisions import decisions_data, script
from calib.loading.examples import EXAMPLES
from tests.browser.actions import choose, fill, go, upload
from tests.browser.harness import by_key, settle, traces, visit
from tests.browser.test_explorer import IN_MODULE

COSTS_IN_THE_BROWSER = """
(m, {methods, costs}) => methods.map(method => m.lowestCost(m.readMethod(method).best, costs).cost)
"""

SCROLLED = "() => document.querySelector('[data-testid=stMain]').scrollTop"


@pytest.fixture
def sites(tmp_path):
    """Two years of scores, right in the north and too high in the south, with a tiny site."""
    rng = np.random.default_rng(0)
    n = 3000
    score = rng.random(n)
    site = rng.choice(["north", "south", "<b>tiny</b>"], n, p=[0.6, 0.395, 0.005])
    outcome = rng.random(n) < np.where(site == "south", score**2, score)
    day = np.datetime64("2023-01-01") + rng.integers(0, 730, n)
    lines = [
        f"{int(y)},{s:.6f},{where},{when}"
        for y, s, where, when in zip(outcome, score, site, day, strict=True)
    ]
    path = tmp_path / "sites.csv"
    path.write_text("outcome,score,site,date\n" + "\n".join(lines))
    return path


def drawn(page: Page, key: str, group: str, **wanted: object) -> list[dict]:
    """Traces of one method with data, whose values are those wanted."""
    found = [t for t in traces(page, key) if t.get("legendgroup") == group and t["x"] != [None]]
    return [t for t in found if all(t.get(name) == value for name, value in wanted.items())]


def threshold(page: Page, key: str) -> float:
    (line,) = [t for t in traces(page, key) if t.get("name", "").startswith("Threshold")]
    assert line["x"][0] == line["x"][1]
    return line["x"][0]


def open_static_charts(page: Page) -> None:
    by_key(page, "static_decisions").locator("summary").click()
    settle(page)


def open_folded(page: Page, name: str) -> None:
    by_key(page, f"folded_{name}_first").locator("summary").click()
    settle(page)


def threshold_of(headline: Locator) -> str:
    return headline.inner_text().removeprefix("At a threshold of ").split(",")[0]


def test_a_segment_is_searched_and_added_to_the_slices(page: Page, tmp_path):
    """The journey of who asks where the scores fail: one click to search, one to look closer."""
    rng = np.random.default_rng(0)
    n = 4000
    score = rng.random(n)
    device, region = rng.choice(["phone", "web"], n), rng.choice(["north", "south", "west"], n)
    fails = (device == "phone") & (region == "north")
    outcome = rng.random(n) < np.where(fails, score**2, score)
    columns = zip(outcome, score, device, region, strict=True)
    lines = [f"{int(y)},{s:.6f},{where},{what}" for y, s, what, where in columns]
    path = tmp_path / "devices.csv"
    path.write_text("outcome,score,region,device\n" + "\n".join(lines))
    visit(page, "/data")
    upload(page, path)
    go(page, "Slices")
    by_key(page, "search_segments").get_by_role("button").click()
    settle(page)
    expect(page.get_by_role("heading", name="1 segment is miscalibrated")).to_be_visible()
    row = page.get_by_role("row", name="device phone × region north").first
    expect(row).to_contain_text("p < 0.001")
    row.get_by_role("button", name="Add to slices").click()
    settle(page)
    for key, value in (("slice_by", "device"), ("cross", "region")):
        expect(by_key(page, key).get_by_role("combobox")).to_have_value(value)
    expect(by_key(page, "picked")).to_contain_text("device phone × region north")
    expect(page.get_by_role("heading", name="no error found in the other 5 slices")).to_be_visible()
    by_key(page, "search_segments").get_by_role("button", name="Close search").click()
    settle(page)
    expect(page.get_by_role("heading", name="1 segment is miscalibrated")).to_have_count(0)
    expect(by_key(page, "picked")).to_contain_text("device phone × region north")


@pytest.mark.parametrize("name", ["naive_bayes", "logistic"])
def test_the_browser_finds_the_lowest_costs_that_python_finds(page: Page, name: str):
    held_out = cross_fit(EXAMPLES[name].load(), Settings(methods=("isotonic",)))
    for costs in (Costs(), Costs(2, 18), Costs(3, 1), Costs(1, 7.3)):
        table = decide(held_out, costs)
        data = decisions_data(held_out, table, ["uncalibrated", "isotonic"])
        given = {**data, "costs": {"miss": costs.false_negative, "alarm": costs.false_positive}}
        found = page.evaluate(IN_MODULE, [script(), COSTS_IN_THE_BROWSER, given])
        for lowest, decision in zip(found, table.methods.values(), strict=True):
            assert lowest == pytest.approx(decision.hindsight_cost, abs=1e-12)


def test_all_counts_of_flagged_rows_of_ten_digits_are_the_same(page: Page):
    """The top label changes with the calibrator, so its rows have other outcomes."""
    visit(page, "/decisions?ex=digits")
    counts = [
        [cell.text_content() for cell in row.locator("td").all()]
        for row in page.locator(".decisions tbody").first.locator("tr").all()
    ]
    answer = page.locator(".answer h2").inner_text()
    wrong = re.search(r"(\S+) of 1,000 decisions are wrong, and (\S+) after", answer)
    assert wrong is not None
    assert wrong.groups() == (counts[0][3], counts[1][3])
    expect(page.locator(".decisions thead").nth(1)).to_contain_text(f"Of the {counts[0][0]} flag")
    for _, missed, alarms, cost in counts:
        assert int(cost) == int(missed) + int(alarms)


def test_a_hand_on_the_threshold_moves_costs_and_numbers_without_the_server(page: Page):
    page.set_viewport_size({"width": 1440, "height": 900})
    visit(page, "/decisions")
    panel, rule = page.locator(".decisions svg.benefit"), page.locator(".decisions .rule")
    equal = "The threshold of 50% follows from the costs: a missed positive costs as much as a"
    expect(rule).to_contain_text(equal)
    missed = page.locator(".decisions tbody tr").first.locator("td").nth(1)
    expect(missed).to_have_text("104")
    answer, lead = page.locator(".answer h2"), page.locator(".answer .lead")
    # The chart says what the errors cost, beside the line that the hand moves.
    cost, written = page.locator(".decisions tbody tr td:last-child").first, panel.locator(".words")
    expect(answer).to_contain_text("170 of 1,000 decisions are wrong")
    expect(written).to_contain_text("Uncalibrated: 170 of 1,000 wrong")
    counts = [
        row.locator("td").first
        for row in page.locator(".decisions tbody").nth(1).locator("tr").all()
    ]
    for cell, positives in zip(counts, ("392", "421", "395"), strict=True):
        expect(cell).to_have_text(positives)
    expect(lead).to_contain_text("95% CI −9 to +5")
    box = panel.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 100, steps=5)
    expect(rule).not_to_contain_text("threshold of 50%")
    expect(missed).not_to_have_text("104")
    # The sentences are about the threshold before; they return when the server has answered.
    expect(lead).to_be_hidden()
    expect(written).to_contain_text(f"Uncalibrated: {cost.text_content()} cost per 1,000 rows")
    for cell, positives in zip(counts, ("392", "421", "395"), strict=True):
        expect(cell).not_to_have_text(positives)
    line, grip = panel.locator(".probe"), panel.locator(".grip")
    assert f"translate({line.get_attribute('x1')} " in (grip.get_attribute("transform") or "")
    # Until the hand lets go, the server and the address know nothing of it.
    assert "fn=" not in page.url
    page.mouse.up()
    page.wait_for_url("**fn=*")
    settle(page)
    expect(lead).to_be_visible()
    # The server and the browser count the same errors.
    expect(answer).to_contain_text(f"errors cost {cost.text_content()} per 1,000 rows")
    observed = counts[0].text_content()
    # The net benefit is worked out from the counts in the tables.
    alarms = page.locator(".decisions tbody tr").first.locator("td").nth(2).text_content()
    worked = page.locator(".decisions figure .hint").first.get_attribute("title")
    found, weight, benefit = re.search(
        rf"\((\d+) − (\S+) × {alarms}\) / 1,000 = (\S+)\.", worked
    ).groups()
    assert found == observed
    assert float(benefit) == round((int(found) - float(weight) * int(alarms)) / 1000, 3)
    shown = rule.inner_text()
    # The server and the browser write the threshold in the same way.
    assert f"threshold of {threshold_of(answer)} follows" in shown
    panel.focus()
    page.keyboard.press("ArrowRight")
    expect(rule).not_to_have_text(shown)
    page.wait_for_function("before => location.href !== before", arg=page.url)


def test_the_last_of_many_fast_clicks_wins_and_the_page_does_not_scroll(page: Page):
    page.set_viewport_size({"width": 1440, "height": 900})
    visit(page, "/decisions")
    page.mouse.move(700, 600)
    page.mouse.wheel(0, 60)
    page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollTop > 40")
    scrolled = page.evaluate(SCROLLED)
    costs = {"cost_fn": 201, "cost_fp": 201}
    for key, last in costs.items():
        box = by_key(page, key).get_by_test_id("stNumberInputStepUp").bounding_box()
        assert box is not None
        for _ in range(200):
            page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_url(f"**{'fn' if key == 'cost_fn' else 'fp'}={last}*")
    settle(page)
    # Equal costs have a threshold of 50% again, in the answer as in the chart.
    expect(page.locator(".answer h2")).to_contain_text("At a threshold of 50%, ")
    expect(page.locator(".decisions .rule")).to_contain_text("threshold of 50% follows")
    panel, now = page.locator(".decisions svg.benefit"), page.locator(".decisions .rule")
    panel.evaluate("panel => panel.focus({preventScroll: true})")
    for step in range(200):
        page.keyboard.press("ArrowRight" if step % 3 else "ArrowLeft")
    shown = now.inner_text()
    settle(page)
    page.wait_for_timeout(500)
    settle(page)
    assert now.inner_text() == shown
    threshold = threshold_of(page.locator(".answer h2"))
    assert f"threshold of {threshold} follows" in shown
    assert threshold != "50%"
    assert page.evaluate(SCROLLED) == scrolled
    by_key(page, "positives").locator("summary").click()
    ends = by_key(page, "count_range").get_by_role("slider")
    ends.first.scroll_into_view_if_needed()
    ends.first.focus()
    settle(page)
    scrolled = page.evaluate(SCROLLED)
    for step in range(200):
        page.keyboard.press("ArrowRight" if step % 2 else "ArrowLeft")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**from=0.51*")
    settle(page)
    chosen = page.get_by_role("row", name="Chosen: 51% to 100%")
    expect(chosen).to_be_attached()
    assert page.evaluate(SCROLLED) == scrolled


def test_slices_of_a_file_over_time_and_by_decision(page: Page, sites):
    visit(page, "/data")
    upload(page, sites)
    go(page, "Slices")
    verdict = "Site south is too high; no error found in the other slice"
    expect(page.get_by_role("heading", name=verdict)).to_be_visible()
    # South is judged and marked, the tiny site is drawn and not judged; its name stays text.
    rows = by_key(page, "slice_rows").get_by_role("row")
    south, tiny = rows.filter(has_text="site south"), rows.filter(has_text="site <b>tiny</b>")
    expect(south.locator(".tests div.now.error")).to_contain_text("error found")
    expect(south.locator(".differences circle.now.error")).to_be_visible()
    expect(tiny).to_contain_text("too few rows to test")
    expect(tiny.locator(".strip rect")).not_to_have_count(0)
    open_folded(page, "overlay")
    assert drawn(page, "chart_overlay", "slice 1")

    open_folded(page, "periods")
    (slope,) = drawn(page, "chart_periods", "uncalibrated", yaxis="y2")
    assert len(slope["x"]) == 24
    choose(page, "unit", "Year")
    (slope,) = drawn(page, "chart_periods", "uncalibrated", yaxis="y2")
    assert len(slope["x"]) == 2

    go(page, "Decisions")
    open_static_charts(page)
    assert threshold(page, "chart_cost") == 0.5
    fill(page, "cost_fn", "4")
    assert threshold(page, "chart_cost") == threshold(page, "chart_benefit") == 0.2
    by_key(page, "rates_by_slice").locator("summary").click()
    expect(page.get_by_role("heading", name="Error rates at a threshold of 20%")).to_be_visible()
    assert "fn=4" in page.url
    assert "unit=year" in page.url


def test_a_link_restores_slices_and_decisions(page: Page):
    visit(page, "/slices?slice=half&cross=side&after=isotonic")
    for when in ("now", "after"):  # Four slices and all rows have both.
        expect(by_key(page, "slice_rows").locator(f".differences circle.{when}")).to_have_count(5)
    go(page, "Decisions")
    open_static_charts(page)
    for method in ("uncalibrated", "isotonic"):
        modes = {t["mode"] for t in drawn(page, "chart_cost", method)}
        assert "lines" in modes
        assert any(mode.startswith("markers") for mode in modes)


def test_the_curves_stand_above_the_table_and_the_panels_below_it(page: Page):
    page.set_viewport_size({"width": 1440, "height": 900})
    visit(page, "/calibrators")
    table = page.locator(".metric-table").bounding_box()
    functions = by_key(page, "chart_functions").bounding_box()
    added = by_key(page, "chart_adjustments").bounding_box()
    panels = by_key(page, "before_after").bounding_box()
    assert functions["y"] + functions["height"] <= table["y"]
    assert functions["x"] + functions["width"] <= added["x"]
    assert abs(functions["y"] - added["y"]) < 60
    assert panels["y"] >= table["y"] + table["height"]


def test_the_cost_chart_is_folded_below_net_benefit(page: Page):
    page.set_viewport_size({"width": 1440, "height": 900})
    visit(page, "/decisions")
    cost = page.locator(".decisions svg.cost")
    expect(cost).to_be_hidden()
    page.locator(".decisions summary").last.click()
    expect(cost).to_be_visible()
    cost.scroll_into_view_if_needed()
    box, above = cost.bounding_box(), page.locator(".decisions svg.benefit").bounding_box()
    assert box is not None
    assert above is not None
    assert box["y"] > above["y"] + above["height"]
    # A hand moves the threshold of both.
    page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 100)
    page.wait_for_url("**fn=*")
    settle(page)
    lines = [page.locator(f".decisions svg.{name} .probe") for name in ("cost", "benefit")]
    assert len({line.get_attribute("x1") for line in lines}) == 1
    expect(cost).to_be_visible()
