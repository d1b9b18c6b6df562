"""Logistic regression against closed forms, R, and its own optimality conditions."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from calib.numerics.logistic import _grouped, fit_logistic


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
    # The reference is R 4.2.2: glm(y ~ log(p) + -log(1 - p)).
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


def many(kind, n=100_000):
    rng = np.random.default_rng(7)
    z = rng.normal(-1.0, 1.5, n)
    score = {
        "smooth": expit(1.8 * z + 0.4),
        "tied": np.round(expit(1.3 * z), 2).clip(0.01, 0.99),
        "one far away": np.where(np.arange(n) == 0, 1e-15, expit(0.02 * z)),
    }[kind]
    return np.log(score), -np.log1p(-score), (rng.random(n) < expit(z)).astype(float)


@pytest.mark.parametrize("kind", ["smooth", "tied", "one far away"])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_are_fitted_to_the_last_digits(kind, weighted):
    # A further Newton step would be a hundred-millionth of the standard error.
    low, high, positive = many(kind)
    weight = np.random.default_rng(8).uniform(0.5, 2.0, len(low)) if weighted else np.ones(len(low))
    features, positive = np.vstack([np.ones(len(low)), low, high]).T, positive * weight
    fit = fit_logistic(features, positive, weight)
    p = expit(features @ fit.coefficients)
    information = features.T @ (features * (weight * p * (1 - p))[:, None])
    left = np.linalg.solve(information, features.T @ (positive - weight * p))
    assert fit.converged
    assert np.abs(left / np.sqrt(np.diag(np.linalg.inv(information)))).max() < 1e-8


def test_columns_that_do_not_rise_together_are_fitted_too():
    features, positive, weight = problem(k=50_000)
    opposed = features * [1.0, -1.0, 1.0]
    fit = fit_logistic(opposed, positive, weight)
    assert fit.converged
    assert np.abs(gradient(fit, opposed, positive, weight)).max() < 1e-9 * weight.sum()
    copied = np.column_stack([np.ones(50_000), features[:, 1], -features[:, 1]])
    assert fit_logistic(copied, positive, weight).coefficients[2] == 0.0


def test_many_rows_are_read_three_times():
    # Rows are read twice to group them, and once for the step from the fit of the groups.
    low, high, positive = many("smooth", 1_000_000)
    read = []

    def features(part):
        read.append(len(low[part]))
        return np.array([np.ones(len(low[part])), low[part], high[part]])

    assert fit_logistic(features, positive, np.ones(len(low))).converged
    assert sum(read) < 3.1 * len(low)


def test_many_separated_rows_are_found():
    x = np.linspace(0.0, 1.0, 100_000)
    features = np.vstack([np.ones(len(x)), x]).T
    assert not fit_logistic(features, (x > 0.43).astype(float), np.ones(len(x))).converged


@pytest.mark.parametrize(("slopes", "per_group"), [(1, 32), (2, 8)])
def test_groups_hold_cells_of_nearly_the_same_sum(slopes, per_group):
    rng = np.random.default_rng(1)
    k = 3300
    columns = np.vstack([np.ones(k), rng.normal(size=(slopes, k)) ** 3])
    weight, positive = rng.uniform(0.5, 2.0, k), rng.random(k)
    means_of_groups, ones, total = _grouped(lambda part: columns[:, part], positive, weight)
    low, high = columns[1:].min(axis=1), columns[1:].max(axis=1)
    n = k // per_group
    place = ((columns[1:].T - low) / (high - low)).mean(axis=1) * n
    group = np.minimum(place.astype(int), n - 1)
    present = np.unique(group)
    assert len(total) == len(present) <= n
    for at, g in enumerate(present):
        inside = group == g
        assert total[at] == pytest.approx(weight[inside].sum())
        assert ones[at] == pytest.approx(positive[inside].sum())
        means = np.average(columns[:, inside], axis=1, weights=weight[inside])
        assert means_of_groups[:, at] == pytest.approx(means)
