"""Platt scaling against scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import _SigmoidCalibration
from sklearn.metrics import log_loss

from calib.calibrators.logistic import Platt


def test_agrees_with_scikit_learn():
    rng = np.random.default_rng(3)
    scores = rng.random(2000)
    y = rng.random(2000) < scores**2
    weight = rng.integers(1, 4, 2000).astype(float)
    effective = weight * weight.sum() / (weight @ weight)  # Platt's targets count weights as rows.
    theirs = _SigmoidCalibration().fit(scores, y, effective)
    ours = Platt().fit(scores, y, weight)
    assert (ours.slope_, ours.intercept_) == pytest.approx((-theirs.a_, -theirs.b_), rel=1e-4)
    grid = np.linspace(0, 1, 101)
    assert ours.predict(grid) == pytest.approx(theirs.predict(grid), abs=1e-6)


def test_adult(shared):
    train = pd.read_csv(shared / "data/adult/adult_nb_cal.csv")
    test = pd.read_csv(shared / "data/adult/adult_nb_test.csv")
    fitted = Platt().fit(train.score, train.y)
    assert log_loss(test.y, fitted.predict(test.score)) == pytest.approx(0.42872, abs=1e-5)


def test_falling_truth_gives_the_base_rate(texts):
    fitted = Platt().fit([0.1, 0.2, 0.8, 0.9, 0.95], [1, 1, 0, 0, 0])
    assert fitted.constant_
    assert fitted.predict([0.0, 0.5, 1.0]) == pytest.approx([0.4, 0.4, 0.4])
    texts.shown(fitted.formula())


def test_targets_are_softened():
    # The fit to two separated rows passes through Platt's targets 1/3 and 2/3.
    assert Platt().fit([0.2, 0.6], [0, 1]).predict([0.2, 0.6]) == pytest.approx([1 / 3, 2 / 3])
