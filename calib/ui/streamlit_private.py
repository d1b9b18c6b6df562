"""All that calib uses of Streamlit without its documentation, with the reason for each.

Streamlit may change any of it in any release. `tests/ui/test_streamlit_private.py` checks every
assumption, and names the version with which it was checked.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st
import uvicorn
from streamlit import cli_util, config, runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile
from streamlit.url_util import make_url_path
from streamlit.web.server.server_util import get_cookie_secret, get_display_address, get_url
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import (
    _get_signed_cookie_with_chunks,
    is_host_allowed,
)

__all__ = ["METRICS_PATH", "SIGN_OUT_PATH", "UploadedFile", "get_cookie_secret", "is_host_allowed"]

# Streamlit serves both to everybody and has no option that closes them.
METRICS_PATH, SIGN_OUT_PATH = "/_stcore/metrics", "/auth/logout"
# Everybody who knows an address below these gets or sends the file.
UPLOAD_PATH, DOWNLOAD_PATH = "/_stcore/upload_file/", "/media/"

# The place of our session in Streamlit's state.
SESSION_KEY = "calib"

# The parts of the HTML document at which something is inserted. No option adds to the document,
# and an element of a page is drawn about 0.4 s after the first content.
HEAD, BODY_END = b"<head>", b"</body>"
# The server closes the pages of a person whose sign-in has ended, by a code for private use.
# Streamlit connects again and leaves the page as it is, with the rows of that person. So does a
# browser that kept the page for its Back button; such a page is empty until it is loaded again. The
# page that signs out is about to leave, and a reload would stop it.
SIGN_IN_ENDED = 4401
RELOAD = """let leaves = -Infinity;
addEventListener("beforeunload", () => { leaves = performance.now(); });
window.WebSocket = class extends WebSocket {
  constructor(...address) {
    super(...address);
    this.addEventListener("close", ({ code }) => {
      if (code === %d) setTimeout(() => location.reload(), leaves + 10000 - performance.now());
    });
  }
};
addEventListener("pagehide", () => { document.documentElement.hidden = true; });
addEventListener("pageshow", ({ persisted }) => { if (persisted) location.reload(); });"""


def signed_in_claims(cookies: Mapping[str, str]) -> object:
    """What the signed cookie of a person says, or None.

    `st.user` exists only in a session; a request for an upload comes without one.
    """
    signed = _get_signed_cookie_with_chunks(dict(cookies), USER_COOKIE_NAME)
    try:
        return json.loads(signed or b"null")
    except ValueError:
        return None


def without_sign_in(cookies: str) -> str:
    """The header of cookies without those of a sign-in.

    Streamlit reads them when a browser connects, and knows no other end of them than 30 days.
    """
    parts = cookies.split(";")
    return ";".join(part for part in parts if not part.strip().startswith(USER_COOKIE_NAME))


def sessions() -> dict[str, Mapping[str, Any]]:
    """The claims of the people of all sessions, also of those that were left, by session."""
    if not runtime.exists():
        return {}
    held = runtime.get_instance()._session_mgr.list_sessions()
    return {info.session.id: dict(info.session._user_info) for info in held}


def session_of_upload(path: str) -> str:
    """The session in the address of an upload, which ends with the ids of session and file.

    Streamlit limits the size of one file, and not what one session uploads.
    """
    return ("", *path.split("/"))[-2] if _is_below(path, UPLOAD_PATH) else ""


def sessions_of_download(path: str) -> set[str] | None:
    """The sessions whose pages offer the file of an address; None: the address has no such file.

    A page that is being drawn has not yet said what it offers. Streamlit gives a file to everybody
    who knows its address.
    """
    if not _is_below(path, DOWNLOAD_PATH):
        return None
    file = Path(path).stem
    offered = runtime.get_instance().media_file_mgr._files_by_session_and_coord
    return {session for session, files in list(offered.items()) if file in list(files.values())}


def drop_downloads() -> None:
    """Free the files that no session offers. Streamlit waits until it has looked for them twice."""
    for _ in range(2):
        runtime.get_instance().media_file_mgr.remove_orphaned_files()


def is_at(path: str, place: str) -> bool:
    """Whether a request is for a place. One with more slashes may be sent on to the place."""
    return ("/" + "/".join(filter(None, path.split("/")))).endswith(place)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(make_url_path(config.get_option("server.baseUrlPath") or "", folder))


def is_connected(session: str) -> bool:
    """Whether a browser is connected to a session. Nothing public tells of sessions that ended."""
    return runtime.exists() and runtime.get_instance().is_active_session(session)


def left_sessions() -> dict[str, Any]:
    """Our session, or None, of each session without a connection. Nothing public lists them."""
    if not runtime.exists():
        return {}
    held = runtime.get_instance()._session_mgr.list_sessions()
    left = {info.session.id: info.session.session_state for info in held if info.client is None}
    return {
        session: state[SESSION_KEY] if SESSION_KEY in state else None  # noqa: SIM401
        for session, state in left.items()
    }


def end_session(session: str) -> None:
    """Streamlit itself ends a session only when it next looks at those that were left."""
    runtime.get_instance().close_session(session)


def _uploads() -> MemoryUploadedFileManager | None:
    manager = runtime.get_instance().uploaded_file_mgr if runtime.exists() else None
    return manager if isinstance(manager, MemoryUploadedFileManager) else None


def uploaded_bytes(least: int) -> dict[str, int]:
    """Bytes of the complete files of each session. Smaller files count as `least` bytes.

    Streamlit does not say what it holds.
    """
    manager = _uploads()
    if manager is None:
        return {}
    return {
        session: sum(max(len(file.data), least) for file in list(files.values()))
        for session, files in list(manager.file_storage.items())
    }


def remove_files(files: Sequence[UploadedFile]) -> None:
    """Free files of this session that were read: Streamlit keeps them as long as the session."""
    context, manager = get_script_run_ctx(), _uploads()
    if context is not None and manager is not None:
        for file in files:
            manager.remove_file(context.session_id, file.file_id)


def remove_session_files(session: str) -> None:
    """Free the files of a session without connection, which Streamlit keeps for two minutes."""
    manager = _uploads()
    if manager is not None:
        manager.remove_session_files(session)


def styled_document(document: bytes, css: str) -> bytes:
    """The HTML document with our style at its end, after Streamlit's: the later rule holds."""
    script, end = f"<script>{{{RELOAD % SIGN_IN_ENDED}}}</script>", f"<style>{css}</style>"
    return document.replace(BODY_END, end.encode() + BODY_END).replace(
        HEAD, HEAD + script.encode(), 1
    )


