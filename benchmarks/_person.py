"""A person at the dashboard without a browser: Streamlit's messages, and nothing drawn.

Ten real browsers would share the server's cores, and the server is what is measured.
"""

from __future__ import annotations

import time
from typing import Any

import httpx
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

MAX_WAIT_SECONDS = 120.0  # A first analysis on a busy machine takes less.
# Large messages that come again are sent by their hash.
MAX_KEPT_MESSAGES = 32
EARLY = ForwardMsg.FINISHED_EARLY_FOR_RERUN


class Person:
    """One session: opens pages, sets widgets by their keys, and waits for what is drawn."""

    def __init__(self, url: str, query: str = "") -> None:
        address = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
        self._client = httpx.Client(base_url=url, timeout=MAX_WAIT_SECONDS)
        # The cookies are Streamlit's token, and that of a proxy before several replicas.
        self._client.get("/_stcore/health")
        cookies = "; ".join(f"{name}={value}" for name, value in self._client.cookies.items())
        self._socket = connect(
            address,
            subprotocols=["streamlit"],
            additional_headers={"Cookie": cookies},
            max_size=None,
            ping_interval=None,
            legacy=True,
        )  # type: ignore[list-item]
        self._elements: dict[str, tuple[str, str]] = {}
        # A browser keeps these messages, which are then sent only by their hash.
        self._kept: dict[str, ForwardMsg] = {}
        self._page = self._session = self._alert = ""
        self._query = query
        self.errors: list[str] = []
        self._run(BackMsg(rerun_script={}))

    def open(self, page: str) -> None:
        """Go to a page by its name in the address."""
        message = BackMsg()
        message.rerun_script.page_name = page
        self._run(message)

    def set(self, key: str, field: str, value: Any, until: str = "") -> float:
        """Give a widget a value; returns seconds until an element was drawn, or all of them."""
        element, fragment = self._elements[key]
        message = BackMsg()
        message.rerun_script.page_script_hash = self._page
        message.rerun_script.fragment_id = fragment
        state = message.rerun_script.widget_states.widgets.add(id=element)
        if field == "double_array_value":
            state.double_array_value.data.extend(value)
        else:
            setattr(state, field, value)
        return self._run(message, until)

    def drop(self, key: str, name: str, data: bytes) -> float:
        """Drop a file on an uploader; returns seconds until the page was drawn."""
        # An uploader that was used has been replaced by a new one, which was drawn later.
        place = next(shown for shown in reversed(self._elements) if shown.startswith(key))
        element, fragment = self._elements[place]
        asked = BackMsg()
        asked.file_urls_request.request_id = "drop"
        asked.file_urls_request.file_names.append(name)
        asked.file_urls_request.session_id = self._session
        self._socket.send(asked.SerializeToString())
        while True:
            answer = ForwardMsg.FromString(self._socket.recv(timeout=MAX_WAIT_SECONDS))  # type: ignore[arg-type]
            self._note(answer)
            if answer.WhichOneof("type") == "file_urls_response":
                break
        (place_of_file,) = answer.file_urls_response.file_urls
        self._upload(place_of_file.upload_url, name, data)
        message = BackMsg()
        message.rerun_script.page_script_hash = self._page
        message.rerun_script.fragment_id = fragment
        state = message.rerun_script.widget_states.widgets.add(id=element)
        state.file_uploader_state_value.uploaded_file_info.add(
            file_id=place_of_file.file_id, name=name, size=len(data), file_urls=place_of_file
        )
        return self._run(message)

    def _upload(self, path: str, name: str, data: bytes) -> None:
        # The token against request forgery is in a cookie, and must also be sent as a header.
        token = self._client.cookies.get("_streamlit_xsrf", "")
        sent = self._client.put(path, files={"file": (name, data)}, headers={"X-Xsrftoken": token})
        sent.raise_for_status()

    def said(self) -> str:
        """The last alert that was drawn: the words, in short."""
        return " ".join(self._alert.split())[:70]

    def close(self) -> None:
        """Leave: the server forgets the session."""
        self._socket.close()
        self._client.close()

    def _run(self, message: BackMsg, until: str = "") -> float:
        """Send, and read until the script has ended; seconds until `until` came."""
        start, seen = time.perf_counter(), 0.0
        # No message is dropped while a script runs, because the server may refer to it.
        while len(self._kept) > MAX_KEPT_MESSAGES:
            del self._kept[next(iter(self._kept))]
        message.rerun_script.cached_message_hashes.extend(self._kept)
        message.rerun_script.query_string = self._query
        self._socket.send(message.SerializeToString())
        while True:
            answer = ForwardMsg.FromString(self._socket.recv(timeout=MAX_WAIT_SECONDS))  # type: ignore[arg-type]
            if self._note(answer) == until and not seen:
                seen = time.perf_counter() - start
            if answer.WhichOneof("type") == "script_finished" and answer.script_finished != EARLY:
                return seen or time.perf_counter() - start

    def _whole(self, answer: ForwardMsg) -> ForwardMsg:
        """The message that a hash stands for; the last few that a browser would keep are kept."""
        if answer.WhichOneof("type") == "ref_hash":
            answer = self._kept.pop(answer.ref_hash)
        elif not answer.metadata.cacheable:
            return answer
        self._kept[answer.hash] = answer
        return answer

    def _note(self, answer: ForwardMsg) -> str:
        """Remember the page, widgets and errors; returns the key of a drawn element."""
        if answer.WhichOneof("type") == "new_session":
            self._session = answer.new_session.initialize.session_id
        answer = self._whole(answer)
        if answer.WhichOneof("type") == "navigation":
            self._page = answer.navigation.page_script_hash
        if answer.WhichOneof("type") != "delta" or not answer.delta.HasField("new_element"):
            return ""
        kind = answer.delta.new_element.WhichOneof("type")
        element = getattr(answer.delta.new_element, kind)
        if kind == "exception":
            self.errors.append(element.message)
        if kind == "alert":
            self._alert = element.body
        # An id ends with the key that the page gave.
        element_id = str(getattr(element, "id", ""))
        key = element_id.split("-", 2)[2] if element_id.count("-") >= 2 else ""
        if key and key != "None":
            self._elements[key] = (element_id, answer.delta.fragment_id)
        return key
