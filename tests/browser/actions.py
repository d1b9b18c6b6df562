"""What a person does on many pages: go to one, bring a file, move a slider by keyboard."""

from pathlib import Path

from playwright.sync_api import Locator, Page

from calib.text import JOINER
from calib.ui.layout.navigation import LEARN
from calib.ui.session.page_list import GROUPS
from tests.browser.harness import by_key, open_static, settle


def go(page: Page, label: str) -> None:
    """Follow the navigation to a page."""
    if label == "Data":
        open_menu(page, "data_chip")
        page.get_by_role("link", name="Columns, test rows and databases").click()
    elif label in GROUPS[LEARN]:
        by_key(page, "navigation").get_by_role("button").click()
        by_key(page, "learn").get_by_role("link", name=label, exact=True).click()
    else:
        by_key(page, "navigation").get_by_role("link", name=label, exact=True).click()
    settle(page)


def open_menu(page: Page, key: str) -> None:
    """Open a menu of the header: data_chip, settings or share."""
    by_key(page, key).get_by_role("button").click()
    settle(page)


def upload(page: Page, *files: Path, key: str = "data_file") -> None:
    """Drop files on the Data page."""
    page.locator(f".st-key-{key} input[type=file]").set_input_files(files)
    # The page runs once to read the file and once more to show it.
    settle(page)
    settle(page)


def press_slider(page: Page, key: str, keys: str) -> None:
    """Move a slider by keyboard."""
    open_static(page)
    slider = by_key(page, key).get_by_role("slider")
    slider.focus()
    slider.press(keys)
    settle(page)


def shown(found: Locator) -> str:
    """What a person reads there: without the invisible characters that keep names from acting."""
    return found.inner_text().replace(JOINER, "")
