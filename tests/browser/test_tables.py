"""Tables in a real browser: what can be copied and saved."""

import csv
from pathlib import Path

from playwright.sync_api import Page, expect

import calib
from calib.calibrators import CALIBRATORS
from tests.browser.harness import settle, visit


def test_a_table_is_copied_and_saved_with_exact_numbers(page: Page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(page, "/compare?m=uncalibrated.platt")
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").first.click()
    assert saved.value.suggested_filename == "metrics.csv"
    lines = list(csv.reader(Path(saved.value.path()).read_text("utf-8-sig").splitlines()))
    rows = calib.examples.EXAMPLES["naive_bayes"].load()
    table = calib.analyze(rows, {"methods": ("uncalibrated", "platt")}).table()
    by_method = {line[0]: dict(zip(lines[0], line, strict=True)) for line in lines[1:]}
    for key, row in table.iterrows():
        assert float(by_method[CALIBRATORS[key].label]["log_loss"]) == row["log_loss"], key
    page.get_by_role("button", name="Copy").first.click()
    pasted = page.evaluate("() => navigator.clipboard.readText()")
    assert [line.split("\t") for line in pasted.split("\n")] == lines


def test_a_row_opens_the_dialog_with_its_calibrator(page: Page):
    visit(page, "/compare?m=uncalibrated.platt.beta")
    page.get_by_role("button", name="Get code of Platt scaling").focus()
    page.keyboard.press("Enter")
    settle(page)
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("combobox", name="Calibrator")).to_have_value(
        "Platt scaling (on scores)"
    )
    expect(dialog).to_contain_text("naive_bayes-platt.sql")
