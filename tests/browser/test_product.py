"""The dashboard as a whole: its first ten seconds, its links, and comfort for eyes and hands."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from calib.ui.session.choices import CHOICES, LINK_NAMES
from calib.ui.session.page_list import PAGES
from tests.browser.actions import address, go, open_menu
from tests.browser.harness import by_key, open_static, settle, visit
from tests.choices import ANY_CHANGE

LABELS = [label for label in PAGES if label != "Data"]
PATHS = ["", *(page.removeprefix("pages/").removesuffix(".py") for page in PAGES.values())]
PATHS = [path for path in PATHS if path != "app"]
# Values of settings for the data that are shown first, if a declaration does not give one.
OF_THESE_DATA = {
    "view": "class:0",
    "m": "uncalibrated.platt.spline",
    "bins": "12",
    "eps": "0.01",
    "folds": "4",
    "seed": "3",
    "band": "simultaneous",
    "show": "uncalibrated.platt",
    "over": "platt",
    "of": "platt",
    "at": "0.7",
    "after": "platt",
    "slice": "half",
    "cross": "side",
    "pick": "0.1",
    "apart": "1",
    "time": "ink",
    "fp": "2",
    "fn": "5",
    "from": "0.2",
    "to": "0.8",
    "hide": "intervals",
    "cols": "log_loss.auc",
    "num": "0.174",
    "monitor": "churn",
    "watched": "lower",
}
# Auto overrides the number of bins, a capacity the costs; periods need dates; a model and classes
# need data of several.
NOT_AT_ONCE = {"metric", "range", "auto", "cap", "unit", "model", "cls", "kind"}
# One value of every setting that is not its default.
EVERYTHING = {
    choice.link: choice.values.write(ANY_CHANGE[key])
    for key, choice in CHOICES.items()
    if key in ANY_CHANGE and choice.link not in NOT_AT_ONCE
} | OF_THESE_DATA
# Choosing a range of scores resets the bin.
WITH_RANGE = {**EVERYTHING, "range": "0.25~0.5"}
del WITH_RANGE["at"]


def link(named: dict[str, str]) -> str:
    return "&".join(f"{name}={value}" for name, value in named.items())


def test_back_undoes_page_changes_and_no_other_step(page: Page):
    before = page.url
    visit(page, "/learn")
    go(page, "Reliability")
    for n_bins in (16, 17):
        by_key(page, "explorer").get_by_role("slider").press("ArrowRight")
        page.wait_for_url(f"**bins={n_bins}")
        settle(page)
    go(page, "Data")
    back, forward = page.go_back, page.go_forward
    for step, name in ((back, "reliability"), (back, "learn"), (forward, "reliability")):
        step()
        settle(page)
        assert urlsplit(page.url).path == f"/{name}"
        assert address(page) == {"v": "1", "bins": "17"}
    back()
    settle(page)
    back()
    assert page.url == before


def test_links_of_the_navigation_open_in_new_tabs(page: Page):
    visit(page, "/?bins=20")
    link = by_key(page, "navigation").get_by_role("link", name="Calibrators", exact=True)
    link.hover()
    assert link.get_attribute("href") == "calibrators?v=1&bins=20"


@pytest.mark.parametrize(
    ("named", "labels"),
    [(EVERYTHING, LABELS), (WITH_RANGE, ["Calibrators", "Reliability"])],
    ids=["bin", "range"],
)
def test_a_link_with_every_setting_and_the_navigation_stay_on_every_page(page: Page, named, labels):
    assert set(LINK_NAMES) == EVERYTHING.keys() | NOT_AT_ONCE
    visit(page, f"/reliability?v=1&{link(named)}")
    assert address(page) == {"v": "1", **named}
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    places = set()
    for label in labels:
        go(page, label)
        assert address(page) == {"v": "1", **named}, label
        box = by_key(page, "navigation").bounding_box()
        places.add((box["x"], box["y"], box["width"]))
    assert len(places) == 1


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"bins": "1600"}, "1600"),
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


def test_each_chip_resets_its_setting_and_one_resets_all(page: Page):
    visit(page, "/reliability?v=1&bins=20&level=0.9&axis=logit")
    open_menu(page, "settings")
    chips = by_key(page, "changed").get_by_role("button")
    assert [chip.rstrip(" ✕") for chip in chips.all_inner_texts()] == [
        "20 bins",
        "90% intervals",
        "Log-odds axes",
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


def test_a_menu_shows_the_values_that_hold_and_not_the_first_options(page: Page):
    visit(page, "/?v=1&level=0.9")
    go(page, "Calibrators")
    open_menu(page, "settings")
    expect(by_key(page, "n_folds").get_by_role("slider")).to_have_value("5")
    expect(by_key(page, "confidence_level").get_by_role("combobox")).to_have_value("90%")
    expect(by_key(page, "methods").get_by_text("Beta", exact=True)).to_be_visible()


def test_folds_and_seed_can_be_changed_where_their_effect_is_said(page: Page):
    visit(page, "/calibrators")
    open_menu(page, "settings")
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
    page.keyboard.press("Escape")
    # The page says how its metrics are held out.
    expect(page.get_by_text("Metrics use 4-fold cross-fitting")).to_be_visible()
