"""The metric table in words."""

import math

import numpy as np
import pytest

from calib.analysis import analyze
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.numerics.estimate import Estimate
from calib.text import between, interval, signed
from calib.ui.layout.tables import change_lines, metric_columns


def test_calibration_errors_stand_beside_what_a_calibrated_model_shows():
    rng = np.random.default_rng(4)
    score = rng.beta(2, 2, 60)
    rows = Predictions.from_arrays(rng.random(60) < score, score)
    analysis = analyze(rows, Settings(methods=(), n_bins=10))
    shown = {
        column.key: column.cells.get("uncalibrated", ())
        for column in metric_columns(analysis.columns, analysis.methods)
    }
    for column in analysis.columns:
        cell, found = shown[column.key], analysis.uncalibrated.metrics[column.key]
        if column.key in ("ece_uniform", "ece_quantile", "mce", "ks_error"):
            assert cell[2] == f"chance level {found.noise_floor:.4f}"
        else:
            assert "chance level" not in " ".join(cell)
        if not math.isnan(found.low):
            assert cell[1] == interval(found, 3)
    # A calibrated model has this ECE with 60 rows in 10 bins.
    shown = float(shown["ece_quantile"][2].removeprefix("chance level "))
    assert 0.13 < shown < 0.16


@pytest.mark.parametrize(
    ("ends", "better", "evidence"),
    [
        ((-0.3, -0.1), "lower", "better"),
        ((-0.3, -0.1), "higher", "worse"),
        ((0.1, 0.3), "lower", "worse"),
        ((-0.1, 0.1), "lower", "inconclusive"),
        ((0.0, 0.0), "higher", "no change"),
    ],
)
def test_a_change_stands_above_its_interval_and_evidence(ends, better, evidence):
    value, bounds, said = change_lines(Estimate(sum(ends) / 2, *ends), 4, better)
    assert said == evidence
    assert (value, bounds) == (signed(sum(ends) / 2), between(*ends, 3, sign=True))
