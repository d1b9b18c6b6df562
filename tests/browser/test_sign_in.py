"""Two people who sign in: each saves under the own name, and neither deletes the other's report.

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
from tests.browser.harness import by_key, settle, visit
from tests.browser.test_team_reports import press, save, show_details
from tests.rare import rare

if find_spec("oidc_provider_mock") is None:
    pytest.skip("oidc-provider-mock is not installed: skipped", allow_module_level=True)

PEOPLE = {
    "ada": {"name": "Ada Lovelace", "email": "ada@example.org", "email_verified": True},
    "grace": {"name": "Grace Hopper", "email": "grace@example.org", "email_verified": True},
    # An address that was not verified does not identify a person.
    "mallory": {"name": "Mallory", "email": "ada@example.org", "email_verified": False},
    "root": {"name": "Root", "email": "root@example.org", "email_verified": True},
}
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

    @contextmanager
    def signed_in(self, name: str) -> Iterator[Page]:
        """A browser that knows nobody, past the provider's page for one person."""
        page = self.page
        page.context.clear_cookies()
        visit(page)
        press_and_leave(page)
        page.locator("input[name=sub]").fill(name)
        page.get_by_role("button", name="Authorize").first.click()
        expect(by_key(page, "share")).to_be_visible(timeout=30_000)
        settle(page)
        press(page, "share")
        expect(by_key(page, "person")).to_contain_text(str(PEOPLE[name]["name"]))
        page.keyboard.press("Escape")
        yield page


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


@pytest.fixture(scope="module")
def team(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    home, port = tmp_path_factory.mktemp("team"), harness.free_port()
    url = f"http://localhost:{port}"
    with provider(home / "provider.log") as where:
        secrets = home / "secrets.toml"
        secrets.write_text(SECRETS.format(url=url, provider=where))
        known = {
            "CALIB_HOME": str(home),
            "CALIB_ADMINS": "root@example.org",
            "STREAMLIT_SECRETS_FILES": str(secrets),
        }
        command = [sys.executable, "-m", "calib", "serve", "--port", str(port)]
        with (
            harness.running(command, url, home / "log", known),
            browser.new_context(base_url=url) as context,
        ):
            yield Team(url, home, context.new_page())


# Every page is tested in tests/pages/test_pages.py.
@rare
@pytest.mark.parametrize("path", ["/reports", "/methods"])
def test_nobody_sees_anything_without_signing_in(team: Team, path: str) -> None:
    visit(team.page, path)
    expect(team.page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert by_key(team.page, "navigation").count() == 0


# The rule for all people is tested in tests/ui/session/test_identity.py.
@rare
def test_two_people_keep_their_reports_from_each_other(team: Team) -> None:
    with team.signed_in("ada") as page:
        visit(page, "/reports")
        show_details(page)
        expect(by_key(page, "author").get_by_role("textbox")).to_be_disabled()
        address = save(page, "Of Ada")
    for name in ("grace", "mallory"):
        with team.signed_in(name) as page:
            visit(page, address)
            expect(page.get_by_role("heading", name="Of Ada")).to_be_visible()
            expect(page.get_by_text("It can be changed by ada")).to_be_visible()
            assert by_key(page, "delete").count() == 0
    with team.signed_in("ada") as page:
        visit(page, address)
        press(page, "delete")
        press(page, "delete_confirmed")
        expect(page.get_by_text("Deleted: Of Ada.")).to_be_visible()
    with team.signed_in("mallory") as page:
        visit(page, "/reports")
        assert by_key(page, "restore_0").count() == 0
    with team.signed_in("root") as page:
        visit(page, "/reports")
        page.get_by_text("Deleted reports that you can restore").click()
        press(page, "restore_0")
        visit(page, address)
        expect(page.get_by_role("heading", name="Of Ada")).to_be_visible()
        expect(by_key(page, "delete")).to_be_visible()
        press(page, "share")
        with page.expect_navigation(url=lambda where: "/oauth2/end_session" in where):
            by_key(page, "sign_out").get_by_role("button").click()
        visit(page)
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    with Store(f"sqlite:///{team.home}/reports.db") as store:
        entry = store.list()[0]
        assert (entry.author, entry.owner) == ("Ada Lovelace", "ada@example.org")
        assert [(each.change, each.person) for each in store.changes()[:3]] == [
            ("restored", "root@example.org"),
            ("deleted", "ada@example.org"),
            ("saved", "ada@example.org"),
        ]
