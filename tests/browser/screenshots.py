"""Photograph every page in light and dark at three widths, into screenshots/.

Some pages only: python -m tests.browser.screenshots data reliability
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium, harness

FOLDER = harness.ROOT / "screenshots"
WIDTHS = (380, 1280, 1920)
SCHEMES = ("light", "dark")


def page_names() -> list[str]:
    """Overview is "", the others are named as their files in pages/."""
    return ["", *sorted(path.stem for path in (harness.ROOT / "pages").glob("*.py"))]


def full_height(page: Page) -> int:
    """Streamlit scrolls inside its main section, so the window must grow to show all of it."""
    return page.locator("[data-testid=stMain]").evaluate("main => main.scrollHeight")


def photograph(browser: Browser, url: str, name: str) -> None:
    for scheme in SCHEMES:
        for width in WIDTHS:
            size = {"width": width, "height": 900}
            with browser.new_context(base_url=url, viewport=size, color_scheme=scheme) as context:
                page = context.new_page()
                harness.visit(page, f"/{name}")
                page.set_viewport_size(size | {"height": max(900, full_height(page))})
                harness.settle(page)
                path = FOLDER / f"{name or 'overview'}-{scheme}-{width}.png"
                page.screenshot(path=path)
                print(path.relative_to(harness.ROOT))


def main(names: list[str]) -> None:
    executable = chromium.find() or sys.exit(chromium.MISSING)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = harness.launch(playwright, executable)
        with harness.serve(Path(folder) / "streamlit.log") as url:
            for name in names or page_names():
                photograph(browser, url, name)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
