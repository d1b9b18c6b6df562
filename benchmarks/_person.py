"""A person at the dashboard without a browser: Streamlit's messages, and nothing drawn.

Ten real browsers would share the server's cores, and the server is what is measured.
"""

from __future__ import annotations

import time
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

PATIENCE = 120.0  # seconds for a first analysis on a busy machine
EARLY = ForwardMsg.FINISHED_EARLY_FOR_RERUN


class Person:
    """One session: opens pages, sets widgets by their keys, and waits for what is drawn."""

    def __init__(self, url: str) -> None:
        address = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
        self._socket = connect(address, subprotocols=["streamlit"], max_size=None)  # type: ignore[list-item]
        self._elements: dict[str, tuple[str, str]] = {}
        self._page = ""
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

    def close(self) -> None:
        """Leave: the server forgets the session."""
        self._socket.close()

    def _run(self, message: BackMsg, until: str = "") -> float:
        """Send, and read until the script has ended; seconds until `until` came."""
        start, seen = time.perf_counter(), 0.0
        self._socket.send(message.SerializeToString())
        while True:
            answer = ForwardMsg.FromString(self._socket.recv(timeout=PATIENCE))  # type: ignore[arg-type]
            if self._note(answer) == until and not seen:
                seen = time.perf_counter() - start
            if answer.WhichOneof("type") == "script_finished" and answer.script_finished != EARLY:
                return seen or time.perf_counter() - start

    def _note(self, answer: ForwardMsg) -> str:
        """Remember the page, widgets and errors; returns the key of a drawn element."""
        if answer.WhichOneof("type") == "navigation":
            self._page = answer.navigation.page_script_hash
        if answer.WhichOneof("type") != "delta" or not answer.delta.HasField("new_element"):
            return ""
        kind = answer.delta.new_element.WhichOneof("type")
        element = getattr(answer.delta.new_element, kind)
        if kind == "exception":
            self.errors.append(element.message)
        # An id ends with the key that the page gave.
        named = str(getattr(element, "id", ""))
        key = named.split("-", 2)[2] if named.count("-") >= 2 else ""
        if key and key != "None":
            self._elements[key] = (named, answer.delta.fragment_id)
        return key
