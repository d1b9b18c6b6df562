"""A server that is asked under a name that is not its own, framed by others, or for its metrics."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from calib.ui.session.middleware import host_names
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


@pytest.fixture(scope="module")
def other_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the app as `streamlit run app.py` serves it."""
    with harness.serve(tmp_path_factory.mktemp("other") / "log") as url:
        yield url


@pytest.fixture(params=["app_url", "other_url"])
def either_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


def test_a_session_is_refused_under_a_foreign_name_or_from_a_foreign_page(either_url: str) -> None:
    refuses_sessions(either_url)


def test_a_foreign_name_is_refused_however_the_app_is_started(either_url: str) -> None:
    assert httpx.get(either_url, headers={"Host": "evil.invalid"}).status_code == 400


def test_a_document_of_another_version_is_not_kept(either_url: str) -> None:
    """Streamlit's document has one tag, whichever style stands in it."""
    asked = {"Accept": "text/html"}
    bare = {"If-None-Match": "*", "If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"}
    answer = httpx.get(either_url, headers=asked | bare)
    assert answer.status_code == 200
    assert ".st-key-navigation" in answer.text
    assert not {"etag", "last-modified"} & set(answer.headers)


def refuses_sessions(url: str) -> None:
    stream = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
    for headers in (
        {"Host": "evil.invalid", "Origin": "http://evil.invalid"},
        {"Origin": "http://evil.invalid"},
        {"Origin": "http://localhost:1"},  # This is another server of this machine.
    ):
        with pytest.raises(InvalidStatus) as caught:
            connect(stream, additional_headers=headers, subprotocols=["streamlit"])
        assert 400 <= caught.value.response.status_code < 500


def test_a_forged_upload_is_refused(app_url: str) -> None:
    sent = httpx.put(f"{app_url}/_stcore/upload_file/x/y", files={"file": b"y,p\n"})
    assert 400 <= sent.status_code < 500


def test_other_sites_may_not_frame_it_and_metrics_are_closed(either_url: str) -> None:
    answer = httpx.get(either_url)
    policy = answer.headers["content-security-policy"]  # All pages are tested with it.
    assert "frame-ancestors 'self'" in policy
    assert "object-src 'none'" in policy
    assert not re.search(r"https?:|\*", policy)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert httpx.get(f"{either_url}/_stcore/metrics").status_code == 404
    assert httpx.get(f"{either_url}/_stcore/metrics%0a").status_code == 400


def test_names_are_those_of_where_it_listens() -> None:
    assert host_names("localhost", []) == host_names(None, []) == ["localhost", "127.0.0.1", "::1"]
    assert host_names("calib.lan", ["*.example.org"])[3:] == ["*.example.org", "calib.lan"]
    assert len(host_names("0.0.0.0", [])) > 3


def test_the_configuration_of_the_checkout_names_this_machine_alone() -> None:
    text = (Path(harness.ROOT) / ".streamlit" / "config.toml").read_text()
    assert 'allowedHosts = ["localhost", "127.0.0.1", "::1"]' in text
