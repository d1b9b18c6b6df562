"""What every test can ask for."""

import atexit
import gc
import signal
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from tests import golden

# All machines draw the same examples, so that a failing test fails for everyone. `make test-all`
# draws four times as many.
settings.register_profile("quick", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=100)
settings.load_profile("quick")

UPDATED = pytest.StashKey[golden.Kept]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="keep the texts that the code gives now"
    )


def pytest_configure(config: pytest.Config) -> None:
    # Imported modules are no garbage, so collecting is off until all tests are collected.
    gc.disable()
    config.stash[UPDATED] = defaultdict(dict)
    # A shell starts background jobs with interrupts ignored, and their processes inherit this.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What has been imported and collected stays: the garbage collector need not look at it.

    Each session of the app collects, and would search a million objects of the tests.
    """
    gc.freeze()
    gc.enable()
    # Extensions count leaked objects at the end of the process, and need the garbage collector
    # then.
    atexit.register(gc.unfreeze)


@pytest.hookimpl(optionalhook=True)  # The plugin pytest-xdist calls this hook.
def pytest_testnodedown(node, error) -> None:
    for file, texts in getattr(node, "workeroutput", {}).get("golden", {}).items():
        node.config.stash[UPDATED][file].update(texts)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """One process writes the file: each worker hands its texts over."""
    updated = session.config.stash[UPDATED]
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["golden"] = dict(updated)
    elif updated:
        kept = golden.read()
        golden.write(kept | {file: kept.get(file, {}) | texts for file, texts in updated.items()})


@pytest.fixture(scope="session")
def kept_texts() -> golden.Kept:
    return golden.read()


@pytest.fixture
def texts(request: pytest.FixtureRequest, kept_texts: golden.Kept) -> golden.Texts:
    """The kept texts of this test: see tests/golden/__init__.py."""
    file = request.path.relative_to(Path(__file__).parent).as_posix()
    update = request.config.getoption("--update-golden")
    updated = request.config.stash[UPDATED][file] if update else None
    return golden.Texts(kept_texts.get(file, {}), request.node.name, updated)


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
