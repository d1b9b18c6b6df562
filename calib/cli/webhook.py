"""A JSON message to an address that a person named."""

from __future__ import annotations

import argparse
import json
import re
import threading
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

MAX_SECONDS = 5.0
# Libraries disagree about the host of an address with other characters, such as a backslash or @.
HOST = r"[a-z0-9._-]+|\[[0-9a-f:.]+\]"
LOCAL_HOST = r"localhost|127\.0\.0\.1|\[::1\]"
ADDRESS = re.compile(
    rf"(https://({HOST})|http://({LOCAL_HOST}))(:[0-9]{{1,5}})?([/?#][!-~]*)?",
    re.IGNORECASE | re.ASCII,
)
MAX_PORT = 65_535


def webhook(text: str) -> str:
    """The address, if nobody on the way can read or change what is posted to it."""
    parts = ADDRESS.fullmatch(text)
    if parts is None or int((parts[4] or ":1")[1:]) > MAX_PORT:
        # The address itself is not printed, because it often is a secret.
        raise argparse.ArgumentTypeError(
            "must begin with https://, or with http:// and localhost, 127.0.0.1 or [::1]."
        )
    return text


class _NoRedirects(HTTPRedirectHandler):
    """Another address could be one that the person did not choose."""

    def redirect_request(self, *_: Any) -> None:
        return None


def post(url: str, contents: Mapping[str, Any], seconds: float = MAX_SECONDS) -> str:
    """Post JSON. What went wrong within so many seconds, or ""."""
    outcome = [f"did not answer within {seconds:g} seconds"]

    def send() -> None:
        headers = {"Content-Type": "application/json", "User-Agent": "calib"}
        request = Request(url, json.dumps(contents).encode(), headers, method="POST")
        handlers: list[Any] = [_NoRedirects]
        if url[:5].casefold() == "http:":
            # A proxy is another computer.
            handlers.append(ProxyHandler({}))
        try:
            with build_opener(*handlers).open(request, timeout=seconds):
                outcome[0] = ""
        except HTTPError as error:
            redirects = ", and redirects are not followed" if 300 <= error.code < 400 else ""
            outcome[0] = f"answered {error.code}{redirects}"
        except (OSError, ValueError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            if not isinstance(reason, TimeoutError):
                outcome[0] = f"cannot be reached: {getattr(reason, 'strerror', None) or reason}"

    # The time-out of a socket begins anew with every byte, so the whole exchange is limited here.
    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    thread.join(seconds)
    return outcome[0]
