"""Where people sign in: whose files the server takes and gives, and when it ends their sessions."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import pytest
import streamlit as st
from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from calib.ui import streamlit_private
from calib.ui.session import sign_in
from calib.ui.session.open_sessions import open_sessions
from calib.ui.session.sign_in_gate import SignInGate
from tests.ui.session.test_open_sessions import shows

SECRET = "a secret of the test's, of forty characters"
# A suite may take longer than some minutes between this line and a test.
HERE = {"is_logged_in": True, "iss": "https://id.example.org", "iat": time.time()}
ADA = {**HERE, "sub": "ada", "nonce": "1", "exp": time.time() + 86_400}
GRACE = {**HERE, "sub": "grace", "nonce": "2", "exp": time.time() + 86_400}
ENDED = {**ADA, "nonce": "3", "exp": time.time() - 1}
IDENTITY = "ada at https://id.example.org"


class Server:
    """What of Streamlit's server the gate asks: sessions, their people, and offered files."""

    def __init__(self) -> None:
        self.people: dict[str, dict[str, Any]] = {"a": ADA, "b": GRACE}
        self._files_by_session_and_coord = {"a": {"1": "f1"}, "b": {"1": "f2"}}
        self.media_file_mgr = self._session_mgr = self
        self.orphans_removed = 0

    def list_sessions(self) -> list[object]:
        return [
            SimpleNamespace(session=SimpleNamespace(id=name, _user_info=claims))
            for name, claims in self.people.items()
        ]

    def close_session(self, session: str) -> None:
        del self.people[session], self._files_by_session_and_coord[session]

    def remove_orphaned_files(self) -> None:
        self.orphans_removed += 1


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    known = SimpleNamespace(exists=lambda: True, get_instance=lambda: made)
    monkeypatch.setattr(streamlit_private, "runtime", known)
    return made


@pytest.fixture(autouse=True)
def configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st.secrets, "load_if_toml_exists", lambda: True)
    monkeypatch.setattr(type(st.secrets), "__contains__", lambda _, name: name == "auth")
    module = "streamlit.web.server.starlette.starlette_websocket.get_cookie_secret"
    monkeypatch.setattr(module, lambda: SECRET)
    sign_in._signed_out.cache_clear()


def cookie(claims: object, secret: str = SECRET) -> dict[str, str]:
    value = create_signed_value(secret, USER_COOKIE_NAME, json.dumps(claims))
    return {"Cookie": f"_streamlit_xsrf=x; {USER_COOKIE_NAME}={value.decode()}"}


async def answered(request: Request) -> Response:
    return Response(status_code=200)


