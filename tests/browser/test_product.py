"""The dashboard as a whole: its first ten seconds, its links, and comfort for eyes and hands."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from calib.ui.session.choices import LINK_NAMES
from calib.ui.session.pages import OF_A_MATRIX, PAGES
from tests.browser.actions import go, press_slider
from tests.browser.harness import by_key, open_static, settle, traces, visit
from tests.rare import common_first, rare

LABELS = [label for label in PAGES if label not in OF_A_MATRIX]
PATHS = ["", *(page.removeprefix("pages/").removesuffix(".py") for page in PAGES.values())]
PATHS = [path for path in PATHS if path not in ("app", "classes")]
# One value of every setting that is not its default; of the data that are shown first.
EVERYTHING = {
    "view": "class:0",
    "m": "uncalibrated.platt.spline",
    "by": "uniform",
    "bins": "12",
    "eps": "0.01",
    "folds": "4",
    "seed": "3",
    "level": "0.9",
    "band": "simultaneous",
    "axis": "logit",
    "show": "uncalibrated.platt",
    "knots": "1",
    "over": "platt",
    "line": "corp",
    "of": "platt",
    "at": "0.7",
    "after": "platt",
    "slice": "half",
    "cross": "side",
    "ranges": "4",
    "pick": "0.1",
    "apart": "1",
    "time": "ink",
    "fp": "2",
    "fn": "5",
    "from": "0.2",
    "to": "0.8",
    "hide": "intervals",
    "cols": "log_loss.auc",
}
# Choosing a range of scores resets the bin.
WITH_RANGE = {**EVERYTHING, "range": "0.25~0.5"}
del WITH_RANGE["at"]
# Auto overrides the number of bins, a capacity the costs; periods need dates; models and classes
# need data of several.
NOT_AT_ONCE = {"metric", "auto", "cap", "unit", "model", "cls"}


def address(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def link(named: dict[str, str]) -> str:
    return "&".join(f"{name}={value}" for name, value in named.items())


@pytest.mark.parametrize(
    ("width", "height"),
    common_first([(1440, 900), (1024, 768), (390, 844)], [(1440, 900), (390, 844)]),
)
def test_the_first_ten_seconds_answer_the_question(page: Page, width: int, height: int):
    page.set_viewport_size({"width": width, "height": height})
    visit(page)
    name, verdict = (page.get_by_role("heading", level=level) for level in (1, 2))
    assert name.inner_text() == "calib"
    assert verdict.inner_text() == "✕ Not calibrated: overconfident"
    purpose = page.get_by_text("Can these probabilities be trusted?")
    drop = page.get_by_test_id("stFileUploaderDropzone")
    example = by_key(page, "example").get_by_role("radio").first
    seen = [found.bounding_box() for found in (name, purpose, drop, example, verdict)]
    tops = [box["y"] for box in seen]
    if width < 640:
        assert tops == sorted(tops)
    assert all(box["y"] + box["height"] <= height for box in seen)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_answer_has_its_evidence_and_what_to_do(page: Page):
    visit(page)
    assert by_key(page, "navigation").get_by_role("link").all_inner_texts() == LABELS
    for key, name in (("chart_before", "Uncalibrated"), ("chart_after", "Logistic")):
        assert name in {trace.get("name") for trace in traces(page, key)}
    numbers = by_key(page, "numbers").get_by_test_id("stMetric")
    assert [metric.inner_text().split("\n")[0] for metric in numbers.all()] == [
        "Rows",
        "Mean prediction",
        "KS error",
        "Base rate",
    ]
    fix = by_key(page, "best_fix")
    assert re.search(r"\(change −0\.\d+, 95% CI −0\.\d+ to −0\.\d+\)", fix.inner_text())
    fix.get_by_role("button", name="Use this calibrator").click()
    expect(page.get_by_role("dialog").get_by_text("Verified: DuckDB")).to_be_visible()


def test_back_undoes_page_changes_and_no_other_step(page: Page):
    page.goto("about:blank")
    visit(page, "/")
    go(page, "Reliability")
    for _ in range(2):
        press_slider(page, "n_bins", "ArrowRight")
    go(page, "Compare")
    steps = ((page.go_back, "/reliability"), (page.go_back, "/"), (page.go_forward, "/reliability"))
    for step, path in (*steps, (page.go_back, "/")):
        step()
        settle(page)
        assert urlsplit(page.url).path == path
        assert address(page) == {"v": "1", "bins": "17"}
    page.go_back()
    assert page.url == "about:blank"


@rare
def test_links_of_the_navigation_open_in_new_tabs(page: Page):
    visit(page, "/?bins=20")
    link = by_key(page, "navigation").get_by_role("link", name="Compare", exact=True)
    link.hover()
    assert link.get_attribute("href") == "compare?v=1&bins=20"


@rare
@pytest.mark.parametrize(
    "named",
    [pytest.param(EVERYTHING, id="bin"), pytest.param(WITH_RANGE, id="range", marks=rare)],
)
def test_a_link_with_every_setting_and_the_navigation_stay_on_every_page(page: Page, named):
    assert set(LINK_NAMES) == EVERYTHING.keys() | WITH_RANGE.keys() | NOT_AT_ONCE
    visit(page, f"/reliability?v=1&{link(named)}")
    assert address(page) == {"v": "1", **named}
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    places = set()
    for label in LABELS:
        go(page, label)
        assert address(page) == {"v": "1", **named}, label
        box = by_key(page, "navigation").bounding_box()
        places.add((box["x"], box["y"], box["width"]))
    assert len(places) == 1


@rare
@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"bins": "1600"}, "1600"),
        ({"level": "2"}, "0.95"),
        ({"eps": "0.9"}, "between 1e-15 and 0.32"),
        ({"at": "-1"}, "between 0 and 1"),
        ({"ranges": "1"}, "between 2 and 20"),
        ({"fp": "0"}, "between 1e-06 and 1e+09"),
        ({"folds": "99"}, "between 2 and 20"),
        ({"seed": "-2"}, "between 0 and"),
        ({"show": "nobody"}, "nobody"),
        ({"colour": "red"}, "there is no such setting"),
    ],
)
def test_what_a_link_cannot_have_is_refused_with_a_notice(page: Page, named, said):
    visit(page, f"/reliability?v=1&{link(named)}")
    expect(page.get_by_test_id("stAlert").first).to_contain_text(said)
    assert address(page) == {}
    by_key(page, "dismiss_refused").get_by_role("button").click()
    settle(page)
    expect(page.get_by_test_id("stAlert")).to_have_count(0)


@rare
def test_each_chip_resets_its_setting_and_one_resets_all(page: Page):
    visit(page, "/reliability?v=1&bins=20&level=0.9&axis=logit")
    chips = by_key(page, "changed").get_by_role("button")
    assert [chip.rstrip(" ✕") for chip in chips.all_inner_texts()] == [
        "20 bins",
        "90% intervals",
        "Log-odds axes",
        "Reset all",
    ]
    by_key(page, "reset_axis").get_by_role("button").click()
    settle(page)
    assert address(page) == {"v": "1", "bins": "20", "level": "0.9"}
    by_key(page, "reset_all").get_by_role("button").click()
    settle(page)
    assert address(page) == {}
    open_static(page)
    expect(by_key(page, "n_bins").get_by_role("slider")).to_have_value("15")
    expect(by_key(page, "changed")).to_have_count(0)


@rare
def test_folds_and_seed_can_be_changed_where_their_effect_is_said(page: Page):
    visit(page, "/compare")
    page.get_by_text("Cross-fitting", exact=True).click()
    expect(page.get_by_text("see how much results vary by chance")).to_be_visible()
    box = by_key(page, "seed").get_by_role("spinbutton")
    box.fill("7")
    box.press("Enter")
    settle(page)
    expect(by_key(page, "changed").get_by_text("Seed 7")).to_be_visible()
    assert address(page) == {"v": "1", "seed": "7"}
    slider = by_key(page, "n_folds").get_by_role("slider")
    slider.focus()
    slider.press("ArrowLeft")
    settle(page)
    assert address(page)["folds"] == "4"
    expect(page.get_by_text("Metrics use 4-fold cross-fitting").first).to_be_visible()


@pytest.mark.parametrize("path", common_first(PATHS, ["compare"]))
def test_no_page_is_wider_than_a_phone(page: Page, path):
    page.set_viewport_size({"width": 380, "height": 800})
    visit(page, f"/{path}")
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth <= main.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("path", common_first(PATHS, ["slices"]))
def test_every_chart_and_table_says_what_it_shows(page: Page, path):
    visit(page, f"/{path}")
    for chart in page.get_by_test_id("stPlotlyChart").all():
        assert len(chart.get_attribute("aria-label") or "") > 30
        assert chart.get_attribute("role") == "figure"
    # What is folded has not drawn its tables yet.
    frames = page.get_by_test_id("stDataFrame").filter(visible=True)
    named = page.get_by_role("region").filter(has=page.locator("canvas"))
    expect(named).to_have_count(frames.count())
    assert all(region.get_attribute("aria-label") for region in named.all())


@pytest.mark.parametrize(
    "path",
    common_first(["", "reliability", "compare", "slices", "decisions", "functions"], ["compare"]),
)
def test_the_keyboard_reaches_every_control(page: Page, path):
    visit(page, f"/{path}")
    wanted = controls(page)
    assert wanted
    reached: set[str] = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        reached |= set(page.evaluate(FOCUSED))
        if wanted <= reached:
            break
    assert not wanted - reached


# Keys of what holds the focus, and of what can be operated and is not switched off.
FOCUSED = """
() => {
    const found = [];
    for (let at = document.activeElement; at; at = at.parentElement)
        found.push(...[...at.classList].filter(name => name.startsWith("st-key-")));
    return found;
}
"""
OPERABLE = """
() => [...document.querySelectorAll(
    "input:not([disabled]), button:not([disabled]), [role=slider]:not([disabled]), a[href]"
)].map(control => control.closest(".stElementContainer[class*=st-key-]"))
    .filter(place => place && place.checkVisibility() && !place.querySelector(".js-plotly-plot"))
    .flatMap(place => [...place.classList].filter(name => name.startsWith("st-key-")))
"""


def controls(page: Page) -> set[str]:
    return set(page.evaluate(OPERABLE))
