"""Files are read in this process, but for the tests of the process that reads them."""

import pytest

from calib.ui.controls import uploaders


@pytest.fixture(autouse=True)
def read_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no process for each file: it takes seconds, and tests/loading/test_apart.py has it."""
    if request.path.name != "test_server.py":
        monkeypatch.setattr(uploaders, "is_harmless", lambda *_: True)
