"""How much the server takes of uploads, and how long it keeps them."""

import gc
import math
import weakref
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import Message
from starlette.websockets import WebSocket
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.session_manager import SessionInfo
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from calib.ui import streamlit_private
from calib.ui.session import receiving
from calib.ui.session.environment import budget_gb
from calib.ui.session.memo import Memo, Results
from calib.ui.session.receiving import Receiving
from calib.ui.session.session import Session

MB = 2**20


class Server:
    """What of Streamlit's server an upload meets."""

    def __init__(self) -> None:
        self.uploaded_file_mgr = MemoryUploadedFileManager("/_stcore/upload_file")
        self.active = {"ada", "bob"}
        self.closed: list[str] = []
        self.states: dict[str, dict[str, Session]] = {"ada": {}, "bob": {}}
        self._session_mgr = self

    def list_sessions(self) -> list[SessionInfo]:
        return [
            SessionInfo(
                self if session in self.active else None,  # type: ignore[arg-type]
                SimpleNamespace(id=session, session_state=state),  # type: ignore[arg-type]
            )
            for session, state in self.states.items()
        ]

    def is_active_session(self, session: str) -> bool:
        return session in self.active

    def close_session(self, session: str) -> None:
        self.closed.append(session)
        del self.states[session]

    async def put(self, request: Request) -> Response:
        data = b"".join([chunk async for chunk in request.stream()])
        session, file = request.path_params["session"], request.path_params["file"]
        self.uploaded_file_mgr.add_file(session, UploadedFileRec(file, file, "text/csv", data))
        return Response(status_code=204)

    async def stream(self, socket: WebSocket) -> None:
        await socket.accept()
        self.active.discard(await socket.receive_text())
        await socket.close()

    @property
    def held_mb(self) -> float:
        files = self.uploaded_file_mgr.file_storage.values()
        return sum(len(file.data) for each in files for file in each.values()) / MB


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    known = SimpleNamespace(exists=lambda: True, get_instance=lambda: made)
    monkeypatch.setattr(streamlit_private, "runtime", known)
    monkeypatch.setenv("CALIB_SESSION_UPLOAD_GB", str(2.5 / 1024))
    monkeypatch.setenv("CALIB_SERVER_UPLOAD_GB", str(3.5 / 1024))
    return made


