"""Pages without a browser."""

import pytest

from calib.ui import follow


@pytest.fixture(autouse=True)
def _whole_pages(monkeypatch):
    """Draw whole pages: of parts that follow on their own, AppTest forgets what is around them."""
    monkeypatch.setattr(follow, "follow", lambda: None)
