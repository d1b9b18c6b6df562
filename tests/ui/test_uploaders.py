"""The drop zone says where files stay."""

from types import SimpleNamespace

import pytest

from calib.ui.controls import uploaders


@pytest.mark.parametrize(
    ("url", "by_ssh", "where"),
    [
        ("http://localhost:8501/", False, "on this computer"),
        ("http://[::1]:8501/", False, "on this computer"),
        # A tunnel of SSH has the address of this computer, and the files stay on the other one.
        ("http://localhost:8501/", True, "on the computer that runs this app"),
        ("https://calib.example.org/", False, "on the server calib.example.org"),
        (None, False, "on the computer that runs this app"),
    ],
)
def test_the_place_of_files_is_that_of_the_server(monkeypatch, url, by_ssh, where):
    monkeypatch.setattr(uploaders, "st", SimpleNamespace(context=SimpleNamespace(url=url)))
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    if by_ssh:
        monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 50000 10.0.0.2 22")
    assert uploaders.files_stay() == f"Files stay {where}."
