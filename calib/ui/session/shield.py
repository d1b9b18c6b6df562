"""Which requests the server refuses, and the security headers of its answers."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

# Streamlit's scripts are inline, made into blobs and compiled. Nothing is loaded from elsewhere.
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
METRICS = "/_stcore/metrics"
HERE = ("localhost", "127.0.0.1", "::1")


def shield(hosts: list[str]) -> list[Middleware]:
    """Middleware of the app that answers only these host names."""
    return [
        Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
        Middleware(Guard, shows_metrics=_is_set("CALIB_METRICS", os.environ)),
    ]


def _is_set(name: str, environ: Mapping[str, str]) -> bool:
    return environ.get(name, "").strip() not in ("", "0")


def names(address: str | None, more: list[str]) -> list[str]:
    """The names under which a server that listens at an address is asked.

    A page of another site can make a browser ask for its own name at this machine's address, and
    read the answer: a name that is not ours is refused.
    """
    found = [*HERE, *more]
    if address and address not in HERE:
        found += _own_names() if address in ("0.0.0.0", "::") else [address]
    return list(dict.fromkeys(found))


def _own_names() -> list[str]:
    found = [socket.gethostname(), socket.getfqdn()]
    with suppress(OSError):
        found += socket.gethostbyname_ex(socket.gethostname())[2]
    return found


class Guard:
    """Adds the headers to every answer, and keeps the metrics to those who asked for them."""

    def __init__(self, app: ASGIApp, shows_metrics: bool) -> None:
        self._app, self._shows_metrics = app, shows_metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"].endswith(METRICS) and not self._shows_metrics:
            await PlainTextResponse("Not found", 404)(scope, receive, send)
            return

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, sent)
