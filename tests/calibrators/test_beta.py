"""Beta calibration against R and published numbers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from calib.calibrators.beta import Beta


def test_adult(shared):
    train = pd.read_csv(shared / "data/adult/adult_nb_cal.csv")
    test = pd.read_csv(shared / "data/adult/adult_nb_test.csv")
    fitted = Beta().fit(train.score, train.y)
    assert log_loss(test.y, fitted.predict(test.score)) == pytest.approx(0.40308, abs=1e-4)


def test_recovers_its_own_parameters():
    rng = np.random.default_rng(0)
    scores = rng.beta(2.0, 3.0, 200_000)
    odds = np.exp(0.3) * scores**0.5 / (1 - scores) ** 1.5
    fitted = Beta().fit(scores, rng.random(len(scores)) < odds / (1 + odds))
    assert (fitted.a_, fitted.b_, fitted.c_) == pytest.approx((0.5, 1.5, 0.3), abs=0.05)


def test_negative_coefficient_becomes_zero():
    rng = np.random.default_rng(0)
    scores = rng.random(5000)
    odds = scores**-0.5 / (1 - scores) ** 2
    fitted = Beta().fit(scores, rng.random(5000) < odds / (1 + odds))
    assert fitted.a_ == 0.0
    assert fitted.b_ > 0.0


def test_two_scores_make_a_and_b_equal():
    fitted = Beta().fit([0.2, 0.2, 0.2, 0.8, 0.8, 0.8], [0, 0, 1, 0, 1, 1])
    assert fitted.a_ == fitted.b_
    assert fitted.predict([0.2, 0.8]) == pytest.approx([1 / 3, 2 / 3])


def test_separated_classes_are_softened():
    fitted = Beta().fit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    assert fitted.separated_
    assert "separate" in fitted.formula()
    assert 0.0 < fitted.predict([0.2])[0] < 0.5 < fitted.predict([0.8])[0] < 1.0
