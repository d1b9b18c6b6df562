"""Photograph every page in light and dark at four widths, into screenshots/.

Some pages only: python -m tests.browser.screenshots data reliability
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium, harness

FOLDER = harness.ROOT / "screenshots"
WIDTHS = (390, 1024, 1440, 2560)
SCHEMES = ("light", "dark")


# The first example has no matrix of scores, several models, choices or notices.
MORE = {
    "compare-matrix": "/calibrators?ex=digits",
    "slices-matrix": "/slices?ex=digits",
    "reliability-models": "/reliability?ex=rounds",
    "compare-models": "/calibrators?ex=rounds",
    "reliability-lines": "/reliability?line=corp.smooth&axis=logit&show=uncalibrated.beta&at=0.7",
    "slices-time": "/slices?slice=half&cross=side&ranges=3&time=ink&level=0.9",
    "refused": "/reliability?bins=9999&level=7&colour=red",
    "monitor-alarm": "/monitor?ex=churn&watched=prepaid",
    "few-rows": "/calibrators?ex=ten_labels",
}


def addresses() -> dict[str, str]:
    """Address of every photograph, by name: Overview's is /, the others' their files' names."""
    names = sorted(path.stem for path in (harness.ROOT / "pages").glob("*.py"))
    return {"overview": "/", **{name: f"/{name}" for name in names}, **MORE}


def full_height(page: Page) -> int:
    """Streamlit scrolls inside its main section, so the window must grow to show all of it."""
    return page.locator("[data-testid=stMain]").evaluate("main => main.scrollHeight")


def photograph(browser: Browser, url: str, name: str, address: str) -> None:
    for scheme in SCHEMES:
        for width in WIDTHS:
            size = {"width": width, "height": 900}
            with browser.new_context(base_url=url, viewport=size, color_scheme=scheme) as context:
                page = context.new_page()
                harness.visit(page, address)
                page.set_viewport_size(size | {"height": max(900, full_height(page))})
                harness.settle(page)
                path = FOLDER / f"{name}-{scheme}-{width}.png"
                page.screenshot(path=path)
                print(path.relative_to(harness.ROOT))


def main(names: list[str]) -> None:
    executable = chromium.find() or sys.exit(chromium.MISSING)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = harness.launch(playwright, executable)
        with harness.serve(Path(folder) / "streamlit.log") as url:
            for name, address in addresses().items():
                if not names or name in names:
                    photograph(browser, url, name, address)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
