"""Back from calibrated probabilities to scores, against closed formulas and the curve itself."""

import numpy as np
import pytest
from scipy.special import expit, logit

from calib.calibrators import calibrator
from calib.calibrators.inverse import inverse
from tests.rare import members

RNG = np.random.default_rng(2)
SCORE = RNG.random(2_000)
OUTCOME = RNG.random(2_000) < SCORE**2


@pytest.mark.parametrize("p", [0.001, 0.05, 0.5, 0.97])
def test_the_formula_of_a_line_on_the_log_odds(p):
    fitted = calibrator("logistic").fit(SCORE, OUTCOME)
    (found,) = inverse(fitted, p)
    expected = expit((logit(p) - fitted.intercept_) / fitted.slope_)
    assert (found.low, found.kind, found.rises) == (
        pytest.approx(expected, abs=1e-9),
        "point",
        True,
    )


@pytest.mark.parametrize("key", members(["beta", "spline", "ispline", "isotonic", "stack"]))
def test_the_curve_has_the_probability_there(key):
    fitted = calibrator(key).fit(SCORE, OUTCOME)
    (found,) = inverse(fitted, 0.2)
    assert fitted.predict([found.low, found.high]) == pytest.approx([0.2, 0.2], abs=1e-8)


def test_a_flat_piece_is_a_range():
    score, outcome = np.repeat([0.2, 0.4, 0.6, 0.8], 10), np.arange(40) % 10 < 5
    outcome[:10], outcome[30:] = np.arange(10) < 1, np.arange(10) < 9
    fitted = calibrator("isotonic").fit(score, outcome)
    (found,) = inverse(fitted, 0.5)
    assert (found.kind, found.low, found.high) == (
        "flat",
        pytest.approx(0.4, abs=1e-9),
        pytest.approx(0.6, abs=1e-9),
    )
    (first,) = inverse(fitted, 0.1)
    assert (first.kind, first.low, first.high) == ("flat", 0.0, pytest.approx(0.2, abs=1e-9))


def test_a_jump_passes_the_probability():
    fitted = calibrator("histogram", n_bins=2, strategy="uniform").fit(SCORE, OUTCOME)
    (found,) = inverse(fitted, 0.4)
    assert found.kind == "jump"
    below, above = fitted.predict([found.low, found.high])
    assert below < 0.4 < above
    assert found.low == pytest.approx(0.5, abs=1e-3)


def test_a_falling_curve_has_several():
    score = np.repeat([0.2, 0.4, 0.6, 0.8], 100)
    outcome = np.arange(400) % 100 < np.repeat([20, 60, 30, 90], 100)
    fitted = calibrator("spline").fit(score, outcome)
    found = inverse(fitted, 0.45)
    assert [one.rises for one in found] == [True, False, True]
    assert fitted.predict([one.low for one in found]) == pytest.approx([0.45] * 3, abs=1e-8)


def test_out_of_reach_is_empty_and_no_probability_is_refused(texts):
    fitted = calibrator("isotonic").fit(SCORE, OUTCOME)
    assert inverse(fitted, 1.0) == ()
    with texts.raises(ValueError):
        inverse(fitted, 1.5)
