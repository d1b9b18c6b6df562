"""The metric table in words."""

import re

import numpy as np

from calib.analysis import analyze
from calib.core.predictions import Predictions
from calib.crossfit.settings import Settings
from calib.ui.tables import metric_rows


def test_calibration_errors_stand_beside_what_a_calibrated_model_shows():
    rng = np.random.default_rng(4)
    score = rng.beta(2, 2, 60)
    rows = Predictions.from_arrays(rng.random(60) < score, score)
    analysis = analyze(rows, Settings(methods=(), n_bins=10))
    (row,) = metric_rows(analysis)
    for column in analysis.columns:
        cell, floor = row[column.label], analysis.uncalibrated.metrics[column.key].noise_floor
        if column.key in ("ece_uniform", "ece_quantile", "mce", "ks_error"):
            assert cell.endswith(f" (calibrated: {floor:.4f})")
        else:
            assert "calibrated" not in cell
    # What perfection looks like with 60 rows in 10 bins.
    shown = float(re.search(r"calibrated: ([0-9.]+)", row["ECE, 10 quantile bins"])[1])
    assert 0.13 < shown < 0.16