def options_of_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Options by variables such as STREAMLIT_SERVER_PORT; Streamlit itself reads what is secret.

    Only `streamlit run` reads them, not a server that is started by `st.App.run`.
    """
    import click

    options: dict[str, Any] = {}
    # Streamlit logs a warning if options are read twice, so they are read only if necessary.
    is_set = any(variable.startswith("STREAMLIT_") for variable in environ)
    for name, option in config.get_config_options().items() if is_set else ():
        if option.env_var in environ and not option.sensitive:
            kind, text = click.types.convert_type(option.type), environ[option.env_var]
            options[name] = list(map(kind, text.split())) if option.multiple else kind(text)
    return options


def load_options(options: Mapping[str, Any]) -> None:
    """Set the options as `st.App.run` does, so that they and the secrets can be checked before."""
    from streamlit.web import bootstrap

    bootstrap.load_config_options(dict(options))


def limit_stopping(seconds: int) -> None:
    """Let the server close connections that are open so long after it was told to stop.

    Streamlit makes the server and passes no limit on, so it would wait for a silent connection for
    ever. The signal's handler is a method of that server.
    """
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    if isinstance(server, uvicorn.Server):
        server.config.timeout_graceful_shutdown = seconds


def app_url() -> str:
    """The address of the app, as `streamlit run` prints it. No public function makes it."""
    address = st.get_option("browser.serverAddress")
    if not config.is_manually_set("browser.serverAddress"):
        address = get_display_address(st.get_option("server.address") or "localhost")
    return get_url(address)


def open_browser(url: str) -> None:
    """Open a browser as `streamlit run` does for a script; for an `st.App` it opens none."""
    cli_util.open_browser(url)
