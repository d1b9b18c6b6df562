"""Updating by intercept only, against its likelihood and its target."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit

from calib import calibrator
from calib.calibrators.intercept import Intercept

EVENTS = [0, 4, 5, 6, 10, 11, 11, 16, 16, 20]
SCORE = np.repeat(np.arange(10) / 10 + 0.05, 20)
OUTCOME = np.concatenate([np.arange(20) < events for events in EVENTS])


def test_published_values():
    fitted = calibrator("intercept").fit(SCORE, OUTCOME)
    after = fitted.predict(SCORE)
    assert fitted.intercept_ == pytest.approx(-0.029852, abs=1e-6)
    assert after.mean() == pytest.approx(0.495, abs=1e-9)
    assert np.square(after - OUTCOME).mean() == pytest.approx(0.16495489, abs=1e-6)


@pytest.mark.parametrize("target", [1e-6, 0.0135, 0.4, 1 - 1e-6])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_calibrated_mean_is_the_target(target, weighted):
    rng = np.random.default_rng(3)
    score, outcome = rng.beta(0.3, 2.0, 5_000), rng.random(5_000) < 0.2
    weight = rng.random(5_000) + 0.1 if weighted else None
    fitted = Intercept(target_mean=target).fit(score, outcome, weight)
    assert np.average(fitted.predict(score), weights=weight) == pytest.approx(target, abs=1e-9)
    assert fitted.mean_after_ == pytest.approx(target, abs=1e-9)
    assert fitted.mean_before_ == pytest.approx(np.average(score, weights=weight))
    a = brentq(
        lambda a: np.average(expit(logit(score) + a), weights=weight) - target, -40, 40, xtol=1e-12
    )
    assert fitted.intercept_ == pytest.approx(a, abs=1e-6)


def test_a_target_needs_no_positive_row_and_the_observed_rate_does(texts):
    fitted = Intercept(target_mean=0.02).fit([0.01, 0.03], [0, 0])
    assert fitted.predict([0.01, 0.03]).mean() == pytest.approx(0.02, abs=1e-9)
    with texts.raises(ValueError):
        Intercept().fit([0.01, 0.03], [0, 0])


@pytest.mark.parametrize("target", [0.0, 1.0, -0.1, float("nan")])
def test_refuses_targets(target, texts):
    with texts.raises(ValueError):
        Intercept(target_mean=target).fit([0.2, 0.8], [0, 1])
