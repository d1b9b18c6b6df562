"""The page Judge in a real browser: a person's tables, the columns, the rows to label next."""

import csv

import numpy as np
import pandas as pd
from playwright.sync_api import Page, expect

import calib
from calib.analysis.judge import judge_rows
from calib.loading.judged_rows import judged_example
from tests.browser.actions import upload
from tests.browser.harness import by_key, visit


def tables(folder):
    rng = np.random.default_rng(4)
    passed = rng.random(1000) < 0.7
    judged = pd.DataFrame({"id": np.arange(1000)})
    judged["judge_score"] = np.where(passed, rng.beta(6, 2, 1000), rng.beta(3, 3, 1000)).round(3)
    judged["second_judge"] = rng.random(1000).round(3)
    judged["explanation"] = "It follows the policy."
    gold = pd.DataFrame({"id": judged["id"], "label": np.where(passed, "pass", "fail")})[::10]
    paths = folder / "judged.csv", folder / "gold.csv"
    judged.to_csv(paths[0], index=False)
    gold.to_csv(paths[1], index=False)
    return paths


def finding(page: Page):
    return page.locator(".answer h2")


def test_a_judge_is_checked_with_two_files_and_rows_to_label_next_are_saved(page, tmp_path):
    visit(page, "/automate?about=judge")
    expect(finding(page)).to_have_text(judge_rows(judged_example()).headline)
    judged, gold = tables(tmp_path)
    upload(page, judged, key="data_file_judged")
    expect(page.get_by_text("No column looks like gold labels")).to_be_visible()
    upload(page, gold, key="data_file_gold")
    result = calib.judge(judged, gold)
    expect(finding(page)).to_have_text(result.headline)
    expect(page.locator(".answer dd").nth(2)).to_contain_text(str(result.labels_saved))
    with page.expect_download() as saved:
        by_key(page, "judge_next").get_by_role("button").click()
    saved.value.save_as(tmp_path / "next.csv")
    with (tmp_path / "next.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["id"] for line in lines] == [str(one) for one in result.next_rows(50)["id"]]
    assert list(lines[0]) == ["row", "id", "gold"]
