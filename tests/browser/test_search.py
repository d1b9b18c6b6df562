"""Ctrl K searches pages, methods, metrics and examples; "?" lists the keys; Methods is searched."""

import pytest
from playwright.sync_api import Page, expect

from calib.calibrators import score_methods
from calib.metrics import METRICS
from tests.browser.actions import go
from tests.browser.harness import by_key, settle, visit


def search(page: Page, words: str) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill(words)


def shown(page: Page) -> list[str]:
    return page.get_by_role("listbox", name="Results").get_by_role("option").all_inner_texts()


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("brier skill", "Brier skill score\nTerm"),
        ("sigmoid calibration", "Platt scaling (on scores)\nMethod"),
        ("calibration in the large", "Observed - predicted\nMetric"),
    ],
)
def test_methods_and_metrics_are_found_by_all_their_names(page: Page, words, first):
    visit(page)
    search(page, words)
    assert first in shown(page)
    page.get_by_role("option", name=first.split("\n")[0]).click()
    page.wait_for_url("**/methods*")
    settle(page)
    expect(by_key(page, "methods_filter").get_by_role("textbox")).to_have_value(
        first.split("\n")[0]
    )


def test_arrows_choose_and_escape_closes(page: Page):
    visit(page, "/methods")
    search(page, "beta")
    field = page.get_by_role("combobox", name="Search")
    expect(field).to_have_attribute("aria-activedescendant", "search-result-0")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", "search-result-1")
    expect(page.get_by_role("option", selected=True)).to_have_attribute("id", "search-result-1")
    field.fill("no such words")
    assert not shown(page)
    expect(page.get_by_role("dialog")).to_contain_text("No matches.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Search (Ctrl K)").click()
    expect(field).to_be_focused()
    expect(field).to_have_value("")


def test_a_question_mark_lists_the_keys_and_can_be_typed(page: Page):
    visit(page, "/methods")
    field = by_key(page, "methods_filter").get_by_role("textbox")
    field.focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(field).to_have_value("?")
    field.blur()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Ctrl K")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_menu_has_no_entry_that_is_not_ours(page: Page):
    visit(page, "/methods")
    page.get_by_role("button", name="Theme and print").click()
    entries = page.get_by_test_id("stMainMenuList")
    expect(entries.get_by_text("Print")).to_be_visible()
    expect(entries.get_by_text("Dark")).to_be_visible()
    expect(entries.get_by_text("Record screen")).to_be_hidden()
    expect(page.get_by_text("Made with")).to_be_hidden()
    entries.get_by_text("Dark").click()
    ground = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    page.wait_for_function(f"{ground} === 'rgb(20, 24, 29)'")
    page.reload()
    settle(page)
    assert page.evaluate(ground) == "rgb(20, 24, 29)"


def test_a_link_opens_an_entry_of_methods_below_the_header(page: Page):
    visit(page, "/methods#venn-abers")
    (entry,) = page.locator(".glossary details[open]").all()
    assert entry.inner_text().startswith("Venn-Abers")
    assert 48 <= entry.bounding_box()["y"] < 100


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
