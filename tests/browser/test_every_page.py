"""What holds on every page: one visit serves all tests that look at a page in one width.

They change nothing that the app remembers. A test says in which theme it looks.
"""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from calib.crossfit.settings import DEFAULT_METHODS
from calib.ui.session.page_list import PAGES
from tests.browser.conftest import Tab, used
from tests.browser.harness import by_key, settle, visit
from tests.browser.looks import (
    CONTRASTS,
    FOCUSED,
    LEAST_CONTRAST,
    ODD_TYPE,
    OPERABLE,
    violations,
)

WIDE, PHONE = (1280, 900), (380, 800)
FILES = [page.removeprefix("pages/").removesuffix(".py") for page in PAGES.values()]
# With chips and a notice, and with the data that a page needs or that fill it most.
MORE = {"reliability": "?bins=20&colour=red", "slices": "?pick=0.1", "monitor": "?ex=churn"}
PATHS = ["/" if name == "app" else f"/{name}{MORE.get(name, '')}" for name in FILES]
PATHS += ["/calibrators?ex=digits", "/calibrators?ex=rounds"]
PATHS += ["/reliability?tab=cumulative", "/reliability?tab=panels"]
RELIABILITY = "/reliability?bins=20&colour=red"
# WCAG 2.2, 2.5.8: targets of 24 pixels, or as much room.
TARGET = 24
# The toolbar of a chart fades in under the pointer. What has ended out of sight is still listed.
FADED_IN = """
() => !document.getAnimations().some(
    found => found instanceof CSSTransition && found.playState === "running")
"""
# The plot area and its titles, against the toolbar that the pointer brings up.
OVERLAPS = """
plot => {
    const bar = plot.querySelector(".modebar").getBoundingClientRect();
    const parts = plot.querySelectorAll(".bglayer rect, .nsewdrag, .annotation-text, .legend");
    return [...parts].map(part => part.getBoundingClientRect()).filter(box =>
        box.width && box.left < bar.right && box.right > bar.left &&
        box.top < bar.bottom - 1 && box.bottom > bar.top + 1).length;
}
"""
# How the fade of a line is placed, and how far before the end of the line its last control ends.
FADE = """
bar => {
    const fade = getComputedStyle(bar, "::after"), last = bar.lastElementChild;
    const room = bar.getBoundingClientRect().right - parseFloat(fade.width);
    return [fade.position, room - last.getBoundingClientRect().right];
}
"""
# Elements that are wider than their place scroll sideways, with columns out of sight.
CUT_OFF = """
() => [...document.querySelectorAll(".metric-table, [data-testid=stDataFrame] .dvn-scroller")]
    .filter(place => place.clientWidth && place.scrollWidth > place.clientWidth + 1)
    .map(place => [place.clientWidth, place.scrollWidth])
"""
# Entries of a legend that lie outside of it are hidden, until a person scrolls in it.
HIDDEN_ENTRIES = """
() => [...document.querySelectorAll(".js-plotly-plot .legend")].flatMap(legend => {
    const room = legend.querySelector(".bg").getBoundingClientRect();
    return [...legend.querySelectorAll(".legendtext")].filter(
        text => text.getBoundingClientRect().bottom > room.bottom + 1
    ).map(text => text.textContent);
})
"""
PANELS = """
plots => plots.map(plot => {
    const {x, y, width} = plot.getBoundingClientRect(), panel = plot.querySelector("svg");
    const scale = width / plot.getAttribute("width");
    return {
        x, y, right: x + width,
        width: scale * panel.getAttribute("width"), height: scale * panel.getAttribute("height"),
    };
})
"""


def on(sizes: list[tuple[int, int]], paths: list[str]) -> pytest.MarkDecorator:
    """Pages in windows of these sizes."""
    shown = {f"{path}-{size[0]}": (path, size) for path in paths for size in sizes}
    return pytest.mark.parametrize("shown", list(shown.values()), ids=list(shown), indirect=True)


@pytest.fixture(scope="module")
def shown(request: pytest.FixtureRequest, tab: Tab, server_log: Path) -> Iterator[Page]:
    """A page that tests look at one after the other."""
    path, (width, height) = request.param
    with used(tab, server_log) as page:
        page.set_viewport_size({"width": width, "height": height})
        visit(page, path)
        yield page


