"""Connect in a real browser: a folder of many rows is counted where it lies, or cancelled."""

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import duckdb
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import harness
from tests.browser.harness import by_key, settle

# Scores have six decimals, so that there are fewer cells; they are too high.
ROWS = """
SELECT round(p, 6) AS p, (hash(7 * i + 3) / 18446744073709551615.0 < p ** 1.2)::INT AS y,
       i % 8 AS site
FROM (SELECT hash(i) / 18446744073709551615.0 AS p, i FROM range({}, {}) t(i))
"""


@pytest.fixture(scope="module", params=[1_000_000, 50_000_000])
def n_rows(request) -> int:
    return request.param


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, n_rows: int) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("connect")
    (folder / "scores").mkdir()
    with duckdb.connect() as connection:
        for part in range(4):
            query = ROWS.format(part * n_rows // 4, (part + 1) * n_rows // 4)
            connection.sql(query).write_parquet(str(folder / "scores" / f"{part}.parquet"))
    secrets = folder / "secrets.toml"
    secrets.write_text(f'[connections.team]\ntype = "files"\npath = "{folder / "scores"}"\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMLIT_SECRETS_FILES", str(secrets))
        with harness.serve(folder / "server.log") as address:
            yield address


@pytest.fixture
def connected(browser: Browser, url: str) -> Iterator[Page]:
    """The Data page, with the folder's table chosen."""
    context = browser.new_context(base_url=url)
    page = context.new_page()
    harness.visit(page, "/data")
    for label, name in (("Source", "team"), ("Table", "(all files)")):
        page.get_by_role("combobox", name=label).first.click()
        page.get_by_role("option", name=name, exact=True).click()
        settle(page)
    yield page
    context.close()


def test_the_verdict_of_all_rows(connected: Page, n_rows: int):
    connected.get_by_role("button", name="Analyse all rows").click()
    counted = connected.get_by_text(re.compile(rf"{n_rows:,} rows, counted in"))
    expect(counted).to_be_visible(timeout=300_000)
    connected.get_by_role("link", name="Overview").click()
    answer = by_key(connected, "answer")
    expect(answer).to_contain_text("These probabilities are too high", timeout=120_000)
    # The mean of p^1.2 is 1 / 2.2.
    found = re.compile(r"Predictions average 50\.0%, but 45\.[45]% of the rows were positive\.")
    expect(answer).to_contain_text(found)


def test_cancel_ends_the_query_and_shows_nothing(connected: Page, n_rows: int):
    if n_rows < 10_000_000:
        pytest.skip("So few rows are counted before anyone can cancel: skipped")
    connected.get_by_role("button", name="Analyse all rows").click()
    connected.get_by_role("button", name="Cancel").click()
    expect(connected.get_by_role("button", name="Cancel")).to_have_count(0)
    settle(connected)
    expect(connected.get_by_role("button", name="Naive Bayes example")).to_be_visible()
    expect(by_key(connected, "checklist")).to_have_count(0)


def test_the_count_of_a_link_is_cancelled_until_it_is_asked_for(
    browser: Browser, url: str, n_rows: int
):
    if n_rows < 10_000_000:
        pytest.skip("So few rows are counted before anyone can cancel: skipped")
    query = {"source": "team", "table": "(all files)", "outcome": "y", "score": "p"}
    context = browser.new_context(base_url=url)
    page = context.new_page()
    page.goto(f"/?v=1&query={quote(json.dumps(query))}")
    page.get_by_role("button", name="Cancel").click(timeout=60_000)
    expect(page.get_by_text("This was cancelled")).to_be_visible(timeout=30_000)
    settle(page)
    # Another page does not begin it again.
    page.get_by_role("link", name="Reliability").click()
    expect(page.get_by_text("This was cancelled")).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Count the rows again").click()
    expect(page.get_by_text("15 bins with rows").first).to_be_visible(timeout=300_000)
    context.close()
