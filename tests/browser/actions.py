"""What a person does on many pages: go to one, bring a file, move a slider by keyboard."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Locator, Page

from calib.text import JOINER
from tests.browser.harness import by_key, open_static, settle


def go(page: Page, label: str) -> None:
    """Follow the navigation to a page."""
    if label == "Data":
        open_menu(page, "data_chip")
        page.get_by_role("link", name="Columns and test rows").click()
    else:
        by_key(page, "navigation").get_by_role("link", name=label, exact=True).click()
    settle(page)


def open_menu(page: Page, key: str) -> None:
    """Open a menu of the header: data_chip, settings or share."""
    by_key(page, key).get_by_role("button").click()
    settle(page)


def upload(page: Page, *files: Path, key: str = "data_file") -> None:
    """Drop files on the page of the data."""
    with page.expect_response(lambda answer: "/upload_file/" in answer.url):
        by_key(page, key).locator("input[type=file]").set_input_files(files)
    settle(page)


def write(page: Page, key: str, text: str) -> None:
    """Type a text into a field, and leave it as the field is left by keyboard."""
    box = by_key(page, key).get_by_role("textbox")
    box.fill(text)
    box.press("ControlOrMeta+Enter" if key == "note" else "Enter")
    settle(page)


def press(page: Page, key: str) -> None:
    """Press a button."""
    by_key(page, key).get_by_role("button").click()
    settle(page)


def press_slider(page: Page, key: str, keys: str) -> None:
    """Move a slider by keyboard."""
    open_static(page)
    slider = by_key(page, key).get_by_role("slider")
    slider.focus()
    slider.press(keys)
    settle(page)


def choose(page: Page, key: str, option: str) -> None:
    """Choose the first option that has this text."""
    box = by_key(page, key).get_by_role("combobox")
    box.click()
    box.fill(option)
    page.get_by_role("option").filter(has_text=option).first.click()
    settle(page)


def fill(page: Page, key: str, value: str) -> None:
    """Type a number into a field."""
    box = by_key(page, key).get_by_role("spinbutton")
    box.fill(value)
    box.press("Enter")
    settle(page)


def saved(page: Page, button: Locator, folder: Path) -> Path:
    """The file that a button downloads, under the name that it suggests."""
    with page.expect_download() as download:
        button.click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def show_details(page: Page) -> None:
    """Open the part of a report's form that has all but title and note."""
    details = by_key(page, "report_details").locator("details")
    if details.get_attribute("open") is None:
        details.locator("summary").click()
        settle(page)


def save(page: Page, title: str, tags: str = "") -> str:
    """Save a report of what is shown; returns its address."""
    write(page, "title", title)
    if tags:
        show_details(page)
        write(page, "tags", tags)
    press(page, "save")
    return by_key(page, "report_link").get_by_test_id("stCode").inner_text().strip()


def address(page: Page) -> dict[str, str]:
    """The settings in the address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def shown(found: Locator) -> str:
    """What a person reads there: without the invisible characters that keep names from acting."""
    return found.inner_text().replace(JOINER, "")
