"""Slices, periods and decisions in a real browser."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.actions import go, upload
from tests.browser.harness import by_key, settle, traces, visit
from tests.rare import rare


@pytest.fixture
def sites(tmp_path):
    """Two years of scores, right in the north and too high in the south, with a tiny site."""
    rng = np.random.default_rng(0)
    n = 3000
    score = rng.random(n)
    site = rng.choice(["north", "south", "<b>tiny</b>"], n, p=[0.6, 0.395, 0.005])
    outcome = rng.random(n) < np.where(site == "south", score**2, score)
    day = np.datetime64("2023-01-01") + rng.integers(0, 730, n)
    lines = [
        f"{int(y)},{s:.6f},{where},{when}"
        for y, s, where, when in zip(outcome, score, site, day, strict=True)
    ]
    path = tmp_path / "sites.csv"
    path.write_text("outcome,score,site,date\n" + "\n".join(lines))
    return path


def drawn(page: Page, key: str, group: str, **wanted: object) -> list[dict]:
    """Traces of one method with data, whose values are those wanted."""
    found = [t for t in traces(page, key) if t.get("legendgroup") == group and t["x"] != [None]]
    return [t for t in found if all(t.get(name) == value for name, value in wanted.items())]


def symbols(page: Page, key: str, group: str) -> dict[str, dict]:
    return {str(trace["marker"]["symbol"]): trace for trace in drawn(page, key, group)}


def threshold(page: Page, key: str) -> float:
    (line,) = [t for t in traces(page, key) if t.get("name", "").startswith("Threshold")]
    assert line["x"][0] == line["x"][1]
    return line["x"][0]


def choose(page: Page, key: str, option: str) -> None:
    box = by_key(page, key).get_by_role("combobox")
    box.click()
    box.fill(option)
    page.get_by_role("option", name=option, exact=True).click()
    settle(page)


def fill(page: Page, key: str, value: str) -> None:
    box = by_key(page, key).get_by_role("spinbutton")
    box.fill(value)
    box.press("Enter")
    settle(page)


@rare
def test_slices_of_a_file_over_time_and_by_decision(page: Page, sites):
    visit(page, "/data")
    upload(page, sites)
    go(page, "Slices")
    verdict = "1 of 2 slices shows evidence of miscalibration: site south."
    expect(page.get_by_role("heading", name=verdict)).to_be_visible()
    # South is judged and marked, the tiny site is drawn and not judged; its name stays text.
    forest = symbols(page, "chart_slices", "uncalibrated")
    few = forest["circle-open"]
    assert len(few["x"]) == 1
    assert "tiny" in few["hovertext"][0]
    assert "<b>tiny" not in few["hovertext"][0]
    shaded = [t["y"] for t in traces(page, "chart_slices") if t.get("fill") == "toself"]
    # The third name in alphabetical order is that of the south.
    assert (1.5, 2.5) in [(min(y), max(y)) for y in shaded]
    assert drawn(page, "chart_overlay", "slice 1")

    (slope,) = drawn(page, "chart_periods", "uncalibrated", yaxis="y2")
    assert len(slope["x"]) == 24
    choose(page, "unit", "Year")
    (slope,) = drawn(page, "chart_periods", "uncalibrated", yaxis="y2")
    assert len(slope["x"]) == 2

    go(page, "Decisions")
    assert threshold(page, "chart_cost") == 0.5
    fill(page, "cost_fn", "4")
    assert threshold(page, "chart_cost") == threshold(page, "chart_benefit") == 0.2
    go(page, "Slices")
    expect(page.get_by_role("heading", name="Error rates at a threshold of 0.2")).to_be_visible()
    assert "fn=4" in page.url
    assert "unit=year" in page.url


@rare
def test_a_link_restores_slices_and_decisions(page: Page):
    visit(page, "/slices?slice=half&cross=side&after=isotonic")
    for method in ("uncalibrated", "isotonic"):
        gaps = [t for t in drawn(page, "chart_slices", method) if t.get("customdata")]
        assert len(gaps[0]["x"]) == 4
    go(page, "Decisions")
    for method in ("uncalibrated", "isotonic"):
        assert {t["mode"] for t in drawn(page, "chart_cost", method)} == {"lines", "markers"}


@rare
def test_compas_rates_by_race_as_documented(page: Page, shared):
    visit(page, "/data")
    upload(page, shared / "data" / "corp" / "BROWARD_CLEAN.csv")
    page.get_by_role("button", name="Divide by 10").click()
    settle(page)
    go(page, "Slices")
    choose(page, "slice_by", "race")
    expect(page.get_by_role("heading", name="Error rates at a threshold of 0.5")).to_be_visible()
    # A table is drawn when it comes into view; what a screen reader is told of it can be read.
    rates = page.locator("[class*=st-key-lines_][class*=_rates]")
    rates.scroll_into_view_if_needed()
    rates.locator("td").first.wait_for(state="attached")
    cells = rates.locator("td").all_text_contents()
    for rate in ("32.35%", "37.40%", "44.85%", "27.99%", "23.45%", "47.72%"):
        assert any(rate in cell for cell in cells), rate


@rare
def test_the_changes_stand_beside_their_table(page: Page):
    page.set_viewport_size({"width": 1440, "height": 900})
    visit(page, "/compare")
    table = page.locator(".metric-table").bounding_box()
    forest = by_key(page, "chart_forest").bounding_box()
    assert forest["x"] >= table["x"] + table["width"]
    assert abs(forest["y"] - table["y"]) < 60
