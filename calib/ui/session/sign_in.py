"""Whether people sign in, and who a person is until the sign-in ends.

Pages know a person by `st.user`, all other requests by the signed cookie. Both ask `person_of`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import streamlit as st

from calib.ui.session.environment import amount
from calib.ui.streamlit_private import get_cookie_secret

SECONDS_PER_HOUR = 3600.0
MIN_SECRET_LENGTH = 32
# Earlier versions of the container and of the documentation had these texts.
PUBLISHED_SECRETS = (
    "example: replace it by a long random text",
    "a long random text, the same on every replica",
)
WEAK_SECRET = (
    "The cookie_secret in the section [auth] of secrets.toml {fault}, so others can sign in as "
    "anybody. Write at least {least} random characters there, such as the output of: "
    'python -c "import secrets; print(secrets.token_hex(32))"'
)


@dataclass(frozen=True, slots=True)
class Person:
    # The provider has verified this: the email address, or else its own name for the person.
    identity: str
    name: str
    ends: float  # When the sign-in ends, in seconds since 1970.

    @property
    def is_admin(self) -> bool:
        return self.identity in {
            admin.strip()
            for admin in os.environ.get("CALIB_ADMINS", "").split(",")
            if admin.strip()
        }


def is_configured() -> bool:
    return bool(st.secrets.load_if_toml_exists()) and "auth" in st.secrets


def check() -> None:
    """Raise ValueError if anybody could sign the cookies of people, or a setting is none."""
    hours()
    secret = get_cookie_secret() if is_configured() else None
    if secret is not None and (secret in PUBLISHED_SECRETS or len(secret) < MIN_SECRET_LENGTH):
        fault = "is an example" if secret in PUBLISHED_SECRETS else "has too few characters"
        raise ValueError(WEAK_SECRET.format(fault=fault, least=MIN_SECRET_LENGTH))


def person() -> Person | None:
    """The person whose page is drawn."""
    return person_of(st.user.to_dict()) if is_configured() else None


def person_of(claims: object) -> Person | None:
    """The person whom a provider's claims name, until that sign-in ends."""
    if not isinstance(claims, dict) or claims.get("is_logged_in") is not True:
        return None
    ends = _end(claims)
    if ends <= time.time() or _sign_in(claims) in _signed_out():
        return None
    identity = identity_of(claims)
    return Person(identity, str(claims.get("name") or identity), ends)


def identity_of(claims: Mapping[str, Any]) -> str:
    email = claims.get("email")
    if email and claims.get("email_verified") is True:
        return str(email)
    return f"{claims.get('sub')} at {claims.get('iss')}"


def hours() -> float | None:
    """How long a sign-in lasts; None: as long as the provider's token."""
    return amount("CALIB_SIGN_IN_HOURS", "hours")


def sign_out(claims: Any) -> None:
    """End the sign-in of a person's claims: its cookie, or a copy of it, opens nothing any more."""
    now, ended = time.time(), _signed_out()
    for sign_in in [one for one, ends in ended.items() if ends <= now]:
        del ended[sign_in]
    ended[_sign_in(claims)] = _end(claims)


def _end(claims: dict[str, Any]) -> float:
    lasts = hours()
    moment = claims.get("exp" if lasts is None else "iat")
    # OpenID Connect requires both. Without them a sign-in would never end, so it is none.
    if not isinstance(moment, (int, float)):
        return 0.0
    return moment + SECONDS_PER_HOUR * (lasts or 0.0)


def _sign_in(claims: dict[str, Any]) -> tuple[str, ...]:
    """What differs between two sign-ins, also of one person."""
    return tuple(str(claims.get(name)) for name in ("iss", "sub", "iat", "nonce"))


@cache
def _signed_out() -> dict[tuple[str, ...], float]:
    """The sign-ins of this server that people ended, and when they would have ended."""
    return {}
