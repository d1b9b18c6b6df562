"""What every test can ask for."""

from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every machine: a red test is red for everyone.
settings.register_profile("calib", derandomize=True, deadline=None)
settings.load_profile("calib")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the repository; not everyone has it."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("../shared is not here: skipped")
    return folder
