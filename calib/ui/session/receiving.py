"""Uploads that the server takes: how much, and how long their memory is kept.

Streamlit keeps an uploaded file in memory, with no limit on number or sum, and frees it when it
next looks at sessions that were left, which can be hours later.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from calib.ui import streamlit_private
from calib.ui.session.environment import budget_gb, budget_of_process, give_back, resident_bytes

# A smaller file counts as this size, because a million files of one byte take memory too.
MIN_COUNTED_BYTES = 2**16
# A person whose connection is lost for a moment keeps files that were not read yet.
FILES_KEPT_SECONDS = 10.0
# A connection that was lost, or is held open on purpose, sends nothing for this long.
MAX_SILENT_SECONDS = 30.0
# Streamlit waits 120 seconds for a lost connection. After that it knows no session to end.
SESSION_KEPT_SECONDS = 110.0
SILENT = "The upload was given up, because nothing arrived for {seconds:g} seconds. Try again."
FULL = (
    "The server holds as many uploaded files as it may ({limit:g} GB {whose}). Try again in two "
    "minutes, or ask its operator to set {variable}."
)


class Receiving:
    """Refuses uploads beyond the budget, and ends sessions that were left."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._of_session = budget_gb("CALIB_SESSION_UPLOAD_GB", 2.0)
        self._of_server = budget_gb("CALIB_SERVER_UPLOAD_GB", 4.0)
        self._of_process = budget_of_process()
        # Bytes of incomplete uploads, by session.
        self._arriving: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            try:
                await self._app(scope, receive, send)
            finally:
                self._left()
        elif scope["type"] == "http" and scope["method"] == "PUT":
            # If a person leaves during an upload, that is no error of the server.
            try:
                await self._put(scope, receive, send)
            except ClientDisconnect:
                return
        else:
            await self._app(scope, receive, send)

    async def _put(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = streamlit_private.session_of_upload(scope["path"])
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            try:
                message = await asyncio.wait_for(receive(), MAX_SILENT_SECONDS)
            except TimeoutError:
                raise HTTPException(408, SILENT.format(seconds=MAX_SILENT_SECONDS)) from None
            size = len(message.get("body", b""))
            taken += size
            self._arriving[session] += size
            self._check(session)
            return message

        self._arriving[session] += MIN_COUNTED_BYTES
        try:
            await self._app(scope, counted, send)
        finally:
            self._arriving[session] -= taken + MIN_COUNTED_BYTES
            self._arriving += Counter()

    def _check(self, session: str) -> None:
        held = streamlit_private.uploaded_bytes(MIN_COUNTED_BYTES)
        for limit, whose, variable, kept in (
            (self._of_session, "per person", "CALIB_SESSION_UPLOAD_GB", [session]),
            (self._of_server, "in all", "CALIB_SERVER_UPLOAD_GB", [*held, *self._arriving]),
        ):
            total = sum(held.get(key, 0) + self._arriving[key] for key in {*kept})
            if total > limit * 2**30:
                words = FULL.format(limit=limit, whose=whose, variable=variable)
                raise HTTPException(413, words)

    def _left(self) -> None:
        """Free what sessions without a connection hold, unless they come back in time."""
        loop = asyncio.get_running_loop()
        if left := [*streamlit_private.left_sessions()]:
            self._relieve(left)
            loop.call_later(FILES_KEPT_SECONDS, _free_files, left)
            loop.call_later(FILES_KEPT_SECONDS, self._relieve, left)
            loop.call_later(SESSION_KEPT_SECONDS, _end, left)

    def _relieve(self, sessions: Sequence[str]) -> None:
        """If the process holds too much, end sessions that were left. Only their data are kept."""
        if resident_bytes() <= self._of_process:
            return
        left = streamlit_private.left_sessions()
        kept = [left[session] for session in sessions if left.get(session)]
        for data in kept:
            data.free_results()
        # The timer holds the data, which a reloaded tab finds as long as without this.
        asyncio.get_running_loop().call_later(SESSION_KEPT_SECONDS, kept.clear)
        _end(sessions)


def _end(sessions: Sequence[str]) -> None:
    for session in _gone(sessions):
        streamlit_private.end_session(session)
    give_back()


def _gone(sessions: Sequence[str]) -> list[str]:
    """The sessions that have no connection."""
    return [session for session in sessions if not streamlit_private.is_connected(session)]


def _free_files(sessions: Sequence[str]) -> None:
    for session in _gone(sessions):
        streamlit_private.remove_session_files(session)
