import numpy as np
import pytest

import calib
from calib.curves.functions import ece_sensitivity
from calib.metrics import expected_calibration_error


def held_out(power, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    made = calib.Predictions.from_arrays(rng.random(n) < p**power, p)
    return calib.analyze(made, calib.Settings(methods=("uncalibrated",))).held_out


def sensitivity(result, **more):
    return ece_sensitivity(result.cells["uncalibrated"], result.replicates["uncalibrated"], **more)


def test_every_value_is_the_metrics():
    result = held_out(1.5)
    frame = sensitivity(result).frame()
    assert len(frame) == 2 * 46
    for row in frame.sample(12, random_state=0).itertuples():
        expected = expected_calibration_error(
            result.cells["uncalibrated"], n_bins=row.n_bins, strategy=row.strategy
        )
        assert row.ece == pytest.approx(expected, abs=1e-12)
    assert (frame["low"] <= frame["ece"]).all()
    assert (frame["ece"] <= frame["high"]).all()
    assert ((frame["low"] > 0) == frame["miscalibrated"]).all()


def test_noise_is_what_calibrated_outcomes_show():
    result = held_out(1.0, n=4000)
    cells, noise = (
        result.cells["uncalibrated"],
        sensitivity(result, fewest=15, most=15).uniform.noise,
    )
    rng = np.random.default_rng(5)
    shown = [
        expected_calibration_error(rng.random(4000) < cells.score, cells.score) for _ in range(400)
    ]
    assert noise[0] == pytest.approx(np.quantile(shown, 0.95), rel=0.06)


def test_a_large_error_flips_nowhere_and_a_small_one_somewhere():
    result = sensitivity(held_out(1.5))
    assert (result.share, result.flips) == (1.0, False)
    assert any(sensitivity(held_out(1.09, n=1500, seed=seed)).flips for seed in range(8))


def test_an_empty_range_is_refused(texts):
    with texts.raises(ValueError):
        sensitivity(held_out(1.5), fewest=10, most=5)
