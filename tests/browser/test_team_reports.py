"""Reports of a team in a real browser: saved, found, opened by a link, compared, deleted; hostile
names stay text wherever they go."""

from playwright.sync_api import Page, expect

from tests.browser.actions import save, show_details, write
from tests.browser.harness import by_key, settle, traces, visit


def points(page: Page) -> list[list]:
    """What the chart of cumulative differences shows."""
    return [[t.get("name"), t["x"], t["y"]] for t in traces(page, "chart_report_2_1")]


# Charts of which a part is hidden by a clip of what is around them.
CLIPPED = """
() => [...document.querySelectorAll(".js-plotly-plot")].filter(plot => {
    for (let around = plot; around; around = around.parentElement) {
        if (getComputedStyle(around).clipPath !== "none") return true;
    }
}).length
"""


def test_saved_found_opened_by_a_stranger_and_taken_back(page: Page, other: Page):
    visit(page, "/reports?new=report")
    show_details(page)
    write(page, "author", "Ada")
    address = save(page, "Even digits, March", "digits, 2026")

    visit(page, "/reports")
    write(page, "search_reports", "even march")
    listed = by_key(page, "saved_reports")
    expect(listed.get_by_role("link")).to_have_count(1)
    expect(listed).to_contain_text("Ada · naive_bayes")
    expect(listed).to_contain_text("digits")
    listed.get_by_role("link", name="Even digits, March").click()
    settle(page)
    assert page.url == address
    expect(page.get_by_role("heading", name="Even digits, March")).to_be_visible()
    drawn = points(page)
    page.go_back()
    settle(page)
    expect(by_key(page, "saved_reports")).to_be_visible()

    visit(other, address)
    expect(other.get_by_role("heading", name="Even digits, March")).to_be_visible()
    expect(other.get_by_role("heading", name="How to reproduce this")).to_be_visible()
    assert points(other) == drawn
    assert other.url == address
    other.set_viewport_size({"width": 390, "height": 844})
    settle(other)
    assert other.evaluate(CLIPPED) == 0


def test_the_link_is_copied(page: Page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(page, "/reports?new=report")
    address = save(page, "To be copied")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == address
