"""How long a sign-in lasts, and the settings without which it would be none."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import streamlit as st

from calib.ui.session import sign_in

ROOT = Path(__file__).parents[3]
CLAIMS = {"is_logged_in": True, "sub": "ada", "iss": "https://id.example.org"}
RANDOM = "0123456789abcdef" * 2
SECRETS = '[auth]\ncookie_secret = "{secret}"\nredirect_uri = "http://localhost/oauth2callback"\n'


@pytest.mark.parametrize(("hours", "is_here"), [("1", True), ("0.5", False), ("1000", True)])
def test_an_operator_says_how_long_a_sign_in_lasts(
    hours: str, is_here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIB_SIGN_IN_HOURS", hours)
    token_ends = time.time() + (-60 if is_here else 60)
    claims = {**CLAIMS, "iat": time.time() - 2400, "exp": token_ends}
    assert (sign_in.person_of(claims) is not None) is is_here


def test_without_a_duration_it_lasts_as_long_as_the_token() -> None:
    for seconds, is_here in ((60, True), (-1, False)):
        claims = {**CLAIMS, "exp": time.time() + seconds}
        assert (sign_in.person_of(claims) is not None) is is_here
    # Without an end it would last forever.
    for end in (None, "2100-01-01", [time.time() + 60]):
        assert sign_in.person_of({**CLAIMS, "exp": end}) is None
    assert sign_in.person_of(CLAIMS) is None


@pytest.mark.parametrize("hours", ["0", "-1", "nan", "long"])
def test_a_duration_is_a_number_above_zero(
    hours: str, monkeypatch: pytest.MonkeyPatch, texts
) -> None:
    monkeypatch.setenv("CALIB_SIGN_IN_HOURS", hours)
    with texts.raises(ValueError):
        sign_in.check()


@pytest.mark.parametrize("secret", [*sign_in.PUBLISHED_SECRETS, "", "xxx", RANDOM[:-1], RANDOM])
def test_a_secret_that_others_know_or_guess_is_refused(
    secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(st.secrets, "load_if_toml_exists", lambda: True)
    monkeypatch.setattr(type(st.secrets), "__contains__", lambda _, name: name == "auth")
    monkeypatch.setattr(sign_in, "get_cookie_secret", lambda: secret)
    if secret == RANDOM:
        sign_in.check()
        return
    with pytest.raises(ValueError, match="cookie_secret") as caught:
        sign_in.check()
    # The sentence has the command that makes one, and not the secret.
    command = str(caught.value).rpartition(": ")[2]
    assert command.startswith("python -c ")
    made = subprocess.run(
        command.replace("python", sys.executable, 1), shell=True, capture_output=True, check=True
    )
    assert len(made.stdout.strip()) >= sign_in.MIN_SECRET_LENGTH
    assert not secret or repr(secret) not in str(caught.value)


def test_no_earlier_example_is_accepted() -> None:
    """The texts that stood in the files of the project are those that are refused."""
    texts = [
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("container/secrets.example.toml", "docs/server.md")
    ]
    for text in texts:
        line = next(line for line in text.splitlines() if line.startswith("cookie_secret"))
        assert len(line.split('"')[1]) < sign_in.MIN_SECRET_LENGTH


def test_the_server_does_not_start_with_an_example(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(SECRETS.format(secret=sign_in.PUBLISHED_SECRETS[0]))
    started = subprocess.run(
        [sys.executable, "-m", "calib", "serve", "--port", "0"],
        cwd=tmp_path,
        env=os.environ | {"STREAMLIT_SECRETS_FILES": str(secrets), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert started.returncode == 2
    assert "secrets.token_hex(32)" in started.stderr
    assert "Traceback" not in started.stderr
