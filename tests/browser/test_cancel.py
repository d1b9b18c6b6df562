"""What takes long can be cancelled, and whoever waits sees the place in line."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import by_key, settle, visit
from tests.loading.bombs import BOMBS, shared_views

# Seconds of a reader's time.
SLOW = BOMBS["Arrow: 100,000 views of one word"]


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slow") / "slow.arrow"
    path.write_bytes(SLOW())
    return path


def drop(page: Page, path: Path) -> None:
    by_key(page, "data_file").locator("input[type=file]").set_input_files(path)


def test_a_reading_is_cancelled_and_another_file_is_read(
    page: Page, slow: Path, tmp_path: Path
) -> None:
    visit(page, "/data")
    drop(page, slow)
    by_key(page, "cancel_reading").get_by_role("button").click(timeout=20_000)
    settle(page)
    assert page.get_by_text("Not read").count() == 0
    expect(page.get_by_text("slow.arrow")).to_have_count(0)
    path = tmp_path / "mine.csv"
    path.write_text("outcome,score\n" + "1,0.9\n0,0.2\n" * 60)
    drop(page, path)
    expect(page.get_by_text("File: mine")).to_be_visible(timeout=20_000)


def test_who_leaves_the_reading_of_another_does_not_cancel_it(page: Page, slow: Path) -> None:
    second = page.context.new_page()
    for tab in (page, second):
        visit(tab, "/data")
    for tab in (page, second):
        drop(tab, slow)
    by_key(second, "cancel_reading").get_by_role("button").click(timeout=20_000)
    settle(second)
    expect(page.get_by_text("Not read: The words of the Arrow file")).to_be_visible(timeout=60_000)
    assert second.get_by_text("Not read").count() == 0


def test_the_third_who_comes_sees_the_place_in_line(page: Page, slow: Path, tmp_path: Path) -> None:
    # Half a minute keeps the first two sessions busy. The same file would be read once.
    endless = [tmp_path / "endless.arrow", tmp_path / "another.arrow"]
    for number, path in enumerate(endless):
        path.write_bytes(shared_views(1_000_000 + number))
    tabs = [page, *(page.context.new_page() for _ in range(2))]
    for tab in tabs:
        visit(tab, "/data")
    for tab, path in zip(tabs, endless, strict=False):
        drop(tab, path)
        # Small files arrive sooner than large ones, and who arrives first is served first.
        expect(by_key(tab, "cancel_reading")).to_be_visible(timeout=20_000)
    drop(tabs[2], slow)
    waiting = tabs[2].get_by_text("The server is busy with 2 other requests. Yours is next.")
    expect(waiting).to_be_visible(timeout=20_000)
    for tab in tabs[:2]:
        by_key(tab, "cancel_reading").get_by_role("button").click()
    expect(tabs[2].get_by_text("Not read: The words of the Arrow file")).to_be_visible(
        timeout=120_000
    )
