"""Requests under a foreign name, for the metrics, or that another site made a browser send."""

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import config

from calib.ui.session.middleware import Guard, KnownHosts, host_names


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse(f"answered {Request(scope).url.path}")(scope, receive, send)


def status(app: ASGIApp, path: str = "/", **headers: str) -> int:
    async def ask() -> int:
        written = {name.replace("_", "-"): value for name, value in headers.items()}
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://calib.lan") as client:
            return (await client.get(path, headers=written)).status_code

    # In a thread: a worker whose browser is open has a loop of its own.
    with start_blocking_portal() as portal:
        return portal.call(ask)


@pytest.mark.parametrize("address", ["::1", "[::1]", "0:0:0:0:0:0:0:1", "fd00::5", "10.0.0.7"])
def test_an_address_is_answered_as_browsers_write_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = host_names(address, ["*.example.org"])
    monkeypatch.setattr(config, "get_option", lambda _: known)
    app = KnownHosts(answer)
    host = {"::1": "[::1]", "[::1]": "[::1]", "0:0:0:0:0:0:0:1": "[::1]", "fd00::5": "[fd00::5]"}
    for name in (host.get(address, address), "[::1]", "127.0.0.1", "localhost", "a.example.org"):
        assert status(app, Host=f"{name}:8733") == status(app, Host=name) == 200
    for name in ("evil.invalid", "[::2]:8733", "[::1", "::1:8733", "", "localhost.evil.invalid"):
        assert status(app, Host=name) == 400


@pytest.mark.parametrize("path", ["", "/", "//", "/?families=x"])
def test_metrics_are_closed_however_their_path_is_written(path: str) -> None:
    for before in ("/_stcore/metrics", "/base/_stcore/metrics", "/_stcore//metrics"):
        assert status(Guard(answer, shows_metrics=False), before + path) == 404
        assert status(Guard(answer, shows_metrics=True), before + path) == 200


SIGN_OUTS = {
    "a page of ours": ({"Sec_Fetch_Site": "same-origin"}, 200),
    "an address that was typed": ({"Sec_Fetch_Site": "none"}, 200),
    "another site": ({"Sec_Fetch_Site": "cross-site"}, 403),
    "a neighbour": ({"Sec_Fetch_Site": "same-site", "Referer": "http://calib.lan/"}, 403),
    "without HTTPS, a page of ours": ({"Referer": "http://calib.lan/reports"}, 200),
    "without HTTPS, another site": ({"Referer": "http://evil.invalid/calib.lan"}, 403),
    "without HTTPS, a site that hides itself": ({}, 403),
}


@pytest.mark.parametrize("case", SIGN_OUTS)
def test_another_site_signs_nobody_out(case: str) -> None:
    headers, expected = SIGN_OUTS[case]
    app = Guard(answer, shows_metrics=False)
    for path in ("/auth/logout", "/auth/logout/", "/base/auth/logout"):
        assert status(app, path, **headers) == expected
    assert status(app, "/auth/login", **headers) == 200
