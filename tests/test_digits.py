"""Scores that are written with few digits stand for ranges, and tests allow for these."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import expit, logit

import calib
from calib.analysis.verdict import calibration_tests
from calib.data.cells import ScoreCells
from calib.exports.from_fitted import describe
from calib.metrics import METRICS, ks_test, kuiper_test
from calib.metrics.proper import log_loss_range
from calib.metrics.regression import line_test
from calib.numerics.score_grid import STEPS, ranges, step_of
from calib.reports import Report, parts_of, verify_report
from calib.uncertainty import fit_line


def rows(step: float, n: int = 2000, slope: float = 1.0, seed: int = 0):
    """Outcomes, scores of full precision, and the same scores in steps."""
    rng = np.random.default_rng(seed)
    score = rng.beta(0.1, 0.1, n)
    with np.errstate(divide="ignore"):
        outcome = rng.random(n) < expit(slope * logit(score))
    return outcome, score, np.minimum(step * np.rint(score / step), 1.0)


@pytest.mark.parametrize("step", STEPS)
def test_the_step_of_rounded_scores_is_found_in_64_and_in_32_bits(step):
    _, exact, written = rows(step)
    assert step_of(written) == step
    assert step_of(written.astype(np.float32).astype(np.float64)) == step
    assert step_of(exact) == 0.0
    # One score between two steps is enough, also behind the sample that is looked at first.
    assert step_of(np.append(written, 0.37 * step)) < step


def test_ranges_of_scores_and_of_their_middles_are_the_same():
    score = np.array([0.0, 0.05, 0.5, 1.0])
    low, high = ranges(score, 0.05)
    assert low.tolist() == pytest.approx([0.0, 0.025, 0.475, 0.975])
    assert high.tolist() == pytest.approx([0.025, 0.075, 0.525, 1.0])
    assert np.array_equal(ranges(np.clip(score, 0.0125, 0.9875), 0.05), (low, high))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("step", "n", "slope"), [(0.001, 800, 1.0), (0.01, 3000, 0.7)])
def test_a_test_rejects_only_if_it_would_for_every_value(step, n, slope, seed):
    outcome, _, written = rows(step, n, slope, seed)
    cells = replace(ScoreCells.from_arrays(outcome, written), step=step)
    allowed = calibration_tests(cells)
    (low, high), rng = cells.ranges, np.random.default_rng(seed)
    ends = [low, high, cells.cautious.score, np.clip(cells.rate, low + 1e-9, high - 1e-9)]
    for at in (*ends, *(rng.uniform(low, high) for _ in range(3))):
        score = np.clip(at, 1e-9, 1.0 - 1e-9)[np.searchsorted(cells.score, written)]
        for key, test in calibration_tests(ScoreCells.from_arrays(outcome, score)).items():
            # Some are simulated. Where scores coincide, others are, too.
            if allowed[key].null.startswith(test.null.split(",")[0]):
                assert test.p_value <= allowed[key].p_value + 0.01, key


def test_the_cumulative_tests_have_the_smallest_error_of_all_values():
    # A linear program finds the scores; the last column is the error.
    rng = np.random.default_rng(1)
    score = np.arange(0.0, 1.01, 0.1)
    outcome, written = rng.random(440) < 0.35, np.tile(score, 40)
    cells = replace(ScoreCells.from_arrays(outcome, written), step=0.1)
    k, (low, high) = len(cells), cells.ranges
    sums = np.vstack([np.zeros(k), np.tril(np.ones((k, k)))]) * cells.weight / cells.total_weight
    observed = cells.cumulative_positive / cells.total_weight
    bounds = [*zip(low, high, strict=True), (0.0, None)]
    ones = np.ones((k + 1, 1))
    limits = (np.block([[-sums, -ones], [sums, -ones]]), np.r_[-observed, observed])
    smallest = linprog(np.r_[np.zeros(k), 1.0], *limits, bounds=bounds).fun
    assert ks_test(cells).statistic == pytest.approx(smallest, abs=1e-9)
    i, j = np.triu_indices(k + 1, 1)
    steps, seen = sums[j] - sums[i], observed[j] - observed[i]
    ones = np.ones((len(i), 1))
    limits = (np.block([[-steps, -ones], [steps, -ones]]), np.r_[-seen, seen])
    smallest = linprog(np.r_[np.zeros(k), 1.0], *limits, bounds=bounds).fun
    assert kuiper_test(cells).statistic == pytest.approx(smallest, abs=1e-9)


@pytest.mark.parametrize("slope", [0.5, 1.8])
def test_the_line_has_the_smallest_gain_of_all_shifts_of_the_outcomes(slope):
    outcome, _, written = rows(0.05, 4000, slope)
    cells = replace(ScoreCells.from_arrays(outcome, written), step=0.05)
    score, weight = cells.cautious.score, cells.weight
    shifts = [(weight * (end - score)) for end in cells.ranges]

    def gain(shift):
        positive = cells.positive - shift
        fit = minimize(
            lambda c: (
                weight @ np.logaddexp(0.0, c[0] + c[1] * logit(score))
                - positive @ (c[0] + c[1] * logit(score))
            ),
            [0.0, 1.0],
        )
        negative = weight - positive
        return -fit.fun - (positive @ np.log(score) + negative @ np.log1p(-score))

    start = np.mean(shifts, axis=0)
    bounds = list(zip(*shifts, strict=True))
    smallest = minimize(gain, start, bounds=bounds, method="L-BFGS-B").fun
    statistic = line_test(cells, fit_line(cells)).statistic
    assert statistic == pytest.approx(2.0 * smallest, rel=0.01, abs=0.02)


def test_the_log_loss_of_full_precision_is_within_the_range():
    outcome, exact, written = rows(0.001, 5000)
    cells = replace(ScoreCells.from_arrays(outcome, written), step=0.001)
    low, high = log_loss_range(cells)
    assert low <= METRICS["log_loss"].compute(ScoreCells.from_arrays(outcome, exact)) <= high


def test_calibrated_scores_of_two_decimals_are_kept(texts):
    outcome, _, written = rows(0.01, 10_000)
    analysis = calib.analyze(
        calib.Predictions.from_arrays(outcome, written), {"methods": ("platt",)}
    )
    assert analysis.verdict.kind == "calibrated"
    assert analysis.recommendation.method == "uncalibrated"
    assert all(np.isfinite(test.statistic) for test in analysis.uncalibrated.all_tests.values())
    texts(analysis.verdict.sentence, "verdict")
    texts(analysis.recommendation.reasons[-1], "advice")
    texts(" ".join(analysis.warnings), "warnings")


def test_miscalibration_beyond_the_digits_is_found(texts):
    outcome, _, written = rows(0.01, 2000, 0.5)
    analysis = calib.analyze(
        calib.Predictions.from_arrays(outcome, written), {"methods": ("logistic",)}
    )
    assert analysis.verdict.answer == "not calibrated"
    assert analysis.verdict.kind == "overconfident"
    texts(analysis.verdict.sentence)


def test_calibrators_read_the_middle_of_0_and_1_also_in_their_files():
    outcome, _, written = rows(0.01, 2000, 0.5)
    data = calib.Predictions.from_arrays(outcome, written)
    fitted = calib.analyze(data, {"methods": ("logistic", "spline")}).held_out.calibrators
    for key, one in fitted.items():
        assert np.array_equal(one.predict([0.0, 1.0]), one.predict([0.0025, 0.9975])), key
        exported = describe(one)
        assert exported.predict(np.array([0.0, 0.3, 1.0])) == pytest.approx(
            one.predict([0.0, 0.3, 1.0]), abs=1e-12
        )
        assert "0.0025" in exported.formula
    assert fitted["uncalibrated"].predict([0.0]).tolist() == [0.0025]


def test_counts_rows_and_slices_agree():
    outcome, _, written = rows(0.01, 2000, 0.5)
    site = np.repeat(["north", "south"], 1000)
    data = calib.Predictions.from_arrays(outcome, written, columns={"site": site})
    whole = calib.analyze(data, {"methods": ("logistic",)})
    counted = calib.analyze(calib.aggregate(data), {"methods": ("logistic",)})
    assert counted.table().equals(whole.table())
    assert counted.verdict == whole.verdict


@pytest.mark.parametrize("grade", ["exact", "guarded"])
def test_a_report_with_slices_is_verified(grade):
    outcome, _, written = rows(0.01, 2000, 0.5)
    site = np.repeat(["north", "south"], 1000)
    data = calib.Predictions.from_arrays(outcome, written, columns={"site": site})
    analysis = calib.analyze(data, {"methods": ("logistic",)})
    report = Report.from_analysis(analysis, parts=parts_of(data, analysis), grade=grade)
    assert len(report.parts.slices) == 1
    result = verify_report(report.json()).sentence.partition(":")[0]
    assert result == ("pass" if grade == "exact" else "consistent")
