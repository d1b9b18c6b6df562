"""A small report, and a database of each kind."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer

import numpy as np
import pytest

from calib.analysis import analyze
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.reports import Report
from calib.store import Store
from tests.rare import common_first, rare
from tests.store import postgres

MOMENT = "2026-03-01T09:05:00+00:00"
NUMBERS = itertools.count()
ROOT = Path(__file__).parents[2]
MAX_SECONDS = 100.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PostgreSQL takes seconds to start, and SQLite holds the same promises in `make test`."""
    for item in items:
        if "socket" in getattr(item, "fixturenames", ()):
            item.add_marker(rare)


@pytest.fixture(scope="session")
def report() -> Report:
    rng = np.random.default_rng(0)
    score = rng.random(60)
    rows = Predictions.from_arrays(rng.random(60) < score, score, name="scores.csv")
    analysis = analyze(rows, Settings(methods=(), n_bins=2))
    return Report.from_analysis(analysis, title="March", author="Ada", created=MOMENT)


@pytest.fixture(scope="session")
def socket() -> Iterator[str]:
    binaries = postgres.programs()
    if binaries is None:
        pytest.skip(postgres.MISSING)
    with postgres.cluster(binaries) as folder:
        yield folder


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'reports.db'}"


@pytest.fixture
def postgres_url(socket: str) -> str:
    return postgres.create_schema(socket, f"calib_{next(NUMBERS)}")


@pytest.fixture(params=common_first(["sqlite", "postgresql"], ["sqlite"]))
def url(request: pytest.FixtureRequest) -> str:
    name = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    address: str = request.getfixturevalue(name)
    return address


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        yield opened


@pytest.fixture(scope="session")
def other_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """What other processes print that do what tests/store/savers.py describes."""
    log = tmp_path_factory.mktemp("processes") / "log"
    command = [sys.executable, "-m", "tests.store.savers"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, cwd=ROOT, stderr=errors, **pipes) as server,
    ):

        def ask(*given: object) -> str:
            late = Timer(MAX_SECONDS, server.kill)
            late.start()
            server.stdin.write(json.dumps(given) + "\n")
            server.stdin.flush()
            lines = [""]
            while not lines[-1].startswith("done ") and (line := server.stdout.readline()):
                lines.append(line)
            late.cancel()
            assert lines.pop() == "done 0\n", log.read_text()
            return "".join(lines)

        yield ask
