"""A matrix of scores in a real browser: its view on every page, in links, and its classes."""

import json
import re

from playwright.sync_api import Page, expect

from tests.browser.actions import choose, fill, go, open_menu
from tests.browser.harness import by_key, open_static, settle, traces, visit

EXAMPLE = "/?ex=digits"


def choose_view(page: Page, kind: str) -> None:
    by_key(page, "view_kind").get_by_text(kind, exact=True).click()
    settle(page)


def axis_title(page: Page, key: str) -> str:
    open_static(page)
    layout = (
        by_key(page, key)
        .locator(".js-plotly-plot")
        .evaluate(
            "plot => JSON.stringify([plot.layout.xaxis.title.text, plot.layout.yaxis.title.text])"
        )
    )
    return " / ".join(json.loads(layout))


def test_one_control_sets_the_view_of_every_page(page: Page):
    visit(page, EXAMPLE)
    expect(by_key(page, "summary").locator(".wide > svg")).to_contain_text("Mean confidence")
    choose_view(page, "Class")
    choose(page, "view_class", "seven")
    assert "view=class%3A7" in page.url
    go(page, "Reliability")
    assert (
        axis_title(page, "chart_reliability") == "Mean score of seven / Observed frequency of seven"
    )
    for label in ("Calibrators", "Decisions"):
        go(page, label)
        expect(by_key(page, "view_class").get_by_role("combobox")).to_have_value("seven")
    go(page, "Reliability")
    choose_view(page, "Within top-r")
    fill(page, "view_rank", "3")
    assert "view=within%3A3" in page.url
    assert axis_title(page, "chart_reliability").startswith("Mean sum of the 3 largest")


def test_a_link_restores_the_view_and_the_methods(page: Page):
    visit(page, "/reliability?ex=digits&view=class:2&m=uncalibrated.vector&show=vector")
    expect(by_key(page, "view_class").get_by_role("combobox")).to_have_value("two")
    assert axis_title(page, "chart_reliability").startswith("Mean score of two")
    names = {trace.get("name") for trace in traces(page, "chart_reliability")}
    assert "Vector scaling" in names
    open_menu(page, "settings")
    by_key(page, "reset_view").get_by_role("button").click()
    settle(page)
    assert axis_title(page, "chart_reliability").endswith("Top-label accuracy")


def press(page: Page, x: int, y: int) -> None:
    """Press the mouse within the table of classes: its cells are drawn, not elements."""
    canvas = by_key(page, "table_classes_uncalibrated").locator("canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.click(box["x"] + x, box["y"] + y)


def opened(page: Page, k: int, name: str) -> None:
    page.wait_for_url(re.compile(f"reliability.*view=class%3A{k}"))
    settle(page)
    assert axis_title(page, "chart_reliability").startswith(f"Mean score of {name}")


TICK, HEAD, FIRST = 16, 17, 53


def open_numbers(page: Page) -> None:
    by_key(page, "class_numbers").locator("summary").click()
    settle(page)


def test_the_name_of_a_class_opens_it(page: Page):
    visit(page, "/slices?ex=digits&kind=class")
    by_key(page, "slice_rows").get_by_role("button", name="nine").click()
    opened(page, 9, "nine")


def test_a_ticked_class_opens_however_the_table_is_sorted(page: Page):
    visit(page, "/classes?ex=digits")
    open_numbers(page)
    press(page, 120, HEAD)  # The table is sorted by rows, fewest first.
    settle(page)
    press(page, TICK, FIRST)
    opened(page, 8, "eight")
    # And back: nothing is ticked any more.
    go(page, "Slices")
    expect(page.get_by_text("10 of 10 classes are significantly miscalibrated")).to_be_visible()


def test_a_class_opens_by_the_keyboard(page: Page):
    visit(page, "/classes?ex=digits")
    open_numbers(page)
    press(page, 60, FIRST)
    for key in ("ArrowDown", "Shift+Space"):
        # The table is a canvas: nothing in the page tells that it has seen the click, or a key.
        page.wait_for_timeout(500)
        page.keyboard.press(key)
    opened(page, 9, "nine")


def test_the_view_goes_with_the_matrix(page: Page):
    visit(page, EXAMPLE)
    expect(by_key(page, "view")).to_be_visible()
    open_menu(page, "data_chip")
    choose(page, "menu_example", "Example: Rare event (reweighted model)")
    expect(by_key(page, "view")).to_have_count(0)


# Pixels of the name that the line of the chip cuts; a comma and the rows come after it.
CUT_OF_NAME = """
line => {
    const range = document.createRange();
    range.setStart(line.firstChild, 0);
    range.setEnd(line.firstChild, line.firstChild.length - 2);
    return range.getBoundingClientRect().right - line.getBoundingClientRect().right;
}
"""


def test_the_header_cuts_the_number_of_rows_before_the_name(page: Page):
    for width in (1440, 1024, 390):
        page.set_viewport_size({"width": width, "height": 900})
        visit(page, "/classes?ex=digits&m=platt")
        label = by_key(page, "data_chip").locator("button p").first
        expect(label).to_have_text("Ten digits example, 1,797 rows")
        assert label.evaluate(CUT_OF_NAME) <= 0, width
