"""The middleware of the server: requests that are refused, security headers, and the look of pages.

Streamlit draws CSS of a page as one more element, whose script arrives after the first content:
until then the navigation stands in the page, and all of it moves. So the style is in the document
that a browser opens from the start.
"""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from calib.ui.session.page_list import MOVED
from calib.ui.session.receiving import Receiving
from calib.ui.session.sign_in_gate import SignInGate
from calib.ui.streamlit_private import (
    METRICS_PATH,
    SIGN_OUT_PATH,
    is_at,
    is_host_allowed,
    styled_document,
)

# Streamlit's scripts are inline, made into blobs and compiled. Nothing is loaded from another site.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self' data: blob:",
        "worker-src 'self' blob:",
        "frame-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
# Streamlit's tags do not depend on the style, so a browser would keep a document with an old style.
CONDITIONAL_HEADERS = (b"accept-encoding", b"if-none-match", b"if-modified-since")
VALIDATORS = ("etag", "last-modified")


def middleware(css: str) -> list[Middleware]:
    """All middleware, the outermost first. `css` is the style of the pages."""
    shows_metrics = os.environ.get("CALIB_METRICS", "").strip() not in ("", "0")
    return [
        Middleware(KnownHosts),
        Middleware(Guard, shows_metrics=shows_metrics),
        Middleware(SignInGate),
        Middleware(Receiving),
        Middleware(Styled, css=css),
    ]


def host_names(address: str | None, more: list[str]) -> list[str]:
    """The names under which a server that listens at an address is asked.

    A page of another site can make a browser ask for its own name at this machine's address, and
    read the answer: a name that is not ours is refused.
    """
    hosts = [*THIS_MACHINE, *more]
    if address:
        hosts += (
            _names_of_machine() if address in ("0.0.0.0", "::") else [as_browsers_write(address)]
        )
    return list(dict.fromkeys(hosts))


def as_browsers_write(address: str) -> str:
    """An IP address in its shortest form, without brackets; names stay as they are.

    >>> as_browsers_write("[0:0:0:0:0:0:0:1]"), as_browsers_write("calib.lan")
    ('::1', 'calib.lan')
    """
    try:
        return str(ip_address(address.strip("[]")))
    except ValueError:
        return address


def _names_of_machine() -> list[str]:
    hosts = [socket.gethostname(), socket.getfqdn()]
    with suppress(OSError):
        addresses = socket.getaddrinfo(socket.gethostname(), None)
        # A link-local address ends with the name of an interface, which no browser writes.
        hosts += [str(place[0]).partition("%")[0] for *_, place in addresses]
    return hosts


class KnownHosts:
    """Refuses requests that no page of this server makes, before anything else reads them.

    Streamlit checks names (`server.allowedHosts`) for sessions alone, and Starlette's own check
    cuts [::1]:8501 at its first colon. Streamlit opens sessions for pages of every port of this
    machine. The pattern of a route also matches a path with a line break after it, which no
    comparison of paths expects.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = _refusal(scope) if scope["type"] in ("http", "websocket") else None
        if refused is None:
            await self._app(scope, receive, send)
        else:
            await refused(scope, receive, send)


def _refusal(scope: Scope) -> PlainTextResponse | None:
    headers = Headers(scope=scope)
    if not scope["path"].isprintable():
        return PlainTextResponse("Invalid character in the path", 400)
    host, origin = headers.get("host"), headers.get("origin")
    if host is None or not is_host_allowed(host):
        return PlainTextResponse("Invalid host header", 400)
    # A proxy may speak HTTPS to browsers. A program that is no browser sends no origin.
    served = (None, f"http://{host}".lower(), f"https://{host}".lower())
    if scope["type"] == "websocket" and (origin and origin.lower()) not in served:
        return PlainTextResponse("A page of another address asked for a session", 403)
    return None


def is_from_elsewhere(headers: Headers) -> bool:
    """Whether a request may come from a page of another site.

    Browsers name the site of the page only on HTTPS and on this machine; else the page itself, as
    our own pages let them, is the sign.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    return urlsplit(headers.get("referer", "")).netloc != headers.get("host")


class Guard:
    """Adds the headers to every answer, and refuses what is not for everybody.

    Metrics are for operators who asked for them; a page of another site must not sign a person out.
    """

    def __init__(self, app: ASGIApp, shows_metrics: bool) -> None:
        self._app, self._shows_metrics = app, shows_metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if is_at(scope["path"], METRICS_PATH) and not self._shows_metrics:
            await PlainTextResponse("Not found", 404)(scope, receive, send)
            return
        if is_at(scope["path"], SIGN_OUT_PATH) and is_from_elsewhere(Headers(scope=scope)):
            words = "Another site asked to sign you out. Sign out on a page of the dashboard."
            await PlainTextResponse(words, 403)(scope, receive, send)
            return

        if moved := MOVED.get(scope["path"].rpartition("/")[2]):
            # The address is relative, because the server may be below a path of a proxy.
            page, _, added = moved.partition("?")
            query = "&".join(filter(None, (scope["query_string"].decode(), added)))
            address = f"./{page}?{query}" if query else f"./{page}"
            await RedirectResponse(address)(scope, receive, send)
            return

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, sent)


class Styled:
    """Writes CSS, and where the server is, into every HTML document of the app."""

    def __init__(self, app: ASGIApp, css: str) -> None:
        self.app = app
        self.css = css

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or "text/html" not in Headers(scope=scope).get("accept", ""):
            await self.app(scope, receive, send)
            return
        held: list[Message] = []

        async def hold(message: Message) -> None:
            held.append(message)

        # Ask for a complete, uncompressed document.
        asked = [pair for pair in scope["headers"] if pair[0] not in CONDITIONAL_HEADERS]
        await self.app({**scope, "headers": asked}, receive, hold)
        for message in self._with_style(held):
            await send(message)

    def _with_style(self, held: list[Message]) -> list[Message]:
        start, *parts = held
        headers = MutableHeaders(raw=list(start["headers"]))
        of_text = headers.get("content-type", "").startswith("text/html")
        if not of_text or "content-encoding" in headers:
            return held
        body = b"".join(part.get("body", b"") for part in parts)
        body = styled_document(body, self.css)
        for name in VALIDATORS:
            del headers[name]
        headers["content-length"] = str(len(body))
        return [{**start, "headers": headers.raw}, {"type": "http.response.body", "body": body}]
