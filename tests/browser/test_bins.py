"""Looking into a bin in a real browser: by a click, by keyboard, by a link."""

import io
import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from calib.loading.examples import EXAMPLES
from tests.browser.actions import press_slider
from tests.browser.harness import by_key, open_static, settle, traces, visit
from tests.rare import rare

EXAMPLE = EXAMPLES["naive_bayes"].load()
SAID = re.compile(
    r"([\d,]+) of ([\d,]+) positive\. Mean score ([\d.]+)%, observed frequency ([\d.]+)%"
)


def click_dot(page: Page, number: int) -> None:
    open_static(page)
    dot = by_key(page, "chart_reliability").locator("path.point").nth(number)
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    settle(page)


def picker(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Bin", exact=True)


def said(page: Page) -> tuple[int, int, float, float]:
    """Positive rows, rows, mean score, observed frequency of the bin that is looked into."""
    found = SAID.search(page.get_by_text(SAID).inner_text())
    assert found is not None
    positive, n, mean, observed = (part.replace(",", "") for part in found.groups())
    return int(positive), int(n), float(mean) / 100, float(observed) / 100


def chosen(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_a_click_on_a_dot_shows_the_rows_that_it_counts(page: Page):
    visit(page, "/reliability")
    click_dot(page, 9)
    positive, n, mean, observed = said(page)
    # Quantile bins hold equally many rows: the tenth of 15, counted from the data.
    score = EXAMPLE.scores
    low, high = np.quantile(score, [9 / 15, 10 / 15], method="averaged_inverted_cdf")
    inside = (score > low) & (score <= high)
    assert (positive, n) == (EXAMPLE.outcome[inside].sum(), inside.sum())
    assert mean == pytest.approx(score[inside].mean(), abs=6e-4)
    assert observed == pytest.approx(EXAMPLE.outcome[inside].mean(), abs=6e-4)
    expect(picker(page)).to_have_value(re.compile(r"^10: scores"))
    (ring,) = [t for t in traces(page, "chart_reliability") if t["name"] == "Inspected bin"]
    dots = next(t for t in traces(page, "chart_reliability") if len(t["x"]) == 15)
    assert (ring["x"], ring["y"]) == ([dots["x"][9]], [dots["y"][9]])
    click_dot(page, 9)
    expect(page.get_by_text(SAID)).to_have_count(0)
    assert "at" not in chosen(page)


@rare
def test_the_rows_are_downloaded_whole(page: Page):
    visit(page, "/reliability?v=1&at=0.8")
    positive, n, mean, _observed = said(page)
    with page.expect_download() as download:
        by_key(page, "download_bin").get_by_role("button").click()
    table = pd.read_csv(io.BytesIO(download.value.path().read_bytes()))
    assert list(table) == ["row", "outcome", "score", *EXAMPLE.columns]
    assert (len(table), table["outcome"].sum()) == (n, positive)
    assert table["score"].mean() == pytest.approx(mean, abs=6e-4)
    np.testing.assert_allclose(EXAMPLE.scores[table["row"] - 1], table["score"])


@rare
def test_a_bin_is_picked_by_keyboard_and_its_rows_are_paged(page: Page):
    visit(page, "/reliability")
    box = picker(page)
    box.focus()
    box.press("ArrowDown")
    box.press("ArrowDown")
    box.press("Enter")
    settle(page)
    expect(box).to_have_value(re.compile(r"^2: scores"))
    n = said(page)[1]
    last = page.get_by_role("button", name=re.compile(r"^Page \d+$")).last
    expect(last).to_have_text(str(-(-n // 50)))
    last.focus()
    last.press("Enter")
    settle(page)
    shown = f"Rows of the bin: {n % 50 or 50} of {n}"
    expect(page.get_by_role("region", name=shown)).to_be_visible()


@rare
def test_other_bins_keep_the_score_that_is_looked_into(page: Page):
    visit(page, "/reliability?v=1&at=0.8")
    before = said(page)
    press_slider(page, "n_bins", "ArrowRight")
    settle(page)
    assert chosen(page) == {"v": "1", "bins": "16", "at": "0.8"}
    assert said(page) != before
    by_key(page, "strategy").get_by_text("Uniform").click()
    settle(page)
    settle(page)
    inside = (EXAMPLE.scores > 12 / 16) & (EXAMPLE.scores <= 13 / 16)
    assert said(page)[:2] == (EXAMPLE.outcome[inside].sum(), inside.sum())


@rare
def test_a_link_to_no_score_is_refused_in_words(page: Page):
    visit(page, "/reliability?v=1&at=1.2")
    expect(page.get_by_test_id("stAlert").first).to_contain_text("between 0 and 1")
    expect(page.get_by_text("Select a range of scores above")).to_be_visible()


@rare
def test_the_bin_of_a_calibrated_method(page: Page):
    visit(page, "/reliability?v=1&show=uncalibrated.platt")
    by_key(page, "bin_of").get_by_text("Platt scaling (on scores)").click()
    settle(page)
    box = picker(page)
    box.focus()
    box.press("ArrowDown")
    box.press("Enter")
    settle(page)
    assert chosen(page)["of"] == "platt"
    assert said(page)[1] > 0
    expect(page.get_by_role("region", name="its share of the bin")).to_be_visible()
