"""Sessions that a link finds again, after a tab was loaded anew or closed.

A link names data, and whoever knows it is not yet allowed to see them. A session belongs to the
person who signed in. Without a sign-in it belongs to the browser that has its secret, which the
server gives to a browser once it has shown its upload there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

from calib.ui.session.links import LinkedData

COOKIE = "calib_uploads"
SECRET = re.compile(r"[0-9a-f]{32}")
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8").replace("COOKIE", COOKIE)


class Showing(Protocol):
    """A session that says what data of a person it shows."""

    @property
    def own_data(self) -> LinkedData: ...

    def free_data(self) -> None: ...


S = TypeVar("S", bound=Showing)


class OpenSessions(Generic[S]):
    """Sessions by owner and data. An owner is an identity, or the secret of one upload."""

    def __init__(self) -> None:
        # Streamlit keeps a session that was left for two minutes. This must not keep it longer.
        self._sessions: WeakValueDictionary[tuple[str, str, str], S] = WeakValueDictionary()

    def add(self, owner: str, session: S) -> None:
        self._sessions[owner, *session.own_data.key] = session

    def find(self, owners: Iterable[str], source: LinkedData) -> S | None:
        for owner in owners:
            session = self._sessions.get((owner, *source.key))
            # The session may show other data by now.
            if session is not None and session.own_data.key == source.key:
                return session
        return None

    def forget(self, owner: str) -> None:
        """No session of an owner is found again, and those that something keeps lose their data."""
        for place in [place for place in self._sessions if place[0] == owner]:
            if (session := self._sessions.pop(place, None)) is not None:
                session.free_data()


@cache
def open_sessions() -> OpenSessions[Any]:
    """The sessions of this server."""
    return OpenSessions()


def secrets_of(cookies: Mapping[str, str]) -> tuple[str, ...]:
    """The secrets that a browser has, the latest first."""
    return tuple(filter(SECRET.fullmatch, cookies.get(COOKIE, "").split(".")))


def script(secret: str) -> str:
    """A script that stores a secret in the browser."""
    return f"<script>{SCRIPT.replace('SECRET', secret)}</script>"