class Client:
    """Asks the app without a socket, in a loop of its own."""

    def __init__(self, app: Starlette, portal: BlockingPortal) -> None:
        self._app, self._portal = app, portal

    def put(self, session: str, file: str, content: Any, **more: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://calib") as client:
                return await client.put(
                    f"/_stcore/upload_file/{session}/{file}", content=content, **more
                )

        return self._portal.call(ask)

    def leave(self, session: str) -> None:
        """The connection of a session ends."""
        messages = [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": session}]

        async def receive() -> Message:
            return messages.pop(0)

        async def send(_: Message) -> None:
            pass

        scope = {"type": "websocket", "path": "/_stcore/stream", "headers": [], "subprotocols": []}
        self._portal.call(self._app, scope, receive, send)

    def wait(self, seconds: float) -> None:
        self._portal.call(anyio.sleep, seconds)


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    app = Starlette(
        routes=[
            Route("/_stcore/upload_file/{session}/{file}", server.put, methods=["PUT"]),
            WebSocketRoute("/_stcore/stream", server.stream),
        ]
    )
    app.add_middleware(Receiving)
    # In a thread: a worker whose browser is open has a loop of its own.
    with start_blocking_portal() as portal:
        yield Client(app, portal)


def sent(client: Client, session: str, file: str, size: int, **more: Any) -> int:
    return client.put(session, file, b"x" * size, **more).status_code


def test_without_sign_in_everybody_uploads(client: Client, server: Server) -> None:
    assert sent(client, "ada", "1", MB) == 204
    assert server.held_mb == 1


def test_a_session_and_a_server_have_a_budget(client: Client, server: Server) -> None:
    assert [sent(client, "ada", str(i), MB) for i in range(3)] == [204, 204, 413]
    assert server.held_mb == 2
    assert [sent(client, "bob", str(i), MB) for i in range(2)] == [204, 413]
    assert server.held_mb == 3
    # Files that were read make room, and a refused upload has left no debt.
    server.uploaded_file_mgr.remove_session_files("ada")
    assert sent(client, "bob", "1", MB) == 204


def test_one_upload_is_cut_where_the_budget_ends(client: Client, server: Server) -> None:
    read = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(100):
            read += 1
            yield b"x" * (MB // 4)

    answer = client.put("ada", "1", chunks())
    assert answer.status_code == 413
    assert "CALIB_SESSION_UPLOAD_GB" in answer.text
    assert server.held_mb == 0
    assert read <= 11


def test_a_silent_upload_is_given_up_and_frees_its_budget(
    client: Client, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "MAX_SILENT_SECONDS", 0.2)

    async def chunks() -> AsyncIterator[bytes]:
        for seconds in (0.1, 0.1, 0.1, 20.0):
            yield b"x" * (MB // 2)
            await anyio.sleep(seconds)

    answer = client.put("ada", "1", chunks())
    assert answer.status_code == 408
    assert server.held_mb == 0
    assert [sent(client, "ada", str(i), MB) for i in range(2)] == [204, 204]


def test_files_of_one_byte_count(client: Client) -> None:
    assert {sent(client, "ada", str(i), 1) for i in range(39)} == {204}
    assert sent(client, "ada", "last", 1) == 413


def test_what_a_person_who_left_uploaded_is_freed(
    client: Client, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "FILES_KEPT_SECONDS", 0.0)
    monkeypatch.setattr(receiving, "SESSION_KEPT_SECONDS", 0.05)
    for session in ("ada", "bob"):
        assert sent(client, session, "1", MB) == 204
    client.leave("ada")
    client.wait(0.3)
    assert list(server.uploaded_file_mgr.file_storage) == ["bob"]
    assert server.closed == ["ada"]


def test_who_comes_back_keeps_the_files(
    client: Client, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "FILES_KEPT_SECONDS", 0.5)
    monkeypatch.setattr(receiving, "SESSION_KEPT_SECONDS", 0.5)
    assert sent(client, "ada", "1", MB) == 204
    client.leave("ada")
    server.active.add("ada")
    client.wait(0.8)
    assert server.held_mb == 1
    assert server.closed == []


def test_results_go_with_the_connection_if_the_process_holds_too_much(
    client: Client, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIB_MEMORY_GB", "1")
    resident = 2**29
    monkeypatch.setattr(receiving, "resident_bytes", lambda: resident)
    for name in ("ada", "bob"):
        session = server.states[name]["calib"] = Session(memo=Memo(Results(MB)))
        session.memo(len, (1, 2))
    ada, bob = (weakref.ref(state["calib"]) for state in server.states.values())
    del session
    client.leave("ada")
    # It may come back, and half of the budget is free.
    assert server.closed == []
    assert [len(one.memo) for one in (ada(), bob()) if one] == [1, 1]
    resident = 2**30 + 1
    monkeypatch.setattr(receiving, "SESSION_KEPT_SECONDS", 1.0)
    client.leave("nobody")
    # The data stay for a reloaded tab, and the other person is still here.
    assert server.closed == ["ada"]
    assert [len(one.memo) for one in (ada(), bob()) if one] == [0, 1]
    client.wait(1.5)
    gc.collect()
    assert ada() is None
    assert bob() is not None


def test_memory_that_becomes_short_after_a_session_was_left_ends_it(
    client: Client, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "FILES_KEPT_SECONDS", 0.5)
    resident = iter([0.0, math.inf])
    monkeypatch.setattr(receiving, "resident_bytes", lambda: next(resident))
    client.leave("ada")
    assert server.closed == []
    client.wait(0.8)
    assert server.closed == ["ada"]


def test_an_upload_that_is_broken_off_is_no_error(server: Server) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        async for _ in Request(scope, receive).stream():
            pass

    messages = iter([{"type": "http.request", "body": b"x", "more_body": True}])

    async def receive() -> dict[str, object]:
        return next(messages, {"type": "http.disconnect"})

    scope = {"type": "http", "method": "PUT", "path": "/_stcore/upload_file/ada/1", "headers": []}
    with start_blocking_portal() as portal:
        with pytest.raises(ClientDisconnect):
            portal.call(app, scope, receive, None)
        messages = iter([{"type": "http.request", "body": b"x", "more_body": True}])
        portal.call(Receiving(app), scope, receive, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["0", "-1", "many", "nan", "inf"])
def test_a_budget_is_a_number_above_zero(text: str, monkeypatch: pytest.MonkeyPatch, texts) -> None:
    monkeypatch.setenv("CALIB_SERVER_UPLOAD_GB", text)
    with texts.raises(ValueError):
        budget_gb("CALIB_SERVER_UPLOAD_GB", 4.0)
