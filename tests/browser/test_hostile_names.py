"""Names of the data in a real browser, on every page: nothing is loaded, linked, run or redrawn.

The `page` fixture fails on any request to another machine.
"""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from calib.text import shortened
from tests.browser.actions import go, shown, upload
from tests.browser.harness import by_key, settle, visit
from tests.pages.test_hostile import DATA, csv, trap
from tests.rare import rare

PAGES = (
    "Data",
    "Overview",
    "Reliability",
    "Cumulative",
    "Functions",
    "Compare",
    "Classes",
    "Slices",
    "Decisions",
    "Reports",
)
# Streamlit finds these in text whose Markdown has been escaped.
LIVE = "www.x.test me@x.test :material/home: :smile: a -> b"
# Elements that a name made: all of the project's own lead to this machine or to a paper.
MADE = """
() => [...document.querySelectorAll("img, a, image, iframe, script, link")]
    .map(element => String(element.src || element.href?.baseVal || element.href || ""))
    .filter(url => /x\\.test|\\.test\\b|^mailto:/.test(url) && !url.startsWith(location.origin))
"""


@rare
@pytest.mark.parametrize("kind", DATA)
def test_names_of_data_make_nothing_on_any_page(page: Page, tmp_path: Path, kind: str):
    path = tmp_path / f"{trap('file').replace('/', '-')} {LIVE.replace('/', '-')}.csv"
    path.write_bytes(csv(DATA[kind]().replace(trap("left"), f"{trap('left')} {LIVE}")))
    visit(page, "/data")
    upload(page, path)
    if kind != "matrix":
        # No name says which label is positive.
        assert page.evaluate(MADE) == []
        by_key(page, "choose_0").get_by_role("button").click()
        settle(page)
    titles = by_key(page, "navigation").get_by_role("link").all_inner_texts()
    for title in (title for title in PAGES if title in (*titles, "Data")):
        go(page, title)
        assert page.evaluate(MADE) == [], title
        body = shown(page.get_by_test_id("stApp"))
        # The header has the start of a long name.
        assert shortened(path.stem).rstrip("…") in body, title
        if kind == "models" and title != "Data":
            assert trap("first") in shown(by_key(page, "models")), title
    if kind == "binary":
        go(page, "Slices")
        assert f"{trap('left')} {LIVE}" in shown(page.get_by_test_id("stMain"))
