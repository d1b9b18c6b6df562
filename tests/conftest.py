"""What every test can ask for."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# The same examples on every machine: a red test is red for everyone.
settings.register_profile("calib", derandomize=True, deadline=None)
settings.load_profile("calib")


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Saved reports of the tests lie in a folder of their own, not among the user's."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALIB_HOME", str(folder))
        patch.delenv("CALIB_DATABASE_URL", raising=False)
        yield folder


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the repository; not everyone has it."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("../shared is not here: skipped")
    return folder


@pytest.fixture(scope="session")
def problem():
    """Scores of four classes that are twice as sure as they should be, and labels."""
    rng = np.random.default_rng(0)
    z = rng.normal([0.6, 0.2, 0.0, -0.4], 1.0, (800, 4))
    label = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    scores = np.exp(2.0 * z)
    return scores / scores.sum(axis=1, keepdims=True), label
