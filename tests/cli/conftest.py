"""Files of predictions, and the command line called in this process."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib.cli import main
from calib.ui.session import serving
from tests.once import computed_once  # noqa: F401


@dataclass
class Done:
    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    def call(*arguments: object) -> Done:
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as left:
            status = int(left.code or 0)
        out, err = capsys.readouterr()
        return Done(status, out, err)

    return call


@pytest.fixture
def nothing_served(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The server holds no data, before the test and after it."""
    monkeypatch.setenv(serving.VARIABLE, "")
    serving.of_server.cache_clear()
    yield
    monkeypatch.undo()
    serving.of_server.cache_clear()


def frame(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(5)
    return pd.DataFrame(
        {
            "y": np.where(rng.random(n) < p**2, "yes", "no"),
            "p": p,
            "times": rng.integers(1, 4, n),
            "half": np.where(rng.random(n) < 0.5, "test", "train"),
            "household": rng.integers(0, n // 2, n),
        }
    )


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("predictions")
    rows = frame(600, 0)
    rows.to_csv(made / "scores.csv", index=False)
    rows.to_parquet(made / "scores.parquet", index=False)
    frame(400, 1).to_csv(made / "more.csv", index=False)
    rows.assign(p=100 * rows["p"]).to_csv(made / "percent.csv", index=False)
    rows.assign(y="yes").to_csv(made / "one_class.csv", index=False)
    return made
