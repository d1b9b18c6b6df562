"""Who may delete and restore a report, where people sign in."""

import time
from types import SimpleNamespace

import pytest

from calib.ui.session import identity, sign_in
from calib.ui.session.session import Session

ADA = {"email": "ada@example.org", "email_verified": True, "name": "Ada Lovelace"}
PEOPLE = {
    "owner": {**ADA, "sub": "ada"},
    "another": {"email": "grace@example.org", "email_verified": True, "sub": "grace"},
    # An address that was not verified does not identify a person.
    "unverified": {**ADA, "sub": "mallory", "email_verified": False},
    "admin": {"email": "root@example.org", "email_verified": True, "sub": "root"},
}


@pytest.mark.parametrize(
    ("name", "may"), [("owner", True), ("another", False), ("unverified", False), ("admin", True)]
)
def test_owners_and_admins_may_delete_and_restore(name, may, monkeypatch):
    known = {"iss": "https://id.example.org", "is_logged_in": True, **PEOPLE[name]}
    known["exp"] = time.time() + 60
    monkeypatch.setattr(sign_in, "is_configured", lambda: True)
    monkeypatch.setattr(sign_in.st, "user", SimpleNamespace(to_dict=lambda: known))
    monkeypatch.setenv("CALIB_ADMINS", "root@example.org")
    assert identity.may_change(Session(), "1", "ada@example.org") is may
    monkeypatch.setenv("CALIB_READ_ONLY", "1")
    assert not identity.may_change(Session(), "1", "ada@example.org")
