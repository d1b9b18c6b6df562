"""O:E ratio, intercept at slope 1 and scaled Brier score, against other formulas."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit

import calib
from calib import metrics
from calib.data.views import BinaryView
from calib.metrics import intercept_estimate, ratio_estimate
from calib.reports import Report

# Ten groups of 20 rows: scores .05, .15 ... .95, with so many positive rows.
EVENTS = [0, 4, 5, 6, 10, 11, 11, 16, 16, 20]
SCORE = np.repeat(np.arange(10) / 10 + 0.05, 20)
OUTCOME = np.concatenate([np.arange(20) < events for events in EVENTS])
ROWS = BinaryView(OUTCOME, SCORE)


def ends(estimate):
    return [estimate.value, estimate.low, estimate.high]


def test_published_values():
    assert ends(ratio_estimate(ROWS)) == pytest.approx([0.99, 0.860679, 1.138752], abs=1e-6)
    assert ends(intercept_estimate(ROWS)) == pytest.approx(
        [-0.029852, -0.368496, 0.308793], abs=1e-6
    )
    assert metrics.scaled_brier_score(OUTCOME, SCORE) == pytest.approx(0.339934, abs=1e-6)


def test_the_likelihood_has_its_maximum_at_the_intercept():
    def loss(a):
        return float(np.logaddexp(0.0, np.where(OUTCOME, -1, 1) * (logit(SCORE) + a)).sum())

    found, h = minimize_scalar(loss, bracket=(-1, 1), tol=1e-12).x, 1e-3
    error = math.sqrt(h**2 / (loss(found + h) - 2 * loss(found) + loss(found - h)))
    half = 1.959963984540054 * error
    expected = [found, found - half, found + half]
    assert ends(intercept_estimate(ROWS)) == pytest.approx(expected, abs=1e-6)


def test_weights_count_as_effective_rows():
    weight = np.random.default_rng(0).integers(1, 5, 200).astype(float)
    found = ratio_estimate(BinaryView(OUTCOME, SCORE, weight), 0.9)
    rate, n = weight @ OUTCOME / weight.sum(), weight.sum() ** 2 / (weight @ weight)
    half = 1.6448536269514722 * math.sqrt((1 - rate) / (rate * n))
    value = weight @ OUTCOME / (weight @ SCORE)
    assert ends(found) == pytest.approx([value, value * math.exp(-half), value * math.exp(half)])


def test_clusters_of_equal_rows_count_once():
    copies = BinaryView(np.repeat(OUTCOME, 4), np.repeat(SCORE, 4), group=np.arange(800) // 4)
    for estimate in (ratio_estimate, intercept_estimate):
        assert ends(estimate(copies)) == pytest.approx(ends(estimate(ROWS)), rel=5e-3)


def test_without_a_positive_row_the_upper_end_is_exact():
    found = ratio_estimate(BinaryView(np.zeros(30, dtype=bool), np.full(30, 0.02)))
    # A rate at which 30 negative rows have a probability of 5%, from its definition.
    bound = brentq(lambda rate: (1 - rate) ** 30 - 0.05, 0.0, 1.0, xtol=1e-15)
    assert ends(found) == pytest.approx([0.0, 0.0, bound / 0.02])
    assert math.isnan(ratio_estimate(BinaryView(np.zeros(3, dtype=bool), np.zeros(3))).value)
    assert ratio_estimate(BinaryView(np.ones(3, dtype=bool), np.zeros(3))).value == math.inf


def test_the_shifted_scores_have_the_observed_mean():
    a = metrics.intercept_at_slope_1(OUTCOME, SCORE)
    assert expit(logit(SCORE) + a).mean() == pytest.approx(OUTCOME.mean(), abs=1e-12)


def test_tables_and_reports_show_them_if_they_are_asked_for():
    keys = ("observed_expected_ratio", "intercept_at_slope_1", "scaled_brier_score")
    data = calib.Predictions.from_arrays(OUTCOME, SCORE)
    plain = calib.analyze(data, calib.Settings(methods=("platt",)))
    assert not set(keys) & set(plain.table().columns)
    analysis = calib.analyze(data, calib.Settings(methods=("platt",), metrics=keys))
    row = analysis.table().loc["uncalibrated"]
    assert row["observed_expected_ratio_high"] == pytest.approx(1.138752, abs=1e-6)
    assert row["intercept_at_slope_1_low"] == pytest.approx(-0.368496, abs=1e-6)
    assert row["scaled_brier_score"] == pytest.approx(0.339934, abs=1e-6)
    assert "O:E ratio" in Report.from_analysis(analysis).markdown()
