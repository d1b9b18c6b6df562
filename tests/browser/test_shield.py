"""A server that is asked under a name that is not its own, framed by others, or for its metrics."""

import re
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from calib.ui.session.shield import names
from tests.browser import harness

PATHS = ("/", "/reports", "/_stcore/health", "/_stcore/host-config", "/media/x", "/_stcore/metrics")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["evil.invalid", "localhost.evil.invalid", "example.org.invalid"])
def test_a_foreign_name_is_refused(app_url: str, path: str, host: str) -> None:
    answer = httpx.get(f"{app_url}{path}", headers={"Host": host})
    assert answer.status_code == 400
    assert "calib" not in answer.text


@pytest.mark.parametrize("path", PATHS[:3])
def test_a_name_of_ours_is_answered(app_url: str, path: str) -> None:
    for host in ("localhost:1", "127.0.0.1", "team.example.org"):
        assert httpx.get(f"{app_url}{path}", headers={"Host": host}).status_code == 200


def test_a_session_is_refused_under_a_foreign_name_or_from_a_foreign_page(
    app_url: str, tmp_path: Path
) -> None:
    """Both ways to start the app."""
    with harness.serve(tmp_path / "log") as other_url:
        for url in (app_url, other_url):
            refuses_sessions(url)


def refuses_sessions(url: str) -> None:
    stream = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
    for headers in (
        {"Host": "evil.invalid", "Origin": "http://evil.invalid"},
        {"Origin": "http://evil.invalid"},
    ):
        with pytest.raises(InvalidStatus) as caught:
            connect(stream, additional_headers=headers, subprotocols=["streamlit"])
        assert 400 <= caught.value.response.status_code < 500


def test_a_forged_upload_is_refused(app_url: str) -> None:
    sent = httpx.put(f"{app_url}/_stcore/upload_file/x/y", files={"file": b"y,p\n"})
    assert 400 <= sent.status_code < 500


def test_other_sites_may_not_frame_it_and_metrics_are_closed(app_url: str) -> None:
    answer = httpx.get(app_url)
    policy = answer.headers["content-security-policy"]  # under which each page is tested
    assert "frame-ancestors 'self'" in policy
    assert "object-src 'none'" in policy
    assert not re.search(r"https?:|\*", policy)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert httpx.get(f"{app_url}/_stcore/metrics").status_code == 404


def test_names_are_those_of_where_it_listens() -> None:
    assert names("localhost", []) == names(None, []) == ["localhost", "127.0.0.1", "::1"]
    assert names("calib.lan", ["*.example.org"])[3:] == ["*.example.org", "calib.lan"]
    assert len(names("0.0.0.0", [])) > 3


def test_the_configuration_of_the_checkout_names_this_machine_alone() -> None:
    text = (Path(harness.ROOT) / ".streamlit" / "config.toml").read_text()
    assert 'allowedHosts = ["localhost", "127.0.0.1", "::1"]' in text
