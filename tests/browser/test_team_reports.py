"""Reports of a team in a real browser: saved, found, opened by a link, compared, deleted; hostile
names stay text wherever they go."""

import csv
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.actions import shown
from tests.browser.harness import by_key, settle, traces, visit
from tests.rare import rare

IMAGE = "<img src=x onerror=window.hacked=1>"
SCRIPT = "</script><script>window.hacked=1</script>"
MARKDOWN = "![](http://x.invalid/a.png)"
FORMULA = "=cmd|' /C calc'!A1"
HOSTILE = f"{FORMULA} {IMAGE} {SCRIPT} {MARKDOWN}"


def write(page: Page, key: str, text: str) -> None:
    box = by_key(page, key).get_by_role("textbox")
    box.fill(text)
    box.press("ControlOrMeta+Enter" if key == "note" else "Enter")
    settle(page)


def press(page: Page, key: str) -> None:
    by_key(page, key).get_by_role("button").click()
    settle(page)


def show_details(page: Page) -> None:
    """Open the part of the form that has all but title and note."""
    details = by_key(page, "report_details").locator("details")
    if details.get_attribute("open") is None:
        details.locator("summary").click()
        settle(page)


def save(page: Page, title: str, tags: str = "") -> str:
    """Save what is shown; returns the address of the report."""
    write(page, "title", title)
    if tags:
        show_details(page)
        write(page, "tags", tags)
    press(page, "save")
    address = by_key(page, "report_link").get_by_test_id("stCode").inner_text().strip()
    assert "/reports?report=" in address
    return address


def choose(page: Page, key: str, option: str) -> None:
    box = by_key(page, key).get_by_role("combobox")
    box.click()
    page.get_by_role("option").filter(has_text=option).first.click()
    settle(page)


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


@rare
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


@rare
def test_two_reports_are_compared_at_an_address_of_their_own(page: Page, other: Page):
    visit(page, "/reports?ex=logistic&new=report")
    save(page, "Tumours, first")
    visit(page, "/reports?ex=logistic&bins=8&new=report")
    address = save(page, "Tumours, eight bins")
    visit(page, address)
    press(page, "compare_with")
    choose(page, "against", "Tumours, first")
    expect(page.get_by_role("heading", name="Tumours, first against")).to_be_visible()
    expect(page.get_by_text("these intervals are too wide")).to_be_visible()
    expect(page.get_by_text("n_bins differs: 15 and 8")).to_be_visible()
    drawn = [len(t["x"]) for t in traces(page, "chart_report_1_1")]
    assert {15, 8} <= set(drawn)
    visit(other, page.url)
    expect(other.get_by_role("heading", name="Tumours, first against")).to_be_visible()


@rare
def test_the_link_is_copied(page: Page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(page, "/reports?new=report")
    address = save(page, "To be copied")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == address


@rare
def test_deleting_asks_and_the_address_says_so(page: Page):
    visit(page, "/reports?new=report")
    address = save(page, "To be deleted")
    page.get_by_role("link", name="To be deleted").click()
    settle(page)
    press(page, "delete")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("To be deleted will be deleted for everyone")
    dialog.get_by_label("Close").click()
    settle(page)
    expect(page.get_by_role("heading", name="To be deleted")).to_be_visible()

    press(page, "delete")
    press(page, "delete_confirmed")
    expect(page.get_by_text("Deleted: To be deleted.")).to_be_visible()
    visit(page, address)
    expect(page.get_by_test_id("stAlert").first).to_contain_text("by the session that saved it")


@rare
def test_a_mistyped_address_is_a_sentence(page: Page):
    visit(page, f"/reports?report={IMAGE}")
    expect(page.get_by_test_id("stAlert").first).to_contain_text("There is no saved report")
    assert page.evaluate("window.hacked") is None
    page.get_by_role("link", name="All reports").click()
    settle(page)
    expect(page.get_by_role("heading", name="saved report")).to_be_visible()


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
        where = FORMULA if score > 0.5 else IMAGE
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


@rare
def test_hostile_names_stay_text_on_the_page_and_in_every_file(
    page: Page, other: Page, browser: Browser, hostile_file: Path, tmp_path: Path
):
    visit(page, "/data")
    page.locator(".st-key-data_file input[type=file]").set_input_files(hostile_file)
    settle(page)
    settle(page)
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
