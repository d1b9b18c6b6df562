"""Logistic regression against closed forms, R, and its own optimality conditions."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from calib.numerics.logistic import fit_logistic


def problem(seed=0, k=500):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, k))
    features = np.vstack([np.ones(k), x]).T
    weight = rng.integers(1, 6, k).astype(float)
    positive = rng.binomial(weight.astype(int), expit(features @ [-0.5, 1.0, 2.0])).astype(float)
    return features, positive, weight


def gradient(fit, features, positive, weight):
    return features.T @ (positive - weight * expit(features @ fit.coefficients))


def test_coefficients_of_r(shared):
    # R 4.2.2: glm(y ~ log(p) + -log(1 - p)).
    data = pd.read_csv(shared / "reference/data/smooth1000.csv")
    features = np.vstack([np.ones(1000), np.log(data.p), -np.log1p(-data.p)]).T
    fit = fit_logistic(features, data.y.to_numpy(float), np.ones(1000))
    reference = json.loads((shared / "reference/reference.json").read_text())["calibrators"]
    settings = next(
        r["settings"]
        for r in reference
        if r["calibrator"] == "beta_abm_mle_unconstrained" and r["dataset"] == "smooth1000"
    )
    published = [float(v) for v in settings.split("=")[1].split(",")]
    assert fit.coefficients == pytest.approx(published, abs=1e-6)


@pytest.mark.parametrize("k", [500, 20_000])
def test_gradient_vanishes_at_the_maximum(k):
    features, positive, weight = problem(k=k)
    fit = fit_logistic(features, positive, weight)
    assert fit.converged
    assert np.abs(gradient(fit, features, positive, weight)).max() < 1e-9 * weight.sum()


def test_covariance_is_the_inverse_information():
    features, positive, weight = problem()
    fit = fit_logistic(features, positive, weight)
    p = expit(features @ fit.coefficients)
    information = features.T @ (features * (weight * p * (1 - p))[:, None])
    assert fit.covariance == pytest.approx(np.linalg.inv(information), rel=1e-6)


def test_log_likelihood_of_the_intercept_alone():
    fit = fit_logistic(np.ones((2, 1)), np.array([1.0, 2.0]), np.array([4.0, 4.0]))
    assert fit.log_likelihood == pytest.approx(3 * np.log(3 / 8) + 5 * np.log(5 / 8))
    assert fit.coefficients == pytest.approx([np.log(3 / 5)])


@pytest.mark.parametrize("scale", [1e-200, 1e-6, 1e6, 1e100])
def test_scale_of_a_column_does_not_matter(scale):
    features, positive, weight = problem()
    fit = fit_logistic(features, positive, weight)
    rescaled = fit_logistic(features * [1.0, scale, 1.0], positive, weight)
    assert rescaled.coefficients * [1, scale, 1] == pytest.approx(fit.coefficients, rel=1e-9)


def test_column_that_hardly_varies():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    positive = (rng.random(1000) < expit(x)).astype(float)
    plain = fit_logistic(np.vstack([np.ones(1000), x]).T, positive, np.ones(1000))
    shifted = fit_logistic(np.vstack([np.ones(1000), 1 + 1e-6 * x]).T, positive, np.ones(1000))
    assert shifted.coefficients[1] * 1e-6 == pytest.approx(plain.coefficients[1], rel=1e-6)


def test_repeated_column_gets_no_coefficient():
    features, positive, weight = problem()
    fit = fit_logistic(features, positive, weight)
    doubled = fit_logistic(np.column_stack([features, features[:, 1]]), positive, weight)
    assert doubled.coefficients == pytest.approx([*fit.coefficients, 0.0])


@pytest.mark.parametrize("n", [2, 10, 20_000])
def test_complete_separation_is_found(n):
    x = np.linspace(0.0, 1.0, n)
    fit = fit_logistic(np.vstack([np.ones(n), x]).T, (x > 0.5).astype(float), np.ones(n))
    assert not fit.converged


def test_quasi_separation_is_found():
    # The middle cell is mixed, so a finite intercept fits it whatever the slope.
    features = np.vstack([np.ones(3), [-1.0, 0.0, 1.0]]).T
    fit = fit_logistic(features, np.array([0.0, 2.0, 5.0]), np.array([5.0, 4.0, 5.0]))
    assert not fit.converged


def test_nearly_separated_is_not_separated():
    x = np.arange(1000.0)
    y = (x > 500).astype(float)
    y[[500, 501]] = y[[501, 500]]
    assert fit_logistic(np.vstack([np.ones(1000), x]).T, y, np.ones(1000)).converged
