"""The power that a verdict without evidence states, against theory and against whole verdicts."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

import calib
from calib.analysis.recommendation import gap_design_effect, shift_power
from calib.analysis.verdict import judge
from calib.crossfit.fitting import cross_fit_scores
from calib.crossfit.settings import Settings
from calib.data.cells import ScoreCells
from calib.data.counted import CountedRows
from calib.data.views import BinaryView
from calib.numerics.binning import quantiles
from calib.text import significant
from tests.rare import rare


@pytest.mark.parametrize("design_effect", [1.0, 4.0])
def test_one_score_is_a_test_of_one_mean(design_effect):
    # All five tests are then one two-sided normal test at 1%, which is a fifth of the 5% in Holm's
    # first step.
    cells = ScoreCells.from_arrays(np.arange(4000) % 2, np.full(4000, 0.5))
    shift = expit(0.1) - 0.5
    sd = np.sqrt(design_effect * 0.25 / 4000)
    expected = norm.sf(norm.isf(0.005) - shift / sd) + norm.cdf(-norm.isf(0.005) - shift / sd)
    power = shift_power(cells, design_effect)
    assert power.power == pytest.approx(expected, abs=0.03)
    assert power.mean_shift == pytest.approx(shift)


@rare
def test_the_power_is_the_share_of_verdicts_that_reject():
    rejected, stated = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        log_odds = rng.normal(-0.5, 1.5, 4000)
        cells = ScoreCells.from_arrays(rng.random(4000) < expit(log_odds + 0.1), expit(log_odds))
        rejected.append(bool(judge(cells).rejected))
        if seed < 5:
            stated.append(shift_power(cells).power)
    # The tolerance is three standard errors of 100 samples.
    assert np.mean(rejected) == pytest.approx(np.mean(stated), abs=0.15)
    assert np.ptp(stated) < 0.05


def test_the_power_depends_on_no_unit_of_weights_and_is_the_same_every_time():
    rng = np.random.default_rng(2)
    score, weight = rng.random(800), rng.gamma(2.0, 1.0, 800)
    outcome = rng.random(800) < score
    one = shift_power(ScoreCells.from_arrays(outcome, score, weight))
    assert shift_power(ScoreCells.from_arrays(outcome, score, 1e6 * weight)).power == one.power
    assert one.power < shift_power(ScoreCells.from_arrays(outcome, score)).power


def test_copies_in_a_cluster_add_no_power():
    rng = np.random.default_rng(3)
    score = rng.uniform(0.2, 0.8, 1000)
    outcome, five = rng.random(1000) < score, np.arange(1000).repeat(5)
    alone = shift_power(ScoreCells.from_arrays(outcome, score)).power
    rows = BinaryView(outcome[five], score[five], group=five)
    assert gap_design_effect(rows) == pytest.approx(5.0, rel=0.01)
    copied = shift_power(rows.cells(), gap_design_effect(rows))
    assert copied.power == pytest.approx(alone, abs=0.01)


def test_scores_of_exactly_0_and_1_have_a_power_too():
    score = np.repeat([0.0, 0.5, 1.0], 300)
    outcome = np.r_[np.zeros(300), np.arange(300) % 2, np.ones(300)]
    assert 0.0 < shift_power(ScoreCells.from_arrays(outcome, score)).power < 1.0


def sloped(n, seed=9, test=None):
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(0, 1.5, n)
    outcome = (rng.random(n) < expit(0.4 * log_odds)).astype(int)
    return calib.Predictions.from_arrays(outcome, expit(log_odds), test=test)


def test_of_cross_fitted_scores_the_standard_errors_are_stated_and_no_power(texts):
    analysis = calib.analyze(sloped(4000), {"methods": ("logistic",)})
    assert analysis.after.answer == "no evidence"
    assert "detected" not in analysis.after.sentence
    at = quantiles(analysis.held_out.fitted_on, np.array([0.1, 0.5, 0.9]))
    errors = analysis.held_out.function_error("logistic", at)
    # A logistic curve of 4,000 such rows has these standard errors by the information matrix.
    assert errors == pytest.approx([0.0121, 0.0082, 0.0120], rel=0.4)
    for error in errors:
        assert f"±{significant(100 * error, 2)} points" in analysis.after.sentence
    texts(analysis.after.sentence)


def test_the_power_is_stated_for_test_rows_that_no_calibrator_saw(texts):
    rows = sloped(4000, test=np.arange(4000) % 2 == 1)
    analysis = calib.analyze(rows, {"methods": ("logistic",)})
    assert analysis.after.answer == "no evidence"
    texts.shown(analysis.after.sentence)


@rare
def test_stated_standard_errors_are_those_of_fits_to_other_samples():
    at, methods = expit(1.5 * np.array([-1.28, 0.0, 1.28])), ("logistic", "spline")
    fits, errors = [], []
    for seed in range(60):
        counted = CountedRows.of_rows(sloped(1000, seed).view())
        held_out = cross_fit_scores(counted, Settings(methods=methods), n_replicates=2)
        fits.append([held_out.calibrators[key].predict(at) for key in methods])
        errors.append([held_out.function_error(key, at) for key in methods])
    stated = np.sqrt(np.mean(np.square(errors), axis=0))
    # The standard deviation of 60 fits has a standard error of 9%.
    assert stated == pytest.approx(np.std(fits, axis=0), rel=0.3)


def test_a_verdict_without_evidence_says_what_it_could_have_found(texts):
    rng = np.random.default_rng(0)
    score = rng.uniform(0.05, 0.95, 1000)
    verdict = calib.from_predictions(rng.random(1000) < score, score).verdict
    assert verdict.answer == "no evidence"
    texts(verdict.heading, "words")
    texts.shown(verdict.finding, "words, 2")
    texts(verdict.sentence)
    # The shift is always found with this many rows.
    many = np.full(100_000, 0.5)
    assert "more than 99%" in judge(ScoreCells.from_arrays(np.arange(100_000) % 2, many)).sentence
    # A small effect is written with its digits.
    rare = ScoreCells.from_arrays(np.arange(5000) < 1, np.full(5000, 2e-4))
    texts(shift_power(rare).sentence(), "rare")
