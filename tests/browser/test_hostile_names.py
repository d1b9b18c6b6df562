"""Names of the data in a real browser, on every page: nothing is loaded, linked, run or redrawn.

The `page` fixture fails on any request to another machine.
"""

import csv
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from calib.text import shortened
from tests.browser.actions import choose, go, press, save, show_details, shown, upload, write
from tests.browser.harness import by_key, settle, visit
from tests.pages import test_hostile
from tests.pages.test_hostile import DATA, trap

PAGES = (
    "Data",
    "Overview",
    "Reliability",
    "Calibrators",
    "Slices",
    "Decisions",
    "Reports",
)
# Streamlit finds these in text whose Markdown has been escaped.
LIVE = "www.x.test me@x.test :material/home: :smile: a -> b"
IMAGE = "<img src=x onerror=window.hacked=1>"
SCRIPT = "</script><script>window.hacked=1</script>"
MARKDOWN = "![](http://x.invalid/a.png)"
FORMULA = "=cmd|' /C calc'!A1"
HOSTILE = f"{FORMULA} {IMAGE} {SCRIPT} {MARKDOWN}"
# Elements that a name made: all of the project's own lead to this machine or to a paper.
MADE = """
() => [...document.querySelectorAll("img, a, image, iframe, script, link")]
    .map(element => String(element.src || element.href?.baseVal || element.href || ""))
    .filter(url => /x\\.test|\\.test\\b|^mailto:/.test(url) && !url.startsWith(location.origin))
"""


@pytest.mark.parametrize("kind", DATA)
def test_names_of_data_make_nothing_on_any_page(page: Page, tmp_path: Path, kind: str):
    path = tmp_path / f"{trap('file').replace('/', '-')} {LIVE.replace('/', '-')}.csv"
    path.write_bytes(test_hostile.csv(DATA[kind]().replace(trap("left"), f"{trap('left')} {LIVE}")))
    visit(page, "/data")
    upload(page, path)
    if kind != "matrix":
        # No name says which column is the outcome.
        assert page.evaluate(MADE) == []
        by_key(page, "question_repair_which-outcome").get_by_role("button").first.click()
        settle(page)
    titles = by_key(page, "navigation").get_by_role("link").all_inner_texts()
    for title in (title for title in PAGES if title in (*titles, "Data")):
        go(page, title)
        assert page.evaluate(MADE) == [], title
        body = shown(page.get_by_test_id("stApp"))
        # The header has the start of a long name.
        assert shortened(path.stem).rstrip("…") in body, title
        if kind == "models" and title != "Data":
            chosen = by_key(page, "model").get_by_role("combobox").input_value()
            assert trap("first") in chosen, title
    if kind == "binary":
        go(page, "Slices")
        assert f"{trap('left')} {LIVE}" in shown(page.get_by_test_id("stMain"))


@pytest.fixture
def hostile_file(tmp_path: Path) -> Path:
    """Names of file, columns, classes and slices that would run if anything let them."""
    rng = np.random.default_rng(0)
    p = rng.random(400)
    path = tmp_path / "x<img src=x onerror=window.hacked=1>.csv"
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([f"{FORMULA} outcome", f"{IMAGE} score", SCRIPT, MARKDOWN])
    for hit, score in zip(rng.random(400) < p, p, strict=True):
        where = FORMULA if round(1e6 * score) % 2 else IMAGE
        writer.writerow([int(hit), f"{score:.6f}", where, MARKDOWN if hit else "@SUM(1)"])
    path.write_text(text.getvalue())
    return path


def taken(page: Page, method: str) -> bytes:
    with page.expect_download() as download:
        by_key(page, f"download_{method}").get_by_role("button").click()
    return Path(download.value.path()).read_bytes()


def unharmed(page: Page) -> None:
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("img[src*='x.invalid']").count() == 0


def test_hostile_names_stay_text_on_the_page_and_in_every_file(
    page: Page, other: Page, browser: Browser, hostile_file: Path, tmp_path: Path
):
    visit(page, "/data")
    upload(page, hostile_file)
    for key, column in (("map_outcome", "outcome"), ("map_score", "score")):
        choose(page, key, column)
    expect(by_key(page, "checklist")).to_contain_text(f"Slices: {SCRIPT} and {MARKDOWN}")
    by_key(page, "navigation").get_by_role("link", name="Reports", exact=True).click()
    settle(page)
    if by_key(page, "new_report").count():
        press(page, "new_report")
    show_details(page)
    for key in ("author", "note"):
        write(page, key, HOSTILE)
    address = save(page, HOSTILE, f"{IMAGE},{MARKDOWN},:red[tag]")
    unharmed(page)

    visit(page, "/reports")
    expect(by_key(page, "saved_reports")).to_contain_text(IMAGE)
    unharmed(page)
    visit(other, address)
    assert shown(other.get_by_role("heading", level=2).first) == HOSTILE
    unharmed(other)
    page_html, markdown = taken(other, "html"), taken(other, "markdown").decode()
    tables, report = taken(other, "tables"), taken(other, "json")

    (tmp_path / "report.html").write_bytes(page_html)
    with stranger_offline(browser, tmp_path / "report.html") as offline:
        expect(offline.get_by_role("heading", level=1)).to_have_text(HOSTILE)
        unharmed(offline)
    # But for lines of code, which are indented and stay as they are.
    assert not [line for line in markdown.splitlines() if MARKDOWN in line and line[:4].strip()]
    with zipfile.ZipFile(io.BytesIO(tables)) as packed:
        for name in packed.namelist():
            for row in csv.reader(io.StringIO(packed.read(name).decode(), newline="")):
                assert not [cell for cell in row if cell.startswith(("=", "@", "+"))], name

    (tmp_path / "report.json").write_bytes(report)
    visit(page, "/reports")
    page.locator("[class*=st-key-report_file] input[type=file]").set_input_files(
        tmp_path / "report.json"
    )
    settle(page)
    settle(page)
    assert shown(page.get_by_role("heading", level=2).first) == HOSTILE
    unharmed(page)


@contextmanager
def stranger_offline(browser: Browser, file: Path) -> Iterator[Page]:
    context = browser.new_context(offline=True)
    problems: list[str] = []
    context.on("weberror", lambda event: problems.append(str(event.error)))
    context.on("console", lambda message: problems.append(message.text))
    context.on("request", lambda request: problems.append(request.url))
    page = context.new_page()
    page.goto(file.as_uri())
    page.locator("svg.plot").first.wait_for()
    yield page
    context.close()
    assert not [text for text in problems if not text.startswith(("file:", "data:"))], problems
