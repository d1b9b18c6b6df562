"""No page and no report breaks a rule of axe, in either theme; Streamlit's own breaks are named."""

from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, Page

import calib
from tests.browser.harness import settle, visit
from tests.rare import common_first, rare

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
RUN = "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
# Streamlit breaks these rules in these parts of elements: its drop zone has a role and a name, and
# the label of a disabled one is grey.
STREAMLIT = (
    ("presentation-role-conflict", "stFileUploaderDropzone"),
    ("color-contrast", "Test rows, if they are in a second file"),
)


def violations(page: Page) -> list[str]:
    """Broken rules, each with its element."""
    page.evaluate(AXE)
    found: list[dict[str, Any]] = page.evaluate(RUN)
    return [
        f"{rule['id']}: {node['html'][:200]} ({node['failureSummary']})"
        for rule in found
        for node in rule["nodes"]
        if not any(rule["id"] == known and part in node["html"] for known, part in STREAMLIT)
    ]


@rare
def test_the_dialog_breaks_no_rule(page: Page):
    visit(page, "/")
    page.get_by_role("button", name="Get this calibrator").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Verified:").wait_for()
    dialog.locator("pre").wait_for()  # The code is drawn last.
    settle(page)
    assert violations(page) == []


@pytest.mark.parametrize("theme", common_first(["light", "dark"], ["light"]))
def test_the_report_breaks_no_rule(browser: Browser, tmp_path: Path, theme: str):
    analysis = calib.analyze(calib.examples.EXAMPLES["naive_bayes"].load())
    calib.report(analysis).save(tmp_path / "report.html")
    context = browser.new_context(offline=True, color_scheme=theme)
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    found = violations(page)
    context.close()
    assert found == []
