"""The chosen smoothness: a line where the truth is one, bends where it bends."""

import numpy as np
import pytest
from scipy.special import expit

from calib.numerics import smoothed_rate
from calib.numerics.penalized_logistic import PenalizedLogistic
from calib.numerics.smoothed_rate import choose_smoothness
from calib.numerics.splines import NaturalSpline

X = np.linspace(0.0, 1.0, 60)


def path(log_odds, rows=200.0, length=1.0, noise=0):
    weight = np.full(60, rows)
    positive = np.random.default_rng(noise).binomial(int(rows), expit(log_odds)).astype(float)
    spline = NaturalSpline(X * length)
    made = PenalizedLogistic(spline.basis(X * length), weight, positive, spline.curvature())
    return choose_smoothness(made, length)


def test_a_line_stays_a_line():
    chosen = [p.degrees[p.chosen] for p in (path(4.0 * X - 2.0, noise=k) for k in range(10))]
    assert np.median(chosen) < 3.0


def test_a_wave_is_followed():
    wave = 2.0 * np.sin(12.0 * X)
    fits = path(wave)
    assert fits.degrees[fits.chosen] > 6.0
    assert np.abs(fits.fit.value - wave).mean() < 0.1


def test_the_length_of_the_axis_does_not_matter():
    one, other = path(np.sin(9.0 * X)), path(np.sin(9.0 * X), length=1e-3)
    assert other.fit.value == pytest.approx(one.fit.value, abs=1e-6)
    assert other.chosen == one.chosen


def test_few_positives_end_the_path():
    fits = path(np.full(60, -6.0), rows=50.0)
    positives = 50.0 * 60 * expit(-6.0)
    assert fits.degrees[1:].max(initial=0.0) <= 2.0 + 2.0 * positives / 20.0


def test_the_path_goes_from_smooth_to_rough():
    fits = path(np.sin(9.0 * X))
    assert (np.diff(fits.lambdas) < 0).all()
    assert (np.diff(fits.degrees) > 0).all()
    assert fits.degrees[0] == pytest.approx(2.0, abs=0.05)


def test_the_steps_of_all_fits_are_counted(monkeypatch):
    steps, fit_logistic = [], smoothed_rate.fit_logistic

    def counted(*args):
        fit = fit_logistic(*args)
        steps.append(fit.n_iter)
        return fit

    monkeypatch.setattr(smoothed_rate, "fit_logistic", counted)
    fits = path(X - 0.5)
    assert len(steps) == len(fits.losses) + 1  # The best fit is repeated with full precision.
    assert fits.n_iter == sum(steps)
