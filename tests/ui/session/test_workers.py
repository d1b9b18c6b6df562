"""Work of many rows is done in other processes, with the same results and errors."""

import os
import pickle
import signal
import time
from collections.abc import Iterator

import numpy as np
import pytest

from calib.analysis import analyze
from calib.calibrators import CALIBRATORS
from calib.crossfit.settings import Settings
from calib.data.aggregating import aggregate
from calib.data.base import Data, Progress
from calib.data.predictions import Predictions
from calib.ui.session import state, turns
from calib.ui.session.turns import MIN_ROWS, Workers, in_other_process
from tests.rare import rare

MANY = {"n_rows": MIN_ROWS}


@pytest.fixture(scope="module", autouse=True)
def processes() -> Iterator[Workers]:
    """The processes of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        made = Workers()
        patch.setattr(turns, "workers", lambda: made)
        yield made
        made.close()


def rows(n: int = 300, **more: object) -> Predictions:
    rng = np.random.default_rng(0)
    p = rng.random(n).round(3)
    return Predictions.from_arrays(rng.random(n) < p**2, p, **more)  # type: ignore[arg-type]


def test_few_rows_are_computed_here() -> None:
    assert in_other_process(os.getpid, n_rows=MIN_ROWS - 1) == os.getpid()
    assert in_other_process(os.getpid, **MANY) != os.getpid()


def test_a_process_does_one_piece_of_work_after_the_other(processes: Workers) -> None:
    first = in_other_process(os.getpid, **MANY)
    assert in_other_process(os.getpid, **MANY) == first
    assert len(processes._idle) == 1


def test_a_process_is_ready_before_many_rows_are_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Workers()
    monkeypatch.setattr(turns, "workers", lambda: made)
    turns.prepare(MIN_ROWS - 1)
    assert not made._idle
    for _ in range(2):
        turns.prepare(MIN_ROWS)
    (ready,) = made._idle
    assert ready.is_alive
    made.close()
    assert not ready.is_alive


@rare
def test_an_analysis_is_the_same_and_refers_to_the_same_rows() -> None:
    given, settings = rows(), Settings(methods=("uncalibrated", "platt"))
    reported = list[tuple[float, str]]()

    def progress(share: float, text: str) -> None:
        reported.append((share, text))

    made = in_other_process(analyze, given, settings, progress=progress, **MANY)
    here = analyze(given, settings)
    assert made.table().equals(here.table())
    assert made.source is given
    assert not made.held_out.rows.score.flags.writeable
    # It reuses an earlier one, which is sent too.
    again = in_other_process(analyze, given, Settings(), earlier=made, **MANY)
    assert again.table().equals(analyze(given, Settings()).table())


def test_the_session_analyses_many_rows_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()

    def noted(function: object, *inputs: Data, n_rows: int, **_: object) -> None:
        asked.append(n_rows)

    monkeypatch.setattr(state, "in_other_process", noted)
    state._fit(rows(), Settings())
    assert asked == [300]


def test_an_error_comes_back_with_its_place() -> None:
    with pytest.raises(ValueError, match="invalid literal") as failed:
        in_other_process(int, "many", **MANY)
    assert "turns.py" in failed.value.__notes__[0]


class Abandoned(BaseException):
    """Streamlit ends a run with an error that is no Exception."""


def slow(*, progress: Progress) -> None:
    progress(0.5, "half")
    time.sleep(60.0)


@rare
def test_work_of_an_abandoned_run_is_ended(processes: Workers) -> None:
    def leave(_share: float, text: str) -> None:
        if text == "half":
            raise Abandoned

    in_other_process(os.getpid, **MANY)
    before, (process,) = time.monotonic(), processes._idle
    with pytest.raises(Abandoned):
        in_other_process(slow, progress=leave, **MANY)
    assert time.monotonic() < before + 30.0
    assert not process.is_alive
    assert not processes._idle


@rare
def test_a_process_that_dies_is_an_error_and_the_next_one_works(processes: Workers, texts) -> None:
    in_other_process(os.getpid, **MANY)
    with texts.raises(RuntimeError):
        in_other_process(kill_itself, **MANY)
    # One that died while it waited is replaced without an error.
    number = in_other_process(os.getpid, **MANY)
    os.kill(number, signal.SIGKILL)
    processes._idle[0]._process.wait()
    assert in_other_process(os.getpid, **MANY) != number


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def classes(n: int = 200) -> Predictions:
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(3), n)
    return Predictions.from_arrays(rng.integers(0, 3, n), scores)


@pytest.mark.parametrize(
    "given",
    [
        rows(group=np.arange(300) // 3),
        rows(sample_weight=np.arange(300) % 4 + 1.0),
        rows(test=np.arange(300) % 2),
        aggregate(rows()),
        classes(),
    ],
    ids=["clusters", "weights", "test rows", "counts", "classes"],
)
def test_every_kind_of_analysis_can_be_sent(given: Data) -> None:
    made = analyze(given, {"methods": ("uncalibrated", "platt", "isotonic")})
    data = turns._written(("done", made), [given])
    kind, value = turns._Reader(data, [given]).load()
    assert kind == "done"
    assert value.source is given
    assert value.table().equals(made.table())


@pytest.mark.parametrize("method", [key for key in CALIBRATORS if key != "uncalibrated"])
def test_every_calibrator_can_be_sent(method: str) -> None:
    given = rows() if CALIBRATORS[method].create is not None else classes()
    fitted = analyze(given, {"methods": ("uncalibrated", method)}).held_out.calibrators[method]
    sent = pickle.loads(pickle.dumps(fitted))
    assert sent.formula() == fitted.formula()
