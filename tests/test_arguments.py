"""Arguments of a wrong kind: each is refused with its name, the rule and the value."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calib
from calib.calibrators import multiclass_calibrator
from calib.numerics.arrays import check_kinds

N = 60
SCORES = np.linspace(0.05, 0.95, N)
OUTCOMES = np.arange(N) % 3 % 2
FRAME = pd.DataFrame({"y": OUTCOMES, "p": SCORES, "region": np.where(SCORES > 0.5, "a", "b")})
ROWS = calib.Predictions.from_arrays(OUTCOMES, SCORES)

REFUSED = {
    "outcome": lambda: calib.load(FRAME, outcome=["y"], score="p"),
    "score": lambda: calib.load(FRAME, outcome="y", score=0.5),
    "swap": lambda: calib.load(FRAME, outcome="y", score="p", swap="no"),
    "a series": lambda: calib.load(pl.Series(SCORES)),
    "columns": lambda: calib.Predictions.from_arrays(OUTCOMES, SCORES, columns=["region"]),
    "class_names": lambda: calib.Predictions.from_arrays(OUTCOMES, SCORES, class_names="ab"),
    "settings": lambda: calib.Settings(methods="platt"),
    "level": lambda: calib.Settings(confidence_level="95%"),
    "epsilon": lambda: calib.calibrator("spline", epsilon="small").fit(SCORES, OUTCOMES),
    "n_bins": lambda: calib.calibrator("histogram", n_bins=2.5).fit(SCORES, OUTCOMES),
    "shrink": lambda: calib.calibrator("isotonic", shrink=1).fit(SCORES, OUTCOMES),
    "unknown parameter": lambda: calib.calibrator("spline", epsilonn=0.1),
    "no parameters": lambda: calib.calibrator("platt", epsilon=0.1),
    "unknown parameter of a matrix": lambda: multiclass_calibrator("dirichlet", strong=0.1),
    "bins of a metric": lambda: calib.metrics.expected_calibration_error(
        OUTCOMES, SCORES, n_bins="15"
    ),
    "a frame for counts": lambda: calib.aggregate(FRAME),
    "a frame for segments": lambda: calib.find_segments(FRAME),
    "a frame for a certificate": lambda: calib.certify(FRAME),
    "a frame for conventions": lambda: calib.conventions(FRAME, "0.1"),
    "a frame for a report": lambda: calib.report(FRAME),
    "a frame for an export": lambda: calib.export(FRAME, "map.json"),
    "max_error": lambda: calib.certify(ROWS, max_error="5%"),
    "path": lambda: calib.load_calibrator(3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_of_a_wrong_kind_are_refused(name, texts):
    with texts.raises(TypeError, name):
        REFUSED[name]()


def test_views_that_are_no_text_are_refused(texts):
    with texts.raises(ValueError):
        ROWS.view(1)


def test_numbers_of_numpy_and_none_are_accepted(texts):
    def function(n: int = 1, x: float | None = None, exact: bool = False) -> None: ...

    check_kinds(function, {"n": np.int64(2), "x": np.float32(0.5), "exact": np.bool_(True)})
    check_kinds(function, {"x": None})
    check_kinds(function, {"x": 1})
    with texts.raises(TypeError):
        check_kinds(function, {"n": True})


@pytest.mark.parametrize("scan", [False, True], ids=["load", "scan"])
def test_columns_can_have_numbers_as_names(scan):
    numbered = FRAME.set_axis(range(3), axis=1)
    read = calib.scan if scan else calib.load
    counted = read(numbered, outcome=0, score=1, slices=[2])
    assert (counted.outcome_name, counted.score_name, *counted.columns) == ("0", "1", "2")


def test_one_slice_column_needs_no_list():
    assert list(calib.load(FRAME, outcome="y", score="p", slices="region").columns) == ["region"]


def test_frames_of_polars_are_analysed():
    frame = pl.DataFrame({"y": OUTCOMES, "p": SCORES})
    settings = {"methods": ("platt",)}
    of_pandas = calib.analyze(FRAME[["y", "p"]], settings)
    assert calib.analyze(frame, settings).table().equals(of_pandas.table())
