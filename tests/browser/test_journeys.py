"""Journeys through the dashboard in a real browser, from a file to a report."""

import json

import duckdb
import numpy as np
import pytest
from playwright.sync_api import Page, expect

import calib
from tests.browser.actions import go, press_slider, upload
from tests.browser.harness import by_key, open_static, settle, traces, visit
from tests.rare import rare


def points(page: Page, key: str, name: str = "") -> list[list[float]]:
    """Coordinates of the traces whose name holds `name`."""
    found = traces(page, key)
    return [[t["x"], t["y"]] for t in found if name in (t.get("name") or "")]


def value(page: Page, key: str) -> str:
    open_static(page)
    return by_key(page, key).get_by_role("slider").input_value()


@pytest.fixture
def odd_file(tmp_path):
    """An overconfident model's file, with words for labels and columns nobody would guess."""
    rng = np.random.default_rng(0)
    z = rng.normal(-1, 1.5, 3000)
    y = rng.random(3000) < 1 / (1 + np.exp(-z))
    p = 1 / (1 + np.exp(-(1.8 * z + 0.4)))
    rows = [
        f"{'churned' if hit else 'stayed'};{score:.8f};7" for hit, score in zip(y, p, strict=True)
    ]
    path = tmp_path / "customers.csv"
    path.write_text("left?;risk;region\n" + "\n".join(rows))
    return path


def test_from_a_file_over_a_reload_to_a_report_that_needs_no_network(
    page: Page, other: Page, browser, odd_file, tmp_path
):
    visit(page, "/")
    upload(page, odd_file)
    verdict = page.get_by_role("heading", level=2)
    assert verdict.inner_text().startswith("These probabilities ")
    expect(by_key(page, "answer")).to_contain_text("✕ Not calibrated")
    expect(page.get_by_text("File: customers")).to_be_visible()
    go(page, "Data")
    expect(by_key(page, "map_outcome").get_by_role("combobox")).to_have_value("left?")
    expect(by_key(page, "map_score").get_by_role("combobox")).to_have_value("risk")
    expect(by_key(page, "checklist")).to_contain_text("3,000 rows")

    go(page, "Reliability")
    quantile = points(page, "chart_reliability", "Uncalibrated")
    assert len(quantile[0][0]) == 15
    by_key(page, "strategy").get_by_text("Uniform").click()
    settle(page)
    uniform = points(page, "chart_reliability", "Uncalibrated")
    assert uniform != quantile
    press_slider(page, "n_bins", "ArrowRight")
    drawn = points(page, "chart_reliability", "Uncalibrated")
    assert drawn != uniform

    page.reload()
    settle(page)
    assert points(page, "chart_reliability", "Uncalibrated") == drawn
    assert page.get_by_text("This link is for").count() == 0
    # Somebody else's browser has the link and not the secret of this one.
    visit(other, page.url)
    expect(other.get_by_role("heading", name="This link is for")).to_contain_text(
        "customers.csv (3,000 rows)"
    )
    assert other.locator(".js-plotly-plot").count() == 0
    assert "Naive Bayes" not in other.get_by_test_id("stMain").inner_text()

    go(page, "Reports")
    with page.expect_download() as download:
        by_key(page, "download_html").get_by_role("button").click()
    saved = tmp_path / "report.html"
    download.value.save_as(saved)
    context = browser.new_context(offline=True)
    offline = context.new_page()
    problems: list[str] = []
    offline.on("pageerror", lambda error: problems.append(str(error)))
    offline.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    offline.goto(saved.as_uri())
    offline.locator("svg.plot").first.wait_for()
    assert "customers" in offline.locator("body").inner_text()
    assert problems == []
    context.close()


@rare
def test_adult_in_two_files_gives_the_published_table(page: Page, shared, tmp_path):
    adult = shared / "data" / "adult"
    visit(page, "/data")
    upload(page, adult / "adult_nb_cal.csv")
    upload(page, adult / "adult_nb_test.csv", key="data_test_file")
    go(page, "Overview")
    rows = page.locator(".answer dl div", has_text="Test rows")
    expect(rows.locator("dd")).to_contain_text("16,281")
    go(page, "Compare")
    expect(page.get_by_text("Measured on the 16,281 test rows.")).to_be_visible()
    go(page, "Reports")
    with page.expect_download() as download:
        by_key(page, "download_json").get_by_role("button").click()
    saved = tmp_path / "report.json"
    download.value.save_as(saved)
    methods = json.loads(saved.read_text())["analysis"]["methods"]
    losses = {key: method["metrics"]["log_loss"]["value"] for key, method in methods.items()}
    published = {"uncalibrated": 0.7448, "platt": 0.4287, "beta": 0.4031}
    for key, value in published.items():
        assert losses[key] == pytest.approx(value, abs=1e-4), key
    assert losses["spline"] <= 0.3940
    # The textbook map has 0.3940; this one never says 0 or 1.
    assert losses["isotonic"] == pytest.approx(0.3923, abs=1e-4)


@rare
def test_counts_of_a_query_are_shown_like_rows(page: Page, odd_file, tmp_path):
    query = calib.scan_sql("duckdb", table="rows", outcome="left?", score="risk", slices=["region"])
    cells = tmp_path / "cells.csv"
    duckdb.connect().read_csv(str(odd_file)).query("rows", query).write_csv(str(cells), header=True)
    visit(page, "/data")
    upload(page, cells)
    expect(by_key(page, "checklist")).to_contain_text("3,000 rows")
    go(page, "Reliability")
    assert len(points(page, "chart_reliability", "Uncalibrated")[0][0]) == 15
    go(page, "Overview")
    verdict = page.get_by_role("heading", level=2)
    assert verdict.inner_text().startswith("These probabilities ")
    expect(by_key(page, "answer")).to_contain_text("✕ Not calibrated")
    expect(page.get_by_text("File: cells (counts without rows)")).to_be_visible()


@rare
def test_nothing_is_lost_by_changing_page_or_setting(page: Page, odd_file):
    visit(page, "/data")
    upload(page, odd_file)
    for label in ("Methods", "Compare", "Data"):
        go(page, label)
    expect(by_key(page, "map_score").get_by_role("combobox")).to_have_value("risk")
    go(page, "Reliability")
    press_slider(page, "n_bins", "ArrowRight")
    go(page, "Compare")
    go(page, "Reliability")
    assert value(page, "n_bins") == "16"


@rare
def test_a_link_restores_the_settings(page: Page):
    visit(page, "/reliability")
    open_static(page)
    by_key(page, "strategy").get_by_text("Uniform").click()
    settle(page)
    press_slider(page, "n_bins", "ArrowRight")
    address = page.url
    drawn = points(page, "chart_reliability")
    other = page.context.new_page()
    other.goto(address)
    settle(other)
    assert points(other, "chart_reliability") == drawn
    assert value(other, "n_bins") == "16"


@rare
def test_a_file_that_is_no_table_gets_its_sentence_and_costs_nothing(page: Page, tmp_path):
    path = tmp_path / "picture.csv"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    visit(page, "/data")
    upload(page, path)
    expect(page.get_by_test_id("stAlert").first).to_be_visible()
    go(page, "Overview")
    expect(by_key(page, "summary").locator(".wide > svg")).to_be_visible()
