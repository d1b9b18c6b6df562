"""Overconfident scores and overconfident class scores."""

import numpy as np
import pytest

from calib.calibrators import calibrator, multiclass_calibrator


@pytest.fixture(scope="session")
def rows():
    rng = np.random.default_rng(0)
    z = rng.normal(-0.5, 1.5, 400)
    scores = np.concatenate([[0.0, 1.0], 1 / (1 + np.exp(-(1.8 * z + 0.4)))])
    return scores, np.concatenate([[1, 0], rng.random(400) < 1 / (1 + np.exp(-z))]).astype(int)


@pytest.fixture(scope="session")
def fit(rows, problem):
    """Makes a fitted calibrator, of one score or of four classes; each is fitted once."""
    calibrators = {}
    # A query of its 200 knots takes long to write, and isotonic regression tests as many pieces.
    fewer = {"splinecalib": {"n_knots": 50}}

    def made(key, matrix=False):
        if (key, matrix) not in calibrators:
            new = multiclass_calibrator(key) if matrix else calibrator(key, **fewer.get(key, {}))
            calibrators[key, matrix] = new.fit(*(problem if matrix else rows))
        return calibrators[key, matrix]

    return made
