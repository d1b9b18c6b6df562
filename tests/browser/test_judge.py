"""The page Judge in a real browser: a person's tables, the columns, the rows to label next."""

import csv

import numpy as np
import pandas as pd
from playwright.sync_api import Page, expect

import calib
from calib.analysis.judge import judge_rows
from calib.loading.judged_example import judged_example
from tests.browser.actions import go, upload
from tests.browser.harness import by_key, settle, visit
from tests.rare import rare


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


@rare
def test_a_judge_is_checked_with_two_files_and_rows_to_label_next_are_saved(page, tmp_path):
    visit(page, "/judge")
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


@rare
def test_two_judges_are_compared_and_the_tables_stay_on_other_pages(page, tmp_path):
    visit(page, "/judge")
    judged, gold = tables(tmp_path)
    upload(page, judged, key="data_file_judged")
    upload(page, gold, key="data_file_gold")
    for name in ("judge_score", "second_judge"):
        field = by_key(page, "judge_score").get_by_role("combobox")
        field.fill(name)
        page.get_by_role("option", name=name).click()
        expect(by_key(page, "judge_score")).to_contain_text(name)
        # An open list hides the rest of the page from assistive technology.
        field.press("Escape")
        settle(page)
    compared = calib.compare_judges(judged, gold, score=["judge_score", "second_judge"]).results
    expect(finding(page)).to_have_text(compared["judge_score"].headline)
    by_key(page, "judge_shown").get_by_role("combobox").click()
    page.get_by_role("option", name="second_judge").click()
    expect(finding(page)).to_have_text(compared["second_judge"].headline)
    go(page, "Compare")
    go(page, "Judge")
    expect(finding(page)).to_have_text(compared["second_judge"].headline)
    by_key(page, "judge_example").get_by_role("button").click()
    expect(finding(page)).to_have_text(judge_rows(judged_example()).headline)


@rare
def test_the_width_of_the_interval_asks_for_labels(page):
    visit(page, "/judge")
    result = judge_rows(judged_example())
    field = by_key(page, "judge_points").get_by_role("spinbutton")
    for points in (8, 15):
        field.fill(str(points))
        field.press("Enter")
        needed = result.labels_for(points / 100)
        expect(by_key(page, "toolbar_judge_labels")).to_contain_text(f"{needed} labels")
