"""Two people at one browser: the second sees nothing of the first, who signed out or just left."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import chromium, harness
from tests.browser.actions import go, upload
from tests.browser.harness import by_key, settle, visit
from tests.browser.test_sign_in import Team, press_and_leave, serving

ROWS = "outcome,score\n" + "1,0.9\n0,0.2\n1,0.4\n0,0.3\n" * 70
# Another person's file, or one that the server has no more.
REFUSED = (403, 404)
SHOWN = "chart_functions"
ASKED = "This link is for payroll.csv"
# Streamlit and calib keep a session that was left for this long, in seconds, and longer.
LATER = 32.0
STEP_MS = 1500


@pytest.fixture(scope="module")
def team(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    # The tests' browser keeps no pages for its Back button, as those of people do.
    keeps = ["--disable-back-forward-cache"]
    executable, flags = chromium.find(), list(harness.FLAGS)
    own = browser.browser_type.launch(
        executable_path=executable, args=flags, ignore_default_args=keeps
    )
    with serving(own, tmp_path_factory.mktemp("people")) as team:
        yield team
    own.close()


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "payroll.csv"
    path.write_text(ROWS)
    return path


def arrive(page: Page, name: str) -> None:
    visit(page)
    press_and_leave(page)
    page.locator("input[name=sub]").fill(name)
    page.get_by_role("button", name="Authorize").first.click()
    expect(by_key(page, "answer")).to_be_visible()
    settle(page)


def uploaded(page: Page, rows: Path) -> str:
    """The link to what a person uploaded, on a page that shows it."""
    go(page, "Data")
    upload(page, rows)
    go(page, "Calibrators")
    expect(by_key(page, SHOWN)).to_be_visible()
    assert "file=payroll" in page.url
    return page.url


def download(page: Page) -> str:
    """The address of a file that the page offers: the numbers of its chart."""
    with page.expect_download() as file:
        page.locator("[class*=st-key-csv_] button").first.evaluate("button => button.click()")
    assert "/media/" in file.value.url
    return file.value.url


def opens_nothing(page: Page, link: str) -> None:
    visit(page, link)
    expect(page.get_by_text(ASKED)).to_be_visible()
    expect(by_key(page, SHOWN)).to_have_count(0)
    by_key(page, "data_chip").get_by_role("button").click()
    settle(page)
    # Other files of the person are not offered either.
    assert page.get_by_text("payroll", exact=True).count() == 0


def leave(context: BrowserContext) -> Page:
    """Close all tabs; returns a new one, in which the sign-in has ended."""
    page = context.new_page()
    for other in context.pages:
        if other is not page:
            other.close()
    context.clear_cookies(name=re.compile("^_streamlit_user"))
    return page


def test_who_signs_out_leaves_nothing_to_the_next_person(team: Team, rows: Path) -> None:
    page = team.page
    arrive(page, "ada")
    link = uploaded(page, rows)
    file = download(page)
    tab = page.context.new_page()
    visit(tab, link)
    expect(by_key(tab, SHOWN)).to_be_visible()
    left = page.context.cookies()

    by_key(page, "share").get_by_role("button").click()
    with page.expect_navigation(url=lambda where: "/oauth2/end_session" in where):
        by_key(page, "sign_out").get_by_role("button").click()
    # The other tab is closed too, and its rows are gone.
    expect(tab.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(by_key(tab, SHOWN)).to_have_count(0)
    tab.close()

    arrive(page, "grace")
    while "file=payroll" not in page.url:
        page.evaluate("history.back()")
        page.wait_for_timeout(STEP_MS)
    expect(page.get_by_text(ASKED)).to_be_visible()
    expect(by_key(page, SHOWN)).to_have_count(0)
    opens_nothing(page, link)
    assert page.request.get(file).status in REFUSED
    time.sleep(LATER)
    opens_nothing(page, link)

    # A copy of the cookies does not sign in again.
    page.context.clear_cookies()
    page.context.add_cookies(left)
    visit(page, link)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.context.clear_cookies()


@pytest.mark.parametrize("seconds", [0.0, LATER])
def test_who_just_leaves_leaves_nothing_to_the_next_person(
    team: Team, rows: Path, seconds: float
) -> None:
    context = team.page.context
    page = leave(context)
    arrive(page, "ada")
    link = uploaded(page, rows)
    file = download(page)
    page = team.page = leave(context)
    time.sleep(seconds)
    assert page.request.get(file).status in REFUSED
    arrive(page, "grace")
    opens_nothing(page, link)
    assert page.request.get(file).status in REFUSED

    # The person finds the data again, as long as the server has them.
    if not seconds:
        page = team.page = leave(context)
        arrive(page, "ada")
        visit(page, link)
        expect(by_key(page, SHOWN)).to_be_visible()
