"""A server that is asked under a name that is not its own, framed by others, or for its metrics."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, ConsoleMessage, expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from calib.ui.session.shield import names
from tests.browser import harness
from tests.browser.harness import by_key, visit

PATHS = ("/", "/reports", "/_stcore/health", "/_stcore/host-config", "/media/x", "/_stcore/metrics")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of `calib serve`, started in another folder than the checkout's."""
    folder, port = tmp_path_factory.mktemp("served"), harness.free_port()
    url = f"http://localhost:{port}"
    command = [sys.executable, "-m", "calib", "serve", "--port", str(port)]
    command += ["--allow-host", "*.example.org"]
    with harness.running(command, url, folder / "log", {"CALIB_HOME": str(folder)}):
        yield url


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["evil.invalid", "localhost.evil.invalid", "example.org.invalid"])
def test_a_foreign_name_is_refused(served: str, path: str, host: str) -> None:
    answer = httpx.get(f"{served}{path}", headers={"Host": host})
    assert answer.status_code == 400
    assert "calib" not in answer.text


@pytest.mark.parametrize("path", PATHS[:3])
def test_a_name_of_ours_is_answered(served: str, path: str) -> None:
    for host in ("localhost:1", "127.0.0.1", "team.example.org"):
        assert httpx.get(f"{served}{path}", headers={"Host": host}).status_code == 200


def test_a_session_is_refused_under_a_foreign_name_or_from_a_foreign_page(
    served: str, app_url: str
) -> None:
    """Both ways to start the app."""
    for url in (served, app_url):
        stream = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
        for headers in (
            {"Host": "evil.invalid", "Origin": "http://evil.invalid"},
            {"Origin": "http://evil.invalid"},
        ):
            with pytest.raises(InvalidStatus) as caught:
                connect(stream, additional_headers=headers, subprotocols=["streamlit"])
            assert 400 <= caught.value.response.status_code < 500


def test_a_forged_upload_is_refused(served: str) -> None:
    sent = httpx.put(f"{served}/_stcore/upload_file/x/y", files={"file": b"y,p\n"})
    assert 400 <= sent.status_code < 500


def test_other_sites_may_not_frame_it_and_metrics_are_closed(served: str) -> None:
    answer = httpx.get(served)
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'self'" in policy
    assert "object-src 'none'" in policy
    assert not re.search(r"https?:|\*", policy)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert httpx.get(f"{served}/_stcore/metrics").status_code == 404


def test_every_page_works_under_the_policy(served: str, browser: Browser) -> None:
    context = browser.new_context(base_url=served)
    page = context.new_page()
    refused: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            refused.append(message.text)

    page.on("console", note)
    for path in ("/", "/reliability", "/functions", "/slices", "/reports", "/methods"):
        visit(page, path)
    visit(page, "/reliability")
    expect(by_key(page, "explorer")).to_be_visible()
    context.close()
    assert not refused


def test_names_are_those_of_where_it_listens() -> None:
    assert names("localhost", []) == names(None, []) == ["localhost", "127.0.0.1", "::1"]
    assert names("calib.lan", ["*.example.org"])[3:] == ["*.example.org", "calib.lan"]
    assert len(names("0.0.0.0", [])) > 3


def test_the_configuration_of_the_checkout_names_this_machine_alone() -> None:
    text = (Path(harness.ROOT) / ".streamlit" / "config.toml").read_text()
    assert 'allowedHosts = ["localhost", "127.0.0.1", "::1"]' in text
