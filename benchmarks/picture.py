"""The pictures of README.md and of the tutorials: python -m benchmarks.picture.

Some only: python -m benchmarks.picture overview watch
"""

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from calib.figures.certified_error import certified_error_chart
from calib.figures.svg import to_file
from tests import documents
from tests.browser import chromium, harness

DOCS = Path(__file__).parents[1] / "docs"
WINDOW = {"width": 1440, "height": 900}
# The pages of the dashboard that tutorials show, by tutorial.
ADDRESSES = {
    "read": "/?ex=churn",
    "choose": "/calibrators",
    "ship": "/",
    "watch": "/monitor?ex=churn",
}


def photograph(page: Page, name: str) -> None:
    """Photograph what a tutorial shows of a page of the dashboard."""
    harness.visit(page, ADDRESSES[name])
    if name == "ship":
        harness.by_key(page, "use").get_by_role("button").click()
        page.get_by_role("dialog").get_by_text("Verified").wait_for()
        harness.settle(page)
    page.screenshot(path=DOCS / f"tutorial-{name}.png")


def overview(browser: Browser, url: str) -> None:
    """Photograph the example that the dashboard opens with, in light and dark."""
    for scheme in ("light", "dark"):
        with browser.new_context(base_url=url, viewport=WINDOW, color_scheme=scheme) as context:
            page = context.new_page()
            harness.visit(page)
            page.screenshot(path=DOCS / f"overview-{scheme}.png")


def run(name: str) -> dict[str, Any]:
    """Run a tutorial in the current folder; its names."""
    with contextlib.redirect_stdout(None):
        return documents.run((DOCS / f"tutorial-{name}.md").read_text("utf-8"), lambda: "")[1]


def main(names: list[str]) -> None:
    """Make the named pictures; all of them if none is named."""
    executable = chromium.find() or sys.exit(chromium.MISSING)
    wanted = names or ["overview", "decide", "report", *ADDRESSES]
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        sync_playwright() as playwright,
    ):
        os.environ["CALIB_HOME"] = folder
        browser = harness.launch(playwright, executable)
        if "decide" in wanted:
            chart = certified_error_chart(run("decide")["certificate"])
            (DOCS / "tutorial-decide.svg").write_text(to_file(chart), encoding="utf-8")
        if "report" in wanted:
            run("report")
            page = browser.new_page(viewport=WINDOW)
            page.goto(Path("may.html").absolute().as_uri())
            page.screenshot(path=DOCS / "tutorial-report.png")
        with harness.serve(Path(folder) / "streamlit.log") as url:
            if "overview" in wanted:
                overview(browser, url)
            for name in ADDRESSES.keys() & wanted:
                with browser.new_context(base_url=url, viewport=WINDOW) as context:
                    photograph(context.new_page(), name)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
