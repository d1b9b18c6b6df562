"""The page Monitor in a real browser: from the example to the counts of a slice, and refusals."""

import pytest
from playwright.sync_api import Page, expect

import calib
from calib.loading.examples import EXAMPLES
from tests.browser.actions import choose, go
from tests.browser.harness import by_key, visit


def finding(page: Page):
    return page.locator(".answer h2")


def test_from_data_without_dates_to_the_counts_of_a_slice(page):
    visit(page, "/")
    go(page, "Monitor")
    expect(page.get_by_role("heading", name="these data have no dates")).to_be_visible()
    by_key(page, "monitor_example").get_by_role("button").click()
    expect(finding(page)).to_have_text("Miscalibrated since about 1 May 2026.")
    rows = EXAMPLES["churn"].load()
    last = rows.columns["predicted_at"].max()
    result = calib.monitor(rows, time="predicted_at", horizon=30, slices="plan", today=last)
    choose(page, "watched", "prepaid")
    page.get_by_test_id("stExpander").locator("summary").first.click()
    table = page.get_by_role("region", name="Score ranges").get_by_role("table")
    first = result.ranges_of("prepaid").iloc[0]
    cells = table.get_by_role("row").nth(1).get_by_role("cell")
    expect(cells.nth(0)).to_have_text(f"{first['rows']:,.0f}")
    expect(cells.nth(1)).to_have_text(f"{first['positive']:,.0f}")
    expect(by_key(page, "chart_monitor").locator("svg.plot")).to_contain_text("in %: prepaid")
    assert "watched=prepaid" in page.url


def test_the_answer_fits_a_phone_in_the_dark(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    visit(page, "/monitor?ex=churn")
    expect(finding(page)).to_have_text("Miscalibrated since about 1 May 2026.")
    expect(finding(page)).to_be_in_viewport()
    main = page.get_by_test_id("stMain")
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", "rgb(20, 24, 29)")
    assert main.evaluate("main => main.scrollWidth <= main.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_controls_stay_where_they_are_until_the_advice_has_arrived(page: Page):
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, "/monitor?ex=churn")
    top = "element => element.getBoundingClientRect().top"
    at = by_key(page, "toolbar_monitor").evaluate(top)
    by_key(page, "monitored").get_by_test_id("stMarkdown").evaluate("advice => advice.remove()")
    assert by_key(page, "toolbar_monitor").evaluate(top) == pytest.approx(at, abs=1.0)
