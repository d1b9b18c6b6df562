"""A team at two replicas behind nginx: one is killed, and its people go on at the other."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests import replicas
from tests.browser import harness
from tests.browser.actions import save
from tests.browser.harness import by_key, settle, visit
from tests.browser.test_sign_in import SECRETS, press_and_leave, provider
from tests.replicas import Replicas
from tests.store import postgres

ROWS = "outcome,score\n" + "1,0.9\n0,0.2\n1,0.4\n0,0.3\n" * 60
COOKIE = "calib_replica"
CONNECTED = "[data-testid=stApp][data-test-connection-state=CONNECTED]"
# Streamlit tries to connect again after a while.
RECONNECTED_MS = 90_000


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    binaries = postgres.programs()
    if binaries is None:
        pytest.skip(postgres.MISSING)
    if replicas.nginx() is None:
        pytest.skip(replicas.MISSING)
    folder, port = tmp_path_factory.mktemp("replicas"), harness.free_port()
    with ExitStack() as stack:
        where = stack.enter_context(provider(folder / "provider.log"))
        socket = stack.enter_context(postgres.cluster(binaries))
        secrets = folder / "secrets.toml"
        secrets.write_text(SECRETS.format(url=f"http://localhost:{port}", provider=where))
        known = {
            "CALIB_DATABASE_URL": postgres.create_schema(socket, "team"),
            "STREAMLIT_SECRETS_FILES": str(secrets),
            "STREAMLIT_LOGGER_ENABLE_RICH": "false",
        }
        team = stack.enter_context(replicas.running(folder, port, known))
        yield team
        for log in team.logs:
            assert "Traceback" not in log.read_text(errors="replace")


def replica(context: BrowserContext) -> str:
    return next(one["value"] for one in context.cookies() if one["name"] == COOKIE)


def arrive(browser: Browser, team: Replicas, name: str, number: int) -> Page:
    """A person who signed in at one of the replicas, in a browser of their own."""
    context = browser.new_context(base_url=team.url)
    context.add_cookies([{"name": COOKIE, "value": str(number), "url": team.url}])
    page = context.new_page()
    visit(page)
    press_and_leave(page)
    page.locator("input[name=sub]").fill(name)
    page.get_by_role("button", name="Authorize").first.click()
    expect(by_key(page, "navigation")).to_be_visible(timeout=30_000)
    assert replica(context) == str(number)
    return page


def drop(page: Page, path: Path) -> None:
    by_key(page, "data_file").locator("input[type=file]").set_input_files(path)


def test_the_people_of_a_killed_replica_go_on_at_the_other(
    browser: Browser, team: Replicas, tmp_path: Path
) -> None:
    path = tmp_path / "team.csv"
    path.write_text(ROWS)
    asked = "This link is for team.csv"
    ada, grace = arrive(browser, team, "ada", 1), arrive(browser, team, "grace", 2)
    visit(ada, "/data")
    drop(ada, path)
    expect(ada.get_by_text("File: team")).to_be_visible(timeout=30_000)
    settle(ada)
    visit(ada, "/reliability" + ada.url.partition("/data")[2] + "&bins=7")
    link = ada.url
    visit(ada, "/reports" + link.partition("/reliability")[2])
    report = save(ada, "Of Ada")

    # Reports are in the database of both. A link opens no data of a person at the other replica.
    visit(grace, report)
    expect(grace.get_by_role("heading", name="Of Ada")).to_be_visible()
    visit(grace, link)
    expect(grace.get_by_text(asked)).to_be_visible()
    drop(grace, path)
    expect(by_key(grace, "explorer")).to_be_visible(timeout=30_000)

    visit(ada, link)
    expect(by_key(ada, "explorer")).to_be_visible()
    team.kill(1)
    # The open tab connects to the other replica by itself. At her next click it asks for the file.
    expect(ada.locator(CONNECTED)).to_have_count(0)
    expect(ada.locator(CONNECTED)).to_have_count(1, timeout=RECONNECTED_MS)
    ada.get_by_role("link", name="Calibrators").click()
    expect(ada.get_by_text(asked)).to_be_visible(timeout=30_000)
    settle(ada)
    drop(ada, path)
    expect(by_key(ada, "chart_forest")).to_be_visible(timeout=30_000)
    settle(ada)
    assert "bins=7" in ada.url
    visit(ada, ada.url)
    assert replica(ada.context) == "2"
    for place in ("/", "/reliability"):
        visit(ada, place + "?" + ada.url.partition("?")[2])
        assert ada.get_by_text(asked).count() == 0
    visit(ada, report)
    expect(ada.get_by_role("heading", name="Of Ada")).to_be_visible()

    # The other person noticed nothing.
    grace.get_by_role("slider").first.press("ArrowRight")
    settle(grace)
    assert replica(grace.context) == "2"
    expect(by_key(grace, "explorer")).to_be_visible()

    # The cookie of the replica is removed with the sign-in.
    by_key(grace, "share").get_by_role("button").click()
    with grace.expect_navigation(url=lambda where: "/oauth2/end_session" in where):
        by_key(grace, "sign_out").get_by_role("button").click()
    assert COOKIE not in {cookie["name"] for cookie in grace.context.cookies()}
