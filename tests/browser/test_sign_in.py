"""The eighth journey: people sign in, and their reports have their names.

The provider is a server of OpenID Connect that the test starts; nothing is patched.
"""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from calib.store import Store
from tests.browser import harness
from tests.browser.actions import go, save, show_details
from tests.browser.harness import by_key, settle, visit

if find_spec("oidc_provider_mock") is None:
    pytest.skip("oidc-provider-mock is not installed: skipped", allow_module_level=True)

PEOPLE = {
    "ada": {"name": "Ada Lovelace", "email": "ada@example.org", "email_verified": True},
    "grace": {"name": "Grace Hopper", "email": "grace@example.org", "email_verified": True},
    # An address that was not verified does not identify a person.
    "mallory": {"name": "Mallory", "email": "ada@example.org", "email_verified": False},
}
ROWS = "outcome,score\n" + "1,0.9\n0,0.2\n1,0.4\n0,0.3\n" * 60
SECRETS = """
[auth]
redirect_uri = "{url}/oauth2callback"
cookie_secret = "a secret of the test's, of forty characters"
client_id = "calib"
client_secret = "secret"
server_metadata_url = "{provider}/.well-known/openid-configuration"
"""


@dataclass
class Team:
    url: str
    home: Path
    page: Page


def sign_in(page: Page, name: str) -> None:
    """From the page that asks for it, past the provider's page, to the answer."""
    press_and_leave(page)
    page.locator("input[name=sub]").fill(name)
    page.get_by_role("button", name="Authorize").first.click()
    expect(by_key(page, "answer")).to_be_visible()
    settle(page)
    by_key(page, "share").get_by_role("button").click()
    expect(by_key(page, "person")).to_contain_text(str(PEOPLE[name]["name"]))
    page.keyboard.press("Escape")


def press_and_leave(page: Page) -> None:
    with page.expect_navigation(url=lambda address: "/oauth2/authorize" in address):
        by_key(page, "sign_in").get_by_role("button").click()


@contextmanager
def provider(log: Path) -> Iterator[str]:
    """Address of a running server of OpenID Connect."""
    port = harness.free_port()
    users = [json.dumps({"sub": name, **claims}) for name, claims in PEOPLE.items()]
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)]
    command += [word for user in users for word in ("--user-claims", user)]
    with log.open("wb") as output:
        running = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            wait_for(port)
            yield f"http://localhost:{port}"
        finally:
            running.terminate()
            running.wait(timeout=10)


def wait_for(port: int) -> None:
    until = time.monotonic() + 30.0
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("localhost", port), timeout=1.0):
            return
        time.sleep(0.1)
    raise RuntimeError("The provider did not start.")


@contextmanager
def serving(browser: Browser, home: Path) -> Iterator[Team]:
    """The dashboard with a sign-in, and a browser that nobody has used."""
    port = harness.free_port()
    url = f"http://localhost:{port}"
    with provider(home / "provider.log") as where:
        secrets = home / "secrets.toml"
        secrets.write_text(SECRETS.format(url=url, provider=where))
        known = {
            "CALIB_HOME": str(home),
            "STREAMLIT_SECRETS_FILES": str(secrets),
        }
        # A small file is analysed and drawn sooner than an example.
        (home / "team.csv").write_text(ROWS)
        command = [sys.executable, "-m", "calib", "serve", str(home / "team.csv")]
        command += ["--port", str(port)]
        with (
            harness.running(command, url, home / "log", known),
            browser.new_context(base_url=url) as context,
        ):
            yield Team(url, home, context.new_page())


@pytest.fixture(scope="module")
def team(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with serving(browser, tmp_path_factory.mktemp("team")) as team:
        yield team


def test_sign_in(team: Team) -> None:
    """A person signs in and saves a report. Another, with an unverified address, only sees it."""
    page = team.page
    visit(page, "/reports")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(by_key(page, "navigation")).to_have_count(0)
    sign_in(page, "ada")
    go(page, "Reports")
    show_details(page)
    expect(by_key(page, "author").get_by_role("textbox")).to_be_disabled()
    save(page, "Of Ada")
    expect(by_key(page, "delete_0")).to_be_visible()
    by_key(page, "share").get_by_role("button").click()
    with page.expect_navigation(url=lambda where: "/oauth2/end_session" in where):
        by_key(page, "sign_out").get_by_role("button").click()

    visit(page, "/reports")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.get_by_text("Of Ada")).to_have_count(0)
    sign_in(page, "mallory")
    go(page, "Reports")
    expect(by_key(page, "entry_0").get_by_role("link", name="Of Ada")).to_be_visible()
    expect(by_key(page, "delete_0")).to_have_count(0)
    with Store(f"sqlite:///{team.home}/reports.db") as store:
        (entry,), (change,) = store.list(), store.changes()
    assert (entry.author, entry.owner) == ("Ada Lovelace", "ada@example.org")
    assert (change.change, change.person) == ("saved", "ada@example.org")