def look(page: Page, scheme: str) -> None:
    """See the page in a theme."""
    if page.evaluate(f"matchMedia('(prefers-color-scheme: {scheme})').matches"):
        return
    page.emulate_media(color_scheme=scheme)
    ground = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[scheme]
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", ground)
    settle(page)


@on([WIDE, PHONE], PATHS)
def test_no_page_is_wider_than_its_window(shown: Page):
    main = shown.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth <= main.clientWidth")
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")


@on([WIDE], PATHS)
def test_every_chart_and_table_says_what_it_shows(shown: Page):
    for chart in shown.get_by_test_id("stPlotlyChart").all():
        assert len(chart.get_attribute("aria-label") or "") > 30
        assert chart.get_attribute("role") == "figure"
    # Folded parts have not drawn their tables yet.
    frames = shown.get_by_test_id("stDataFrame").filter(visible=True)
    named = shown.get_by_role("region").filter(has=shown.locator("canvas"))
    expect(named).to_have_count(frames.count())
    assert all(region.get_attribute("aria-label") for region in named.all())


@on([WIDE], PATHS)
def test_nothing_lies_under_the_toolbar(shown: Page):
    plots = shown.locator(".js-plotly-plot")
    assert plots.evaluate_all(f"plots => plots.map({OVERLAPS})") == [0] * plots.count()


@on([WIDE, PHONE], PATHS)
def test_every_page_has_two_weights_and_no_small_print(shown: Page):
    assert shown.evaluate(ODD_TYPE) == []


@on([WIDE], PATHS)
def test_no_page_breaks_a_rule(shown: Page):
    assert violations(shown) == []


@on([WIDE], PATHS)
def test_no_page_breaks_a_rule_in_the_dark(shown: Page):
    look(shown, "dark")
    assert violations(shown) == []


# The contrast of light pages is checked by axe.
@on([WIDE], PATHS)
def test_every_text_can_be_read_in_the_dark(shown: Page):
    look(shown, "dark")
    found = shown.evaluate(CONTRASTS)
    assert len(found) > 20
    assert {text: value for text, value in found.items() if value < LEAST_CONTRAST} == {}


@pytest.mark.parametrize("scheme", ["dark", "light"])
@on([WIDE], ["/slices?pick=0.1"])
def test_what_the_pointer_shows_can_be_read(shown: Page, scheme: str):
    look(shown, scheme)
    before = set(shown.evaluate(CONTRASTS))
    by_key(shown, "chart_overlay").locator(".point").first.hover(force=True)
    shown.locator(".hoverlayer .nums").first.wait_for()
    shown.wait_for_function(FADED_IN)
    read = {text: value for text, value in shown.evaluate(CONTRASTS).items() if text not in before}
    assert read
    assert min(read.values()) >= LEAST_CONTRAST
    shown.mouse.move(0, 0)


NARROW = [
    "/slices",
    "/decisions",
    "/calibrators",
    RELIABILITY,
    "/calibrators?ex=rounds",
    "/reliability?tab=cumulative",
]


@on([WIDE], NARROW)
def test_nothing_is_cut_off_in_a_window_of_1024_pixels(shown: Page):
    shown.set_viewport_size({"width": 1024, "height": 2800})
    settle(shown)
    assert shown.locator(".metric-table, [data-testid=stDataFrame], .st-key-slice_rows").count()
    assert shown.evaluate(CUT_OFF) == []
    assert shown.evaluate(HIDDEN_ENTRIES) == []
    # Later tests look at the same window.
    shown.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    settle(shown)


# The last in a window: it leaves focus and tooltips behind.
@on([WIDE], PATHS)
def test_the_keyboard_reaches_every_control(shown: Page):
    wanted = set(shown.evaluate(OPERABLE))
    assert wanted
    reached: set[str] = set()
    for _ in range(200):
        shown.keyboard.press("Tab")
        reached |= set(shown.evaluate(FOCUSED))
        if wanted <= reached:
            break
    assert not wanted - reached


@on([PHONE], ["/calibrators"])
def test_on_a_phone_panels_stand_two_by_two_and_are_square(shown: Page):
    panels = by_key(shown, "before_after").locator(".plot").evaluate_all(PANELS)
    assert len(panels) == len(DEFAULT_METHODS)
    assert len({round(panel["x"]) for panel in panels}) == 2
    assert len({round(panel["y"]) for panel in panels}) == math.ceil(len(panels) / 2)
    for panel in panels:
        assert panel["width"] == pytest.approx(panel["height"], abs=1)
        assert panel["width"] >= 120
        assert panel["right"] <= PHONE[0]


