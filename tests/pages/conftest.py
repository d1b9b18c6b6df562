"""Files are read in this process, but for the tests of the process that reads them."""

from collections.abc import Iterator
from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner

from calib.ui.controls import uploaders


@pytest.fixture(autouse=True)
def read_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no process for each file: it takes seconds, and tests/loading/test_apart.py has it."""
    if request.path.name != "test_server.py":
        monkeypatch.setattr(uploaders, "is_harmless", lambda *_: True)


@pytest.fixture(scope="session", autouse=True)
def scanned_once() -> Iterator[None]:
    """Look for components of Streamlit in the installed packages once, not for each `AppTest`.

    It takes 0.3 seconds.
    """
    scan = cache(manifest_scanner.scan_component_manifests)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield
