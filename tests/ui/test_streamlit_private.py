"""Every assumption about Streamlit that its documentation does not promise, one test each.

If a test fails, its message names the place in Streamlit's source to look at, and
`calib/ui/streamlit_private.py` is what to change.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st
import uvicorn
from anyio.from_thread import start_blocking_portal
from starlette.routing import Route
from streamlit import cli_util, config
from streamlit.auth_util import set_cookie_with_chunks
from streamlit.runtime import Runtime, media_file_manager
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.script_data import ScriptData
from streamlit.runtime.scriptrunner import ScriptRunContext
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.session_manager import ActiveSessionInfo, SessionInfo
from streamlit.runtime.state import SessionState
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager
from streamlit.web.server.app_discovery import discover_asgi_app
from streamlit.web.server.starlette import starlette_auth_routes, starlette_routes
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from streamlit.web.server.starlette.starlette_server_config import TOKENS_COOKIE_NAME

from calib.ui import streamlit_private as private

CHECKED_WITH = "1.67.0"
ROOT = Path(__file__).parents[2]
FOLDER = Path(st.__file__).parent


@contextmanager
def assumption(look_at: str) -> Iterator[None]:
    """Say where to look if the body, or the test that this decorates, fails."""
    try:
        yield
    except Exception as error:
        raise AssertionError(
            f"Checked with Streamlit {CHECKED_WITH}, installed is {st.__version__}. "
            f"Look at {look_at}."
        ) from error


def test_the_checked_version_is_the_pinned_one() -> None:
    """After an update, run these tests, and then write its version above."""
    text = (ROOT / "requirements.txt").read_text()
    pinned = re.findall(r"^streamlit==(\S+)", text, re.MULTILINE)
    assert pinned == [CHECKED_WITH]


@assumption("is_host_allowed in web/server/starlette/starlette_websocket.py")
def test_hosts_are_those_of_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "get_option", {"server.allowedHosts": ["a.example"]}.get)
    assert private.is_host_allowed("a.example:8501")
    assert not private.is_host_allowed("b.example")
    assert not private.is_host_allowed(None)


@assumption("web/server/starlette/starlette_routes.py and starlette_auth_routes.py")
def test_metrics_and_sign_out_have_these_paths() -> None:
    server = SimpleNamespace(stats_mgr=None)
    routes = [
        *starlette_routes.create_metrics_routes(server, None),  # type: ignore[arg-type]
        *starlette_auth_routes.create_auth_routes(""),
    ]
    paths = {route.path for route in routes if isinstance(route, Route)}
    assert {private.METRICS_PATH, private.SIGN_OUT_PATH} <= paths


@assumption("create_upload_routes in web/server/starlette/starlette_routes.py")
def test_the_path_of_an_upload_ends_with_session_and_file() -> None:
    manager = MemoryUploadedFileManager("/_stcore/upload_file")
    routes = starlette_routes.create_upload_routes(None, manager, "base")  # type: ignore[arg-type]
    path = next(route.path for route in routes if isinstance(route, Route))
    assert path.endswith("/{session_id}/{file_id}")
    assert path == f"/base{private.UPLOAD_PATH}{{session_id}}/{{file_id}}"
    filled = f"{private.UPLOAD_PATH}ada/1"
    assert private.session_of_upload(filled) == "ada"
    assert private.session_of_upload("x") == ""


@assumption("runtime/memory_uploaded_file_manager.py and runtime/uploaded_file_manager.py")
def test_files_are_counted_and_freed_by_session(monkeypatch: pytest.MonkeyPatch) -> None:
    class Server:
        uploaded_file_mgr = MemoryUploadedFileManager("/_stcore/upload_file")

        @staticmethod
        def exists() -> bool:
            return True

        @classmethod
        def get_instance(cls) -> type["Server"]:
            return cls

    class Context:
        session_id = "ada"

    files = [UploadedFileRec(name, name, "text/csv", b"x" * 10) for name in ("a", "b")]
    for session in ("ada", "bob"):
        for file in files:
            Server.uploaded_file_mgr.add_file(session, file)
    monkeypatch.setattr(private, "runtime", Server)
    monkeypatch.setattr(private, "get_script_run_ctx", Context)
    assert private.uploaded_bytes(0) == {"ada": 20, "bob": 20}
    assert private.uploaded_bytes(16) == {"ada": 32, "bob": 32}
    private.remove_files([UploadedFile(files[0], None)])  # type: ignore[arg-type]
    private.remove_session_files("bob")
    assert {s: n for s, n in private.uploaded_bytes(0).items() if n} == {"ada": 10}
    assert "session_id" in ScriptRunContext.__dataclass_fields__


@assumption("runtime/runtime.py")
def test_the_runtime_knows_and_ends_sessions() -> None:
    assert callable(Runtime.is_active_session)
    assert callable(Runtime.close_session)
    assert isinstance(Runtime.uploaded_file_mgr, property)
    assert not private.is_connected("ada")


@assumption("runtime/runtime.py, session_manager.py and websocket_session_manager.py")
def test_sessions_that_were_left_are_listed_with_their_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert private.left_sessions() == {}
    assert "_session_mgr" in Runtime.__init__.__code__.co_names
    assert isinstance(AppSession.session_state, property)
    storage, state = MemorySessionStorage(), SessionState()
    state[private.SESSION_KEY] = "ours"
    manager = WebsocketSessionManager(storage, None, None, None)  # type: ignore[arg-type]
    ada, bob = (SimpleNamespace(id=name, session_state=state) for name in ("ada", "bob"))
    storage.save(SessionInfo(None, ada))  # type: ignore[arg-type]
    active = ActiveSessionInfo(object(), bob)  # type: ignore[arg-type]
    manager._active_session_info_by_id["bob"] = active
    server = SimpleNamespace(_session_mgr=manager)
    known = SimpleNamespace(exists=lambda: True, get_instance=lambda: server)
    monkeypatch.setattr(private, "runtime", known)
    assert private.left_sessions() == {"ada": "ours"}
    storage.save(SessionInfo(None, SimpleNamespace(id="cy", session_state=SessionState())))  # type: ignore[arg-type]
    assert private.left_sessions() == {"ada": "ours", "cy": None}


@assumption("_get_signed_cookie_with_chunks in web/server/starlette/starlette_websocket.py")
def test_the_cookie_of_a_person_is_signed_with_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "streamlit.web.server.starlette.starlette_websocket.get_cookie_secret"
    monkeypatch.setattr(place, lambda: "a secret of forty characters, or a few more")
    claims, name = {"is_logged_in": True}, private.USER_COOKIE_NAME

    def cookie(secret: str) -> dict[str, str]:
        return {name: create_signed_value(secret, name, json.dumps(claims)).decode()}

    assert private.signed_in_claims(cookie("a secret of forty characters, or a few more")) == claims
    assert private.signed_in_claims(cookie("another secret")) is None
    assert private.signed_in_claims({}) is None
    # A long cookie has more parts, and the tokens have another one. Others stay.
    line = f"{name}=x; {name}__1=y; {name}_tokens=z; _streamlit_xsrf=1; calib_replica=2"
    assert private.without_sign_in(line) == " _streamlit_xsrf=1; calib_replica=2"


@assumption("_chunk in auth_util.py and USER_COOKIE_NAME in starlette_server_config.py")
def test_all_cookies_of_a_sign_in_begin_with_one_name() -> None:
    signed: dict[str, str] = {}
    for name in (private.USER_COOKIE_NAME, TOKENS_COOKIE_NAME):
        claims, sign = {"name": "x" * 9000}, lambda _, value: value.encode()
        set_cookie_with_chunks(signed.__setitem__, sign, name, claims, cookie_attr_size=50)
    assert len(signed) > 2
    assert private.without_sign_in("; ".join(f"{name}=x" for name in signed)) == ""


@assumption(
    "list_sessions in runtime/websocket_session_manager.py and _user_info in app_session.py"
)
def test_sessions_know_their_people_and_files(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = {"sub": "ada"}
    storage = MemoryMediaFileStorage("/media")
    files = MediaFileManager(storage)
    sessions = WebsocketSessionManager(
        MemorySessionStorage(), MemoryUploadedFileManager("x"), ScriptCache(), None
    )
    server = SimpleNamespace(_session_mgr=sessions, media_file_mgr=files)
    known = SimpleNamespace(exists=lambda: True, get_instance=lambda: server)
    monkeypatch.setattr(private, "runtime", known)

    async def connect() -> str:
        script = ScriptData(str(ROOT / "app.py"), False)
        return sessions.connect_session(SimpleNamespace(), script, ada)  # type: ignore[arg-type]

    with start_blocking_portal() as portal:  # A worker whose browser is open has a loop of its own.
        session = portal.call(connect)
    assert private.sessions() == {session: ada}
    monkeypatch.setattr(media_file_manager, "_get_session_id", lambda: session)
    path = files.add(b"rows", "text/csv", "1", "a.csv", is_for_static_download=True)
    assert path.startswith("/media/")
    assert private.sessions_of_download(path) == {session}
    assert private.sessions_of_download("/media/other.csv") == set()
    assert private.sessions_of_download("/static/media/font.woff2") is None
    files.clear_session_refs(session)
    private.drop_downloads()
    with pytest.raises(MediaFileStorageError):
        storage.get_file(Path(path).name)


@assumption("static/index.html")
def test_the_document_has_the_places_of_the_script_and_the_style() -> None:
    document = (FOLDER / "static" / "index.html").read_bytes()
    parts = (private.HEAD, private.BODY_END)
    assert [document.count(part) for part in parts] == [1, 1]
    styled = private.styled_document(document, "p{}")
    assert str(private.SIGN_IN_ENDED).encode() in styled[: styled.index(b"</head>")]
    assert styled.index(b"<style>p{}</style>") > styled.index(b"</head>")


@assumption("ConfigOption in config_option.py and get_config_options in config.py")
def test_options_name_their_variable_and_type() -> None:
    environ = {
        "STREAMLIT_SERVER_PORT": "8612",
        "STREAMLIT_SERVER_ALLOWED_HOSTS": "a b",
        "STREAMLIT_SERVER_COOKIE_SECRET": "x",
    }
    options = private.options_of_environment(environ)
    assert options == {"server.port": 8612, "server.allowedHosts": ["a", "b"]}
    assert private.options_of_environment({"PATH": "/bin"}) == {}


@assumption("web/server/server_util.py, is_manually_set in config.py, open_browser in cli_util.py")
def test_a_browser_opens_at_the_address_of_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(cli_util, "open_browser", opened.append)
    private.open_browser(private.app_url())
    assert opened == [f"http://localhost:{st.get_option('server.port')}"]


@assumption("capture_signals in uvicorn's server.py")
def test_the_handler_of_the_signal_is_a_method_of_the_server() -> None:
    server = uvicorn.Server(uvicorn.Config("app:app"))
    assert server.config.timeout_graceful_shutdown is None
    with server.capture_signals():
        private.limit_stopping(10)
    assert server.config.timeout_graceful_shutdown == 10
    # Nothing is changed where another program has the signal.
    private.limit_stopping(11)
    assert server.config.timeout_graceful_shutdown == 10


@assumption("web/server/app_discovery.py")
def test_streamlit_run_finds_the_same_server_in_the_script() -> None:
    """Otherwise it serves the script alone, without the style in its documents and our checks."""
    assert discover_asgi_app(ROOT / "app.py").import_string == "app:app"