@on([WIDE], ["/calibrators"])
def test_on_a_wide_page_no_panel_stands_alone(shown: Page):
    panels = by_key(shown, "before_after").locator(".plot").evaluate_all(PANELS)
    rows = Counter(round(panel["y"]) for panel in panels)
    assert min(rows.values()) > 1
    for panel in panels:
        assert panel["width"] >= 110


@on([PHONE], ["/"])
def test_on_a_phone_the_calibrators_with_the_line_of_no_change_fit(shown: Page):
    table = shown.locator(".metric-table:has(.calibrators)")
    assert table.evaluate("place => place.scrollWidth <= place.clientWidth")


@on([WIDE], ["/calibrators?ex=digits"])
def test_the_controls_of_a_view_stand_on_one_line(shown: Page):
    def middle(part: str) -> float:
        box = by_key(shown, "view").locator(part).bounding_box()
        return box["y"] + box["height"] / 2

    field = middle("[data-testid=stNumberInputContainer]")
    assert middle("[data-testid=stButtonGroup]") == pytest.approx(field, abs=1)


@on([WIDE], ["/calibrators", "/calibrators?ex=digits"])
def test_the_menus_leave_the_links_of_the_header_free(shown: Page):
    last = by_key(shown, "navigation").get_by_role("link", name="Learn").bounding_box()
    assert last["x"] + last["width"] <= by_key(shown, "tools").bounding_box()["x"]


@on([PHONE], ["/calibrators", "/calibrators?ex=digits"])
def test_links_of_the_navigation_do_not_overlap(shown: Page):
    bar = by_key(shown, "navigation")
    # Links that were scrolled out of sight lie under the logo.
    bar.evaluate("bar => { bar.scrollLeft = 0; }")
    boxes = [link.bounding_box() for link in bar.get_by_role("link").all()]
    # The logo is a link, too, and the link to the data is in a menu.
    assert len(boxes) == len(FILES)
    assert min(box["height"] for box in boxes) >= TARGET
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            right, bottom = one["x"] + one["width"], one["y"] + one["height"]
            assert right <= other["x"] or bottom <= other["y"]


@on([PHONE], ["/", "/decisions", "/learn"])
def test_the_navigation_scrolls_to_the_page_that_is_shown(shown: Page):
    link = by_key(shown, "navigation").locator("[aria-current=page]")
    name = urlsplit(shown.url).path.strip("/").capitalize()
    assert link.inner_text().startswith(name or "Overview")
    box = link.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE[0]
    # No further than it must: the name of the app stands before its first page.
    scrolled = by_key(shown, "navigation").evaluate("bar => bar.scrollLeft")
    assert (scrolled == 0) == (not name)


@on([PHONE], ["/", "/calibrators", "/learn"])
def test_on_a_phone_the_logo_stays_and_the_links_do_not_lie_under_it(shown: Page):
    logo = by_key(shown, "logo").bounding_box()
    assert logo["x"] >= 0
    link = by_key(shown, "navigation").locator("[aria-current=page]").bounding_box()
    assert link["x"] >= logo["x"] + logo["width"]


@on([PHONE], ["/slices?pick=0.1", "/decisions"])
def test_on_a_phone_a_toolbar_that_scrolls_fades_until_its_end(shown: Page):
    bar = shown.locator("[class*=st-key-toolbar_]").first
    fade, beside = bar.evaluate(FADE)
    assert fade == "sticky"
    assert beside < 0
    bar.evaluate("bar => { bar.scrollLeft = bar.scrollWidth; }")
    # At the end it covers no control.
    assert bar.evaluate(FADE)[1] >= 0


@on([PHONE], ["/calibrators"])
def test_nothing_lies_on_the_navigation_while_the_page_works(shown: Page):
    status = shown.evaluate_handle(
        """() => {
            const status = document.createElement("div");
            status.dataset.testid = "stStatusWidget";
            document.querySelector("[data-testid=stApp]").append(status);
            return status;
        }"""
    )
    assert status.evaluate("status => getComputedStyle(status).display") == "none"
    status.evaluate("status => status.remove()")
