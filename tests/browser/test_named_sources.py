"""A named source in a real browser: many rows are counted where they lie, or not counted."""

import re
from collections.abc import Iterator

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
    """The Overview, where the folder's table was chosen in the menu of the data."""
    context = browser.new_context(base_url=url)
    page = context.new_page()
    harness.visit(page, "/")
    by_key(page, "data_chip").get_by_role("button").first.click()
    for label, name in (("Data on the server", "team"), ("Table", "(all files)")):
        page.get_by_role("combobox", name=label).first.click()
        page.get_by_role("option", name=name, exact=True).click()
    yield page
    context.close()


def test_the_verdict_of_all_rows(connected: Page, n_rows: int):
    answer = by_key(connected, "answer")
    too_high = "These probabilities are too high"
    # The answer of the example is replaced when the rows are counted.
    expect(by_key(connected, "data_chip")).to_contain_text(f"{n_rows:,} rows", timeout=300_000)
    expect(answer).to_contain_text(too_high, timeout=120_000)
    # The mean of p^1.2 is 1 / 2.2.
    found = re.compile(r"Predictions average 50\.0%, but 45\.[45]% of the rows were positive\.")
    expect(answer).to_contain_text(found)


def test_cancel_ends_the_query_and_shows_nothing(connected: Page, n_rows: int):
    if n_rows < 10_000_000:
        pytest.skip("So few rows are counted before anyone can cancel: skipped")
    connected.get_by_role("button", name="Cancel").click(timeout=60_000)
    expect(connected.get_by_text("The analysis was cancelled")).to_be_visible(timeout=30_000)
    settle(connected)
    expect(by_key(connected, "answer")).to_have_count(0)
    connected.get_by_role("button", name="Analyse", exact=True).click()
    expect(by_key(connected, "answer")).to_contain_text("too high", timeout=300_000)


def test_the_count_of_a_link_is_cancelled_until_it_is_asked_for(
    browser: Browser, url: str, n_rows: int
):
    if n_rows < 10_000_000:
        pytest.skip("So few rows are counted before anyone can cancel: skipped")
    context = browser.new_context(base_url=url)
    page = context.new_page()
    page.goto("/?v=1&source=team&table=(all files)")
    page.get_by_role("button", name="Cancel").click(timeout=60_000)
    expect(page.get_by_text("The analysis was cancelled")).to_be_visible(timeout=30_000)
    settle(page)
    page.get_by_role("button", name="Analyse", exact=True).click()
    expect(by_key(page, "answer")).to_contain_text("too high", timeout=300_000)
    context.close()
