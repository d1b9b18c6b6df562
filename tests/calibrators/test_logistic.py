"""Logistic calibration."""

import numpy as np
import pytest
from scipy.special import expit

from calib.calibrators.beta import BetaSymmetric
from calib.calibrators.logistic import Logistic
from calib.data.cells import ScoreCells


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    z = rng.normal(-1, 1.5, 100_000)
    return expit(1.8 * z + 0.4), rng.random(len(z)) < expit(z)


def test_recovers_the_distortion(data):
    fitted = Logistic().fit(*data)
    assert (fitted.slope_, fitted.intercept_) == pytest.approx((1 / 1.8, -0.4 / 1.8), abs=0.02)


def test_rows_and_cells_give_the_same_fit(data):
    scores, y = data
    from_cells = Logistic().fit_cells(ScoreCells.from_arrays(y, scores))
    assert Logistic().fit(scores, y).slope_ == pytest.approx(from_cells.slope_, rel=1e-8)


def test_is_beta_with_equal_exponents(data):
    grid = np.linspace(0, 1, 11)
    ours, beta = Logistic().fit(*data), BetaSymmetric().fit(*data)
    assert beta.predict(grid) == pytest.approx(ours.predict(grid), abs=1e-12)
    assert (beta.a_, beta.c_) == (ours.slope_, ours.intercept_)
