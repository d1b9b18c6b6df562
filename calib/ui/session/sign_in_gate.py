"""The gate of all requests, where people sign in.

Streamlit asks for a sign-in on its pages alone. Files are sent to a session, and fetched from one,
by everybody who knows the address, and the sign-in of an open page never ends.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from calib.ui import streamlit_private
from calib.ui.session import sign_in
from calib.ui.session.environment import give_back
from calib.ui.session.open_sessions import open_sessions
from calib.ui.session.sign_in import Person

SIGN_IN = "Sign in before you send or fetch a file."
NOT_YOURS = "This address belongs to the session of another person. Open the page again."


class SignInGate:
    """Files are those of the person who asks, and sessions end with the sign-in."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        # The connections of each person, whose time can be made to end.
        self._open: defaultdict[str, set[asyncio.Timeout]] = defaultdict(set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or not sign_in.is_configured():
            await self._app(scope, receive, send)
            return
        claims = streamlit_private.signed_in_claims(HTTPConnection(scope).cookies)
        person = sign_in.person_of(claims)
        if scope["type"] == "websocket":
            await self._connect(person, scope, receive, send)
            return
        if refused := _refusal(person, scope["path"]):
            await PlainTextResponse(refused, 403)(scope, receive, send)
            return
        if person and streamlit_private.is_at(scope["path"], streamlit_private.SIGN_OUT_PATH):
            sign_in.sign_out(claims)
            self._end_sessions(person.identity)
        await self._app(scope, receive, send)

    async def _connect(
        self, person: Person | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if person is None:
            headers = MutableHeaders(scope=scope)
            headers["cookie"] = streamlit_private.without_sign_in(headers.get("cookie", ""))
            await self._app(scope, receive, send)
            return
        limit = asyncio.timeout(person.ends - time.time())
        try:
            async with limit:
                self._open[person.identity].add(limit)
                try:
                    await self._app(scope, receive, send)
                finally:
                    self._open[person.identity].discard(limit)
        except TimeoutError:
            if not limit.expired():
                raise
            # The browser loads the page again, which asks for the sign-in.
            await send({"type": "websocket.close", "code": streamlit_private.SIGN_IN_ENDED})

    def _end_sessions(self, identity: str) -> None:
        """Forget all that this server holds of a person, and close the pages in all tabs."""
        for session in _sessions_of(identity):
            streamlit_private.end_session(session)
        open_sessions().forget(identity)
        streamlit_private.drop_downloads()
        for limit in self._open.pop(identity, ()):
            limit.reschedule(asyncio.get_running_loop().time())
        give_back()


def _refusal(person: Person | None, path: str) -> str:
    """Why a person may not send a file to an address, or fetch it from there, or ""."""
    receives = streamlit_private.session_of_upload(path)
    offer = streamlit_private.sessions_of_download(path)
    if not receives and offer is None:
        return ""
    if person is None:
        return SIGN_IN
    owners = {receives} & set(streamlit_private.sessions()) if receives else offer
    return NOT_YOURS if owners and not owners & _sessions_of(person.identity) else ""


def _sessions_of(identity: str) -> set[str]:
    return {
        session
        for session, claims in streamlit_private.sessions().items()
        if sign_in.identity_of(claims) == identity
    }
