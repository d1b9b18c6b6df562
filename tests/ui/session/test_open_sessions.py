"""Who finds an open session again: the person, or the browser that has the secret of the upload."""

import gc

import pytest

from calib.loading import read
from calib.ui.session.open_sessions import COOKIE, OpenSessions, script, secrets_of
from calib.ui.session.session import Session
from calib.ui.session.upload import Upload


def shows(name: str, rows: int = 40) -> Session:
    lines = [f"{i % 2},{(i % 9 + 0.5) / 9}" for i in range(rows)]
    session = Session()
    session.take(Upload.of(read("y,p\n" + "\n".join(lines) + "\n", name=name)))
    return session


def test_data_are_found_by_their_owner_alone():
    session, sessions = shows("a.csv"), OpenSessions[Session]()
    sessions.add("ada@example.org", session)
    source = session.own_data
    assert sessions.find(["ada@example.org"], source) is session
    assert sessions.find(["grace@example.org", ""], source) is None
    assert sessions.find([], source) is None
    sessions.forget("ada@example.org")
    assert sessions.find(["ada@example.org"], source) is None
    # A timer may keep the session for two minutes.
    assert session.upload is None


def test_a_session_is_not_kept_and_is_found_by_what_it_shows_now():
    session, sessions = shows("a.csv"), OpenSessions[Session]()
    source = session.own_data
    sessions.add("ada", session)
    session.take(shows("b.csv", 60).upload)
    assert sessions.find(["ada"], source) is None
    source = session.own_data
    sessions.add("ada", session)
    del session
    gc.collect()
    assert sessions.find(["ada"], source) is None


def test_each_upload_of_each_session_has_its_own_secret():
    session, other = shows("a.csv"), shows("a.csv")
    first, secrets = session.upload, {session.secret, other.secret}
    session.take(shows("b.csv", 60).upload)
    secrets.add(session.secret)
    assert len(secrets) == 3
    session.take(first)
    assert session.secret in secrets
    for secret in secrets:
        assert secrets_of({COOKIE: secret}) == (secret,)
        assert secret in script(secret)
        # No part of it is in the link.
        assert all(secret not in text for text in session.link().values())


@pytest.mark.parametrize("value", ["", ".", "x" * 32, "A" * 32, "0" * 31, "0" * 33])
def test_only_secrets_are_read_from_the_cookie(value):
    known = "0" * 32
    assert secrets_of({COOKIE: value}) == ()
    assert secrets_of({COOKIE: f"{value}.{known}"}) == (known,)
    assert secrets_of({}) == ()
