"""The smooth curve against logistic regression where both must agree, and its band's meaning."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from calib.curves.rate import smooth_curve
from calib.data.cells import ScoreCells
from calib.metrics import integrated_calibration_index
from calib.numerics.smoothed_rate import compact_axis, fit_smooth
from calib.numerics.splines import dense
from calib.numerics.transforms import sigmoid
from tests.rare import rare

RNG = np.random.default_rng(8)


def drawn(n, slope=1.0, shift=0.0, rng=RNG):
    score = rng.uniform(0.05, 0.95, n)
    return rng.random(n) < expit(slope * logit(score) + shift), score


def test_a_truth_that_is_a_line_gives_logistic_regression_and_its_band():
    # The scores have equal distances on the log-odds scale, and the outcomes are those of a
    # straight line. The smoothest spline is therefore the best, and it is a logistic regression.
    score = expit(np.linspace(-3, 3, 41)).repeat(200)
    rate = expit(0.5 * logit(score) - 0.3)
    outcome = (np.arange(len(score)) % 200 + 0.5) < 200 * rate
    curve = smooth_curve(ScoreCells.from_arrays(outcome, score))
    x = np.column_stack([np.ones(len(score)), logit(score)])
    peer = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-8).fit(x, outcome)
    p = peer.predict_proba(x)[:, 1]
    at = np.column_stack([np.ones(41), logit(curve.score)])
    information = (x * (p * (1 - p))[:, None]).T @ x
    error = np.sqrt(np.einsum("nk,nk->n", at @ np.linalg.inv(information), at))
    np.testing.assert_allclose(curve.observed, expit(at @ peer.coef_[0]), atol=2e-3)
    np.testing.assert_allclose(logit(curve.high) - logit(curve.low), 2 * 1.95996 * error, rtol=0.1)


@rare
def test_band_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(4)
    covered = []
    for _ in range(60):
        outcome, score = drawn(800, 0.6, 0.2, rng)
        curve = smooth_curve(ScoreCells.from_arrays(outcome, score))
        truth = expit(0.6 * logit(curve.score) + 0.2)
        covered.append(np.mean((curve.low <= truth) & (truth <= curve.high)))
    # The points of a repetition are not independent: the mean of 60 is known to about 0.025.
    assert 0.89 <= np.mean(covered) <= 0.995


def test_rare_events_are_followed_down_to_their_smallest_scores():
    rng = np.random.default_rng(0)
    score = rng.beta(0.5, 15, 20_000)
    curve = smooth_curve(ScoreCells.from_arrays(rng.random(20_000) < score, score))
    inside = (curve.low <= curve.score) & (curve.score <= curve.high)
    assert inside.mean() > 0.8


def test_distances_from_the_diagonal_are_about_the_calibration_index():
    outcome, score = drawn(3000, 0.5)
    cells = ScoreCells.from_arrays(outcome, score)
    curve = smooth_curve(cells)
    gap = np.abs(np.interp(score, curve.score, curve.observed) - score).mean()
    # Both are splines on slightly different axes.
    assert gap == pytest.approx(integrated_calibration_index(cells).ici, rel=0.05)


def test_units_of_weight_do_not_matter():
    outcome, score = drawn(500)
    plain = smooth_curve(ScoreCells.from_arrays(outcome, score))
    heavy = smooth_curve(ScoreCells.from_arrays(outcome, score, np.full(500, 7.0)))
    np.testing.assert_allclose(heavy.low, plain.low, atol=1e-9)


def test_one_outcome_or_one_score_gives_the_base_rate_with_wilsons_interval():
    for cells in (
        ScoreCells.from_arrays(np.zeros(50), np.linspace(0.1, 0.9, 50)),
        ScoreCells.from_arrays(np.zeros(50), np.full(50, 0.5)),
    ):
        curve = smooth_curve(cells)
        assert not curve.observed.any()
        np.testing.assert_allclose(curve.high, 3.8415 / 53.8415, atol=1e-4)


def test_points_are_few_and_span_the_scores():
    outcome, score = drawn(5000)
    curve = smooth_curve(ScoreCells.from_arrays(outcome, score))
    assert len(curve.score) <= 202
    assert (curve.score[0], curve.score[-1]) == (score.min(), score.max())
    assert (np.diff(curve.score) > 0).all()
    assert list(curve.frame().columns) == ["score", "observed", "low", "high"]


def test_a_level_outside_its_range_is_refused(texts):
    with texts.raises(ValueError):
        smooth_curve(ScoreCells.from_arrays([0, 1], [0.2, 0.8]), confidence_level=0)


def test_the_band_is_wider_where_rows_are_heavy_and_never_narrower():
    outcome, score = drawn(2000)
    cells = ScoreCells.from_arrays(outcome, score, np.where(score > 0.85, 10.0, 1.0))
    fit = fit_smooth(cells.in_effective_rows())
    # The error by hand: inverse Hessian, variance of the weighted outcomes plus penalty, inverse.
    problem, p = fit.problem, sigmoid(fit.fit.value)
    basis, rough = problem.basis.toarray(), fit.fit.lam * dense(problem.penalty)
    inverse = np.linalg.inv(basis.T @ (basis * (problem.t * p * (1.0 - p))[:, None]) + rough)
    heavy = problem.t + problem.weight * (problem.row - 1.0)
    varies = basis.T @ (basis * (heavy * p * (1.0 - p))[:, None]) + rough
    at = fit.spline.basis(compact_axis(cells.score, fit.epsilon)).toarray()
    posterior, sandwich = (
        np.sqrt(np.einsum("nk,kl,nl->n", at, of, at))
        for of in (inverse, inverse @ varies @ inverse)
    )
    wider = cells.score > 0.9
    assert (sandwich[wider] > 1.1 * posterior[wider]).all()
    error = fit.error(cells.score)
    np.testing.assert_allclose(error, np.maximum(posterior, sandwich), rtol=1e-6)


@rare
def test_the_band_covers_heavy_rows_as_often_as_it_says():
    rng, inside = np.random.default_rng(3), []
    for _ in range(100):
        score = expit(rng.normal(-0.5, 1.5, 2000))
        heavy = score > 0.85
        cells = ScoreCells.from_arrays(rng.random(2000) < score, score, 1.0 + 9.0 * heavy)
        curve = smooth_curve(cells)
        low, high = (np.interp(score[heavy], curve.score, of) for of in (curve.low, curve.high))
        inside.append(((low <= score[heavy]) & (score[heavy] <= high)).mean())
    # Without the additional variance it is 90%; the standard error is 1.9 points.
    assert np.mean(inside) > 0.925
