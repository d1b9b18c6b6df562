"""The pictures of README.md, Overview in light and dark: python -m benchmarks.picture."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser import chromium, harness

DOCS = Path(__file__).parents[1] / "docs"
WINDOW = {"width": 1440, "height": 900}


def main() -> None:
    """Photograph the first screen of the example that the dashboard opens with."""
    executable = chromium.find() or sys.exit(chromium.MISSING)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = harness.launch(playwright, executable)
        with harness.serve(Path(folder) / "streamlit.log") as url:
            for scheme in ("light", "dark"):
                context = browser.new_context(base_url=url, viewport=WINDOW, color_scheme=scheme)
                page = context.new_page()
                harness.visit(page, "/")
                page.screenshot(path=DOCS / f"overview-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main()
