"""What a phone shows: panels large enough to be read, links far enough apart for a thumb."""

import pytest
from playwright.sync_api import Page

from tests.browser.harness import by_key, visit
from tests.rare import common_first

# WCAG 2.2, 2.5.8: targets of 24 pixels, or as much room.
TARGET = 24
# Examples and the number of pages that they have.
EXAMPLE, DIGITS = ("naive_bayes", 11), ("digits", 12)
SIZES = """
plots => plots.map(plot => {
    const {x, y} = plot.getBoundingClientRect(), {xaxis, yaxis} = plot._fullLayout;
    return {x, y, width: xaxis._length, height: yaxis._length};
})
"""


@pytest.fixture
def phone(page: Page) -> Page:
    page.set_viewport_size({"width": 380, "height": 800})
    return page


def test_panels_stand_two_by_two_and_are_square(phone: Page):
    visit(phone, "/compare")
    panels = by_key(phone, "before_after").locator(".js-plotly-plot").evaluate_all(SIZES)
    assert len(panels) == 6
    assert len({round(panel["x"]) for panel in panels}) == 2
    assert len({round(panel["y"]) for panel in panels}) == 3
    for panel in panels:
        assert panel["width"] == pytest.approx(panel["height"], abs=1)
        assert panel["width"] >= 120


@pytest.mark.parametrize(("example", "n_pages"), common_first([EXAMPLE, DIGITS], [EXAMPLE]))
def test_links_of_the_navigation_do_not_overlap(phone: Page, example: str, n_pages: int):
    visit(phone, f"/?ex={example}")
    links = by_key(phone, "navigation").get_by_role("link").all()
    boxes = [link.bounding_box() for link in links]
    assert len(boxes) == n_pages
    assert min(box["height"] for box in boxes) >= TARGET
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            right, bottom = one["x"] + one["width"], one["y"] + one["height"]
            assert right <= other["x"] or bottom <= other["y"]


@pytest.mark.parametrize("label", common_first(["Overview", "Methods"], ["Methods"]))
def test_the_navigation_scrolls_to_the_page_that_is_shown(phone: Page, label: str):
    visit(phone, "/" if label == "Overview" else "/methods")
    link = by_key(phone, "navigation").locator("[aria-current=page]")
    assert link.inner_text() == label
    box = link.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 380
    # No further than it must: the name of the app stands before its first page.
    scrolled = by_key(phone, "navigation").evaluate("bar => bar.scrollLeft")
    assert (scrolled == 0) == (label == "Overview")


def test_nothing_lies_on_the_navigation_while_the_page_works(phone: Page):
    visit(phone, "/methods")
    shown = phone.evaluate(
        """() => {
            const status = document.createElement("div");
            status.dataset.testid = "stStatusWidget";
            document.querySelector("[data-testid=stApp]").append(status);
            return getComputedStyle(status).display;
        }"""
    )
    assert shown == "none"