async def stream(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_json(sorted(socket.cookies))
    await socket.receive_text()


class Client:
    def __init__(self, portal: BlockingPortal) -> None:
        routes = [
            Route("/_stcore/upload_file/{session}/{file}", answered, methods=["PUT", "DELETE"]),
            Route("/media/{file}", answered),
            Route("/static/media/{file}", answered),
            Route("/auth/logout", answered),
            WebSocketRoute("/_stcore/stream", stream),
        ]
        self._app = Starlette(routes=routes)
        self._app.add_middleware(SignInGate)
        self._portal = portal

    def status(self, method: str, path: str, claims: object = None) -> int:
        async def ask() -> int:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://calib") as client:
                headers = {} if claims is None else cookie(claims)
                return (await client.request(method, path, headers=headers)).status_code

        return self._portal.call(ask)

    def connected(self, claims: object, then: Callable[[], None] | None = None) -> list[Message]:
        """What the server sends to a page that stays open for a second."""
        sent: list[Message] = []

        async def connection() -> None:
            async def receive() -> Message:
                if not sent:
                    return {"type": "websocket.connect"}
                await anyio.sleep(1.0)
                return {"type": "websocket.disconnect", "code": 1001}

            async def send(message: Message) -> None:
                sent.append(message)

            headers = [(b"cookie", cookie(claims)["Cookie"].encode())]
            path = {"type": "websocket", "path": "/_stcore/stream", "subprotocols": []}
            with suppress(WebSocketDisconnect):
                await self._app({**path, "headers": headers}, receive, send)

        future = self._portal.start_task_soon(connection)
        if then is not None:
            time.sleep(0.2)
            then()
        future.result()
        return sent


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with start_blocking_portal() as portal:
        yield Client(portal)


UPLOAD_A, UPLOAD_B = "/_stcore/upload_file/a/1", "/_stcore/upload_file/b/1"


def test_who_has_not_signed_in_sends_and_fetches_nothing(client: Client) -> None:
    strangers = [None, {**ADA, "is_logged_in": False}, ["is_logged_in"], ENDED]
    strangers += [{name: value for name, value in ADA.items() if name != "exp"}]
    for claims in strangers:
        for method, path in (("PUT", UPLOAD_A), ("DELETE", UPLOAD_A), ("GET", "/media/f1.csv")):
            assert client.status(method, path, claims) == 403
    # The page that asks for the sign-in has fonts.
    assert client.status("GET", "/static/media/font.woff2") == 200


def test_a_cookie_with_another_signature_is_none() -> None:
    for secret, is_known in ((SECRET, True), ("another secret", False)):
        cookies = dict([cookie(ADA, secret)["Cookie"].split("; ")[1].split("=", 1)])
        assert (sign_in.person_of(streamlit_private.signed_in_claims(cookies)) is not None) is (
            is_known
        )


def test_files_are_those_of_the_person_and_not_of_the_browser(
    client: Client, server: Server
) -> None:
    assert client.status("PUT", UPLOAD_A, ADA) == 200
    assert client.status("PUT", UPLOAD_B, ADA) == client.status("DELETE", UPLOAD_B, ADA) == 403
    assert client.status("GET", "/media/f1.csv", ADA) == 200
    assert client.status("GET", "/media/f2.csv", ADA) == 403
    # Both pages offer the same file.
    server._files_by_session_and_coord["a"]["2"] = "f2"
    assert client.status("GET", "/media/f2.csv", ADA) == 200
    # A page that is being drawn has not offered its files yet.
    assert client.status("GET", "/media/f3.csv", ADA) == 200
    # A later sign-in of the same person has other claims.
    assert client.status("PUT", UPLOAD_A, {**ADA, "nonce": "9", "iat": time.time()}) == 200


def test_signing_out_ends_all_sessions_of_the_person_and_this_sign_in(
    client: Client, server: Server
) -> None:
    server.people["a2"] = {**ADA, "nonce": "9"}
    server._files_by_session_and_coord["a2"] = {}
    session = shows("a.csv")
    open_sessions().add(IDENTITY, session)
    other = shows("a.csv")
    open_sessions().add("grace at https://id.example.org", other)
    source = session.own_data
    sent = client.connected(ADA, lambda: _sign_out(client))
    assert (sent[-1]["type"], sent[-1]["code"]) == ("websocket.close", 4401)
    assert list(server.people) == ["b"]
    assert server.orphans_removed >= 2
    assert open_sessions().find([IDENTITY], source) is None
    assert open_sessions().find(["grace at https://id.example.org"], source) is other
    # The cookie, or a copy of it, is that of a stranger; another sign-in of the person is not.
    assert client.status("PUT", UPLOAD_B, ADA) == 403
    assert sign_in.person_of(ADA) is None
    assert sign_in.person_of({**ADA, "nonce": "9"}) is not None


def _sign_out(client: Client) -> None:
    assert client.status("GET", "/auth/logout", ADA) == 200


def test_a_page_is_closed_when_the_sign_in_ends(client: Client) -> None:
    brief = {**ADA, "exp": time.time() + 0.3}
    sent = client.connected(brief)
    assert (sent[-1]["type"], sent[-1]["code"]) == ("websocket.close", 4401)
    assert client.connected(ADA)[-1]["type"] != "websocket.close"


def test_streamlit_sees_no_sign_in_that_has_ended(client: Client) -> None:
    for claims, names in (
        (ADA, ["_streamlit_user", "_streamlit_xsrf"]),
        (ENDED, ["_streamlit_xsrf"]),
        ({**ADA, "exp": None}, ["_streamlit_xsrf"]),
    ):
        _, message, *_ = client.connected(claims)
        assert json.loads(message["text"]) == names
