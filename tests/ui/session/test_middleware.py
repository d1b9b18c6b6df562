"""Requests under a foreign name, for the metrics, or that another site made a browser send."""

from pathlib import Path

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config

from calib.ui.session.middleware import Guard, KnownHosts, host_names
from calib.ui.session.page_list import MOVED, PAGES


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse(f"answered {Request(scope).url.path}")(scope, receive, send)


def in_thread(app: ASGIApp, scope: Scope, send: Send) -> None:
    """Pass a scope to an app. A worker whose browser is open has a loop of its own."""
    with start_blocking_portal() as portal:
        portal.call(app, scope, None, send)


def status(app: ASGIApp, path: str = "/", **headers: str) -> int:
    async def ask() -> int:
        written = {name.replace("_", "-"): value for name, value in headers.items()}
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://calib.lan") as client:
            return (await client.get(path, headers=written)).status_code

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


@pytest.mark.parametrize("before", ["", "/behind/a/proxy"])
@pytest.mark.parametrize(
    ("old", "query", "living"),
    [
        ("gallery", b"ex=svm&bins=7", b"./learn?ex=svm&bins=7"),
        ("compare", b"ex=svm", b"./calibrators?ex=svm"),
        ("cumulative", b"show=beta", b"./reliability?show=beta&tab=cumulative"),
        ("classes", b"ex=digits&cls=platt", b"./slices?ex=digits&cls=platt&kind=class"),
        ("classes", b"", b"./slices?kind=class"),
    ],
)
def test_the_address_of_a_page_that_moved_leads_to_the_living_page(
    before: str, old: str, query: bytes, living: bytes
) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": f"{before}/{old}", "headers": []}
    in_thread(Guard(answer, False), {**scope, "query_string": query}, send)
    start = next(one for one in sent if one["type"] == "http.response.start")
    assert start["status"] == 307
    assert dict(start["headers"])[b"location"] == living
    pages = {Path(file).stem for file in PAGES.values()}
    assert pages.isdisjoint(MOVED)
    assert {address.partition("?")[0] for address in MOVED.values()} <= pages


@pytest.mark.parametrize("path", ["", "/", "//", "/?families=x"])
def test_metrics_are_closed_however_their_path_is_written(path: str) -> None:
    for before in ("/_stcore/metrics", "/base/_stcore/metrics", "/_stcore//metrics"):
        assert status(Guard(answer, shows_metrics=False), before + path) == 404
        assert status(Guard(answer, shows_metrics=True), before + path) == 200


async def routed(_: Request) -> PlainTextResponse:
    return PlainTextResponse("answered")


@pytest.mark.parametrize(
    "end", ["", "%0a", "%0A", "%0d", "%00", "%09", "%7f", "%c2%85", "%e2%80%a8"]
)
def test_no_path_passes_the_guard_that_the_router_takes_for_another(end: str) -> None:
    """The pattern of a route also matches a path with a line break after it."""
    paths = ["/_stcore/metrics", "/auth/logout"]
    router = Router([Route(path, routed) for path in paths])
    app = KnownHosts(Guard(router, shows_metrics=False))
    for path in paths:
        assert status(app, path + end, Host="localhost", Sec_Fetch_Site="cross-site") >= 400
    # The server decodes a path once.
    assert status(app, "/_stcore/metrics%250a", Host="localhost") == 404


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_control_characters_are_refused_before_anything_else(kind: str) -> None:
    reached = list[str]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(scope["path"])

    async def send(message: Message) -> None:
        if message["type"].endswith("response.start"):
            reached.append(message["status"])

    for path in ("/_stcore/stream\n", "/\x00", "/a\tb", "/page"):
        scope = {"type": kind, "path": path, "headers": [(b"host", b"localhost")]}
        in_thread(KnownHosts(app), scope, send)
    assert reached == [400, 400, 400, "/page"]


ORIGINS = {
    None: True,  # Only a browser sends an origin.
    "http://localhost:8501": True,
    "https://localhost:8501": True,  # A proxy speaks HTTPS to browsers.
    "http://LOCALHOST:8501": True,
    "http://localhost:9999": False,
    "http://localhost": False,
    "http://127.0.0.1:8501": False,
    "http://localhost:8501.evil.invalid": False,
    "http://evil.invalid": False,
    "null": False,
    "": False,
    "http://[": False,
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_sessions_are_opened_by_pages_of_the_same_address_alone(origin: str | None) -> None:
    reached = list[object]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(True)

    async def send(message: Message) -> None:
        reached.append(message.get("status"))

    headers = [(b"host", b"localhost:8501")]
    headers += [] if origin is None else [(b"origin", origin.encode())]
    scope = {"type": "websocket", "path": "/_stcore/stream", "headers": headers}
    in_thread(KnownHosts(app), scope, send)
    assert reached[0] == (True if ORIGINS[origin] else 403)


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
