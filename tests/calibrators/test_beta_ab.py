"""Beta calibration with a fixed midpoint."""

import math

import numpy as np
import pytest

from calib.calibrators.beta import BetaMidpoint


def test_recovers_its_parameters():
    rng = np.random.default_rng(0)
    scores = rng.random(200_000)
    odds = (2 * scores) ** 0.7 / (2 * (1 - scores)) ** 1.6
    fitted = BetaMidpoint().fit(scores, rng.random(len(scores)) < odds / (1 + odds))
    # The tolerance is 5 standard errors.
    assert (fitted.a_, fitted.b_) == pytest.approx((0.7, 1.6), abs=0.08)
    assert fitted.c_ == pytest.approx((fitted.a_ - fitted.b_) * math.log(2))
    assert fitted.predict([0.5])[0] == pytest.approx(0.5)


def test_formula_is_the_map():
    fitted = BetaMidpoint().fit([0.1, 0.3, 0.4, 0.6, 0.7, 0.9], [0, 0, 1, 0, 0, 1])
    s = np.array([0.2, 0.8])
    odds = math.exp(fitted.c_) * s**fitted.a_ / (1 - s) ** fitted.b_
    assert fitted.predict(s) == pytest.approx(odds / (1 + odds))
