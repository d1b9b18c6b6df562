"""ICI and its fellows against known curves."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from calib import metrics


def test_a_known_curve():
    # P(y = 1) = s^2 with uniform s: the distance s - s^2 has mean 1/6, median 3/16, maximum 1/4,
    # and its 90th percentile leaves out the middle tenth of s.
    score = (np.arange(200_000) + 0.5) / 200_000
    outcome = np.random.default_rng(17).random(200_000) < score**2
    errors = metrics.integrated_calibration_index(outcome, score)
    assert errors.ici == pytest.approx(1 / 6, abs=0.004)
    assert errors.e50 == pytest.approx(3 / 16, abs=0.006)
    assert errors.e90 == pytest.approx(0.45 * 0.55, abs=0.006)
    assert errors.emax == pytest.approx(1 / 4, abs=0.006)


def test_calibrated_scores_are_near_0():
    rng = np.random.default_rng(18)
    score = rng.random(50_000)
    errors = metrics.integrated_calibration_index(rng.random(50_000) < score, score)
    assert errors.ici < 0.006


def test_percentiles_count_rows():
    # One in ten rows has a score far from the observed rate, and nine have a near one.
    score = [0.5] * 90 + [0.9] * 10
    outcome = [1] * 45 + [0] * 45 + [1] * 2 + [0] * 8
    errors = metrics.integrated_calibration_index(outcome, score)
    assert errors.e50 < 0.05
    assert errors.emax > 0.5


@pytest.mark.parametrize("outcome", [[1, 1], [0, 0]])
def test_one_class_is_compared_with_its_rate(outcome):
    errors = metrics.integrated_calibration_index(outcome, [0.2, 0.4])
    assert errors.emax == pytest.approx(abs(outcome[0] - np.array([0.2, 0.4])).max())


def test_nearer_to_the_truth_than_loess(shared):
    # The curve is known, because y ~ sigmoid(z) and p = sigmoid(1.8 z + 0.4).
    table = pd.read_csv(shared / "reference" / "data" / "smooth1000.csv")
    p = table["p"].to_numpy()
    distance = np.abs(p - expit((logit(p) - 0.4) / 1.8))
    truth = [distance.mean(), np.quantile(distance, 0.5), np.quantile(distance, 0.9)]
    records = json.loads((shared / "reference" / "reference.json").read_text())["metrics"]
    loess = {
        record["quantity"]: record["value"]
        for record in records
        if record["dataset"] == "smooth1000" and record["quantity"].endswith("_loess")
    }
    errors = metrics.integrated_calibration_index(table["y"], p)
    ours = [errors.ici, errors.e50, errors.e90]
    theirs = [loess["ICI_loess"], loess["E50_loess"], loess["E90_loess"]]
    assert (np.abs(np.subtract(ours, truth)) < np.abs(np.subtract(theirs, truth))).all()
    np.testing.assert_allclose(ours, truth, atol=0.005)


def test_rare_events_bend_as_much_near_0_as_common_ones_near_1():
    # The scores are calibrated, so the distance is chance: 0.0005 over ten seeds. An axis that
    # spreads out only the tail near 1 gives 0.0016.
    rng = np.random.default_rng(23)
    score = expit(rng.normal(-5.0, 1.0, 50_000))
    outcome = rng.random(50_000) < score
    assert metrics.integrated_calibration_index(outcome, score).ici < 0.001
    flipped = metrics.integrated_calibration_index(~outcome, 1.0 - score)
    assert flipped.ici == pytest.approx(
        metrics.integrated_calibration_index(outcome, score).ici, rel=1e-3
    )


def test_the_penalty_of_the_result_gives_the_result():
    rng = np.random.default_rng(24)
    score = rng.random(3000)
    outcome = rng.random(3000) < score**2
    chosen = metrics.integrated_calibration_index(outcome, score)
    again = metrics.integrated_calibration_index(outcome, score, penalty=chosen.penalty)
    assert again.ici == pytest.approx(chosen.ici, rel=1e-6)
    # Twice the rows with the same outcomes are smoothed equally by the same penalty.
    twice = metrics.integrated_calibration_index(
        np.tile(outcome, 2), np.tile(score, 2), penalty=chosen.penalty
    )
    assert twice.ici == pytest.approx(chosen.ici, rel=1e-3)
    stiff = metrics.integrated_calibration_index(outcome, score, penalty=1e9)
    assert stiff.ici != pytest.approx(chosen.ici, rel=0.01)
    assert np.isnan(metrics.integrated_calibration_index([1, 1], [0.2, 0.4]).penalty)
