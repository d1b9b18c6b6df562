"""The smoothing spline: published data, closed forms, and every edge."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.metrics import log_loss

from calib.calibrators.inverse import largest_fall
from calib.calibrators.spline import Spline
from calib.calibrators.splinecalib import SplineCalib
from calib.numerics.splines import NaturalSpline, dense
from calib.numerics.transforms import compact_logit

GRID = np.linspace(0.0, 1.0, 1001)


def draw(n=2000, seed=0, wave=0.6):
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-0.5, 1.5, n)
    y = rng.random(n) < expit(log_odds)
    return expit(log_odds + wave * np.sin(1.5 * log_odds)), y


def adult(shared):
    train = pd.read_csv(shared / "data/adult/adult_nb_cal.csv")
    return train, pd.read_csv(shared / "data/adult/adult_nb_test.csv")


def test_adult(shared):
    # Published values are 0.3934 for SplineCalib, and 0.3915 to 0.3918 for curvature-penalised
    # splines.
    train, test = adult(shared)
    fitted = Spline().fit(train.score, train.y)
    assert log_loss(test.y, fitted.predict(test.score)) <= 0.3920


@pytest.mark.parametrize("n", [300, 5000])
def test_order_of_the_rows_does_not_matter(n):
    scores, y = draw(n)
    order = np.random.default_rng(1).permutation(n)
    one, other = Spline().fit(scores, y), Spline().fit(scores[order], y[order])
    assert (one.predict(GRID) == other.predict(GRID)).all()


def test_many_rows_lose_nothing_by_their_buckets():
    # 40,000 rows on 800 scores fill 800 cells. After a tiny shift of each they fill 40,000.
    scores, y = draw(40_000)
    scores = scores.round(3).clip(1e-3, 1 - 1e-3)
    moved = np.clip(scores + np.random.default_rng(1).uniform(-1e-9, 1e-9, 40_000), 0.0, 1.0)
    few, many = Spline(epsilon=1e-3).fit(scores, y), Spline(epsilon=1e-3).fit(moved, y)
    assert many.predict(GRID) == pytest.approx(few.predict(GRID), abs=0.01)


def test_two_scores_pass_through_their_rates():
    # One more row is spread over both scores, with the base rate 0.6 as its outcome.
    fitted = Spline().fit([0.2] * 5 + [0.7] * 5, [1, 1, 0, 0, 0, 1, 1, 1, 1, 0])
    assert fitted.predict([0.2, 0.7]) == pytest.approx([2.3 / 5.5, 4.3 / 5.5], abs=1e-6)


def test_equal_scores_give_the_base_rate(texts):
    fitted = Spline().fit([0.4] * 4, [1, 0, 0, 0])
    assert fitted.predict([0.0, 0.4, 1.0]) == pytest.approx([0.25] * 3)
    texts.shown(fitted.formula())


def test_a_straight_line_beyond_the_fitted_scores():
    scores, y = draw(500)
    inside = (scores > 0.2) & (scores < 0.8)
    fitted = Spline(epsilon=1e-3).fit(scores[inside], y[inside])
    for far in ([0.85, 0.9, 0.99], [0.15, 0.1, 0.01]):
        axis = compact_logit(np.array(far), 1e-3)
        steps = np.diff(logit(fitted.predict(far))) / np.diff(axis)
        assert steps[0] == pytest.approx(steps[1], rel=1e-8)


@pytest.mark.parametrize(
    ("scores", "y"),
    [
        ([0.2, 0.8], [0, 1]),
        ([0.2, 0.8], [1, 0]),
        ([0.0, 1.0, 0.0, 1.0], [0, 1, 1, 1]),
        ([0.0, 1e-300, 0.5, 1.0], [0, 1, 0, 1]),
        (np.linspace(0, 1, 60), np.arange(60) >= 30),
        (np.linspace(0, 1, 60), np.arange(60) == 30),
        (np.array([0.3, 0.3 + 1e-16, 0.30000000000000004]), [0, 1, 1]),
        (np.float32([0.1, 0.2, 0.9]), [0, 1, 0]),
    ],
    ids=["two", "reversed", "certain", "tiny", "separated", "one positive", "near", "float32"],
)
@pytest.mark.parametrize("monotone", [False, True])
def test_hard_data_give_probabilities(scores, y, monotone):
    p = Spline(monotone=monotone).fit(scores, y).predict(np.append(GRID, 1e-300))
    assert np.isfinite(p).all()
    assert 0.0 < p[500] < 1.0


def test_heavy_weights():
    scores, y = draw(500)
    plain = Spline().fit(scores, y, np.full(500, 1e9))
    assert np.isfinite(plain.predict(GRID)).all()
    mixed = Spline().fit(scores, y, np.where(np.arange(500) < 5, 1e12, 1.0))
    assert np.isfinite(mixed.predict(GRID)).all()
    # Almost all weight is on one score, so the slope is lost in rounding errors.
    alone = Spline().fit([0.2, 0.2, 0.9], [0, 1, 1], [1e8, 1e8, 1e-5])
    assert alone.predict([0.2]) == pytest.approx([0.5], abs=1e-6)
    assert np.isfinite(alone.predict(GRID)).all()


def rare():
    """Calibrated scores of rare events, from 6e-6 to 0.12."""
    scores = expit(np.linspace(-12.0, -2.0, 3000))
    return scores, np.random.default_rng(1).random(3000) < scores


def test_scores_of_rare_events_keep_their_log_odds():
    scores, y = rare()
    at = np.array([6e-6, 4.5e-5, 3.4e-4, 0.01])
    fitted = Spline().fit(scores, y)
    assert fitted.epsilon_ == pytest.approx(1e-7)
    assert logit(fitted.predict(at)) == pytest.approx(logit(at), abs=0.3)
    published = Spline(epsilon_rule="published").fit(scores, y)
    assert published.epsilon_ == pytest.approx(0.01)
    # Below epsilon the axis is the score itself, on which these log-odds are one point.
    assert published.predict([6e-6]) > 100 * 6e-6


def test_the_fit_does_not_depend_on_which_class_is_1():
    scores, y = rare()
    mirrored = 1.0 - Spline().fit(1.0 - scores, ~y).predict(1.0 - scores)
    assert logit(mirrored) == pytest.approx(
        logit(Spline().fit(scores, y).predict(scores)), abs=0.01
    )


def test_balanced_scores_have_one_epsilon_by_both_rules():
    scores, y = np.linspace(0.002, 0.998, 500), np.arange(500) % 3 == 0
    one, other = (Spline(epsilon_rule=rule).fit(scores, y) for rule in ("symmetric", "published"))
    assert one.epsilon_ == other.epsilon_
    assert (one.predict(GRID) == other.predict(GRID)).all()


def test_an_unknown_rule_is_refused(texts):
    with texts.raises(ValueError):
        Spline(epsilon_rule="lucena").fit([0.2, 0.8], [0, 1])


@pytest.mark.parametrize("method", [Spline, SplineCalib])
def test_a_curve_that_falls_is_named_in_the_formula(method):
    scores = np.repeat([0.2, 0.4, 0.6, 0.8], 100)
    y = np.arange(400) % 100 < np.repeat([20, 60, 30, 90], 100)
    fitted = method().fit(scores, y)
    fall = largest_fall(fitted)
    assert 0.3 < fall.start < 0.5 < fall.end < 0.7
    assert fitted.predict([fall.start, fall.end]) == pytest.approx([fall.high, fall.low])
    assert fall.high - fall.low > 0.2
    assert fitted.formula().endswith(fall.words)


def test_a_curve_that_does_not_fall_has_no_fall():
    scores, y = draw(wave=0.0)
    for fitted in (Spline().fit(scores, y), Spline(monotone=True).fit(scores, y)):
        assert largest_fall(fitted) is None
        assert "falls" not in fitted.formula()


def test_epsilon_changes_the_fit_and_is_checked(texts):
    scores, y = draw(500)
    one, other = (Spline(epsilon=e).fit(scores, y).predict(GRID) for e in (1e-6, 0.1))
    assert np.abs(one - other).max() > 1e-3
    with texts.raises(ValueError):
        Spline(epsilon=0.7).fit(scores, y)


def test_what_it_tells():
    scores, y = draw()
    fitted = Spline().fit(scores, y)
    assert len(fitted.lambdas_) == len(fitted.cv_losses_) == len(fitted.degrees_)
    assert fitted.lambda_ in fitted.lambdas_
    assert set(fitted.knots()) <= set(scores)
    assert len(fitted.coefficients_) == len(fitted.knots_)
    assert f"{len(fitted.knots_)} knots" in fitted.formula()
    assert (pickle.loads(pickle.dumps(fitted)).predict(GRID) == fitted.predict(GRID)).all()


def test_cross_validated_loss_is_that_of_new_rows():
    fresh_scores, fresh_y = draw(200_000, seed=99)
    gaps = []
    for seed in range(5):
        scores, y = draw(5000, seed=seed)
        fitted = Spline().fit(scores, y)
        fresh = log_loss(fresh_y, fitted.predict(fresh_scores))
        gaps.append(fitted.cv_losses_[fitted.lambdas_ == fitted.lambda_][0] - fresh)
    # There are 5 x 5,000 rows, so the standard error of the mean is about 0.003.
    assert np.mean(gaps) == pytest.approx(0.0, abs=0.01)


def test_monotone_follows_a_rising_truth_and_never_falls():
    scores, y = draw(400, wave=0.0)
    noisy = Spline(monotone=True).fit(scores, y)
    assert np.diff(noisy.predict(GRID)).min() >= -1e-15
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    y = rng.random(3000) < 0.5 + 0.4 * np.sin(9.0 * scores)
    free, rising = Spline().fit(scores, y), Spline(monotone=True).fit(scores, y)
    assert np.diff(free.predict(GRID)).min() < -1e-4
    assert np.diff(rising.predict(GRID)).min() >= -1e-15


def test_monotone_on_a_falling_truth_says_the_base_rate(texts):
    rng = np.random.default_rng(0)
    scores = rng.random(500)
    y = rng.random(500) < 1.0 - scores
    fitted = Spline(monotone=True).fit(scores, y)
    assert fitted.predict(GRID) == pytest.approx(np.full(1001, y.mean()), abs=1e-6)
    texts.shown(fitted.formula())


def test_monotone_is_the_constrained_optimum():
    scores = np.repeat(np.linspace(0.2, 0.8, 7), 200)
    positive = np.array([20.0, 80, 30, 120, 50, 150, 100])
    y = np.concatenate([np.arange(200) < k for k in positive])
    fitted = Spline(monotone=True, epsilon=0.01).fit(scores, y)
    free = Spline(epsilon=0.01).fit(scores, y)
    weight = np.full(7, 200.0)
    t, q = weight * (1 + 1 / 1400), positive + positive.sum() / 1400 / 7
    spline = NaturalSpline(compact_logit(fitted.knots_, 0.01))
    basis, curvature = spline.basis(spline.knots).toarray(), dense(spline.curvature())

    def objective(c):
        f = basis @ c
        return t @ np.logaddexp(0, f) - q @ f + fitted.lambda_ / 2 * c @ curvature @ c

    result = minimize(
        objective,
        np.zeros(7),
        method="SLSQP",
        constraints={"type": "ineq", "fun": np.diff},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert objective(fitted.coefficients_) == pytest.approx(result.fun, abs=1e-4)
    assert objective(fitted.coefficients_) > objective(free.coefficients_) + 1.0
