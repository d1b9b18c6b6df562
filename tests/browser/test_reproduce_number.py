"""Reproduce a number in a real browser: type it, read the table, and open the link elsewhere."""

from playwright.sync_api import Page, expect

from tests.browser.harness import by_key, settle, visit
from tests.rare import rare


@rare
def test_a_typed_number_names_its_code_and_travels_with_the_link(page: Page, other: Page):
    visit(page, "/compare")
    fold = by_key(page, "reproduce_a_number")
    table = fold.locator(".metric-table")
    expect(table).to_have_count(0)
    fold.get_by_text("Reproduce a number").click()
    field = fold.get_by_role("textbox")
    field.fill("0.132")
    field.press("Enter")
    settle(page)
    expect(table).to_be_visible()
    expect(fold).to_contain_text("as in scikit-learn calibration_curve and netcal")
    expect(table.locator("tbody tr").first).to_contain_text("0.1320")
    assert "num=0.132" in page.url

    visit(other, page.url[page.url.index("/compare") :])
    fold = by_key(other, "reproduce_a_number")
    expect(fold).to_contain_text("as in scikit-learn calibration_curve and netcal")
    field = fold.get_by_role("textbox")
    field.fill("0.9876543")
    field.press("Enter")
    settle(other)
    expect(fold).to_contain_text("gives 0.9876543 on these rows")
    expect(fold.locator(".metric-table")).to_contain_text("Nearest conventions")
