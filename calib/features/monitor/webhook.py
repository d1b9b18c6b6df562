"""A JSON message to an address that a person named: in an option, a file or the environment."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import threading
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

MAX_SECONDS = 5.0
# Libraries disagree about the host of an address with other characters, such as a backslash or @.
HOST = r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?|\[[0-9a-f:.]+\]"
LOCAL_HOST = r"localhost|127\.0\.0\.1|\[::1\]"
ADDRESS = re.compile(
    rf"(https://({HOST})|http://({LOCAL_HOST}))(:[0-9]{{1,5}})?([/?#][!-~]*)?",
    re.IGNORECASE | re.ASCII,
)
MAX_PORT = 65_535
# The address often is a secret, and every user of the computer sees the arguments of a process.
VARIABLE = "CALIB_WEBHOOK"
FORMS = "must begin with https://, or with http:// and localhost, 127.0.0.1 or [::1]."


def webhook(text: str) -> str:
    """The address, if nobody on the way can read or change what is posted to it."""
    parts = ADDRESS.fullmatch(text)
    if parts is None or int((parts[4] or ":1")[1:]) > MAX_PORT or not _is_host(parts[2] or ""):
        # The address itself is not printed, because it often is a secret.
        raise ValueError(FORMS)
    return text


def _is_host(host: str) -> bool:
    """Whether a host in brackets is an address of IPv6; names were checked already."""
    if not host.startswith("["):
        return True
    try:
        ipaddress.IPv6Address(host[1:-1])
    except ValueError:
        return False
    return True


def chosen(option: str | None, file: Path | None) -> str | None:
    """The address of an option, else of a file, else of the environment; None if there is none.

    Raises ValueError if the file cannot be read or has no address, or the environment has none.
    """
    if option is not None:
        return option
    if file is not None:
        try:
            text, place = file.read_text("utf-8-sig").strip(), f"The address in {file}"
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise ValueError(
                f"The file of --webhook-file, {file}, cannot be read: {reason}."
            ) from None
    else:
        text, place = os.environ.get(VARIABLE, "").strip(), f"The address in {VARIABLE}"
        if not text:
            return None
    try:
        return webhook(text)
    except ValueError:
        raise ValueError(f"{place} {FORMS}") from None


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
