"""A stack weighs its members by outcomes that they did not see."""

import itertools

import numpy as np
import pytest
from scipy.special import expit, logit

from calib.calibrators import calibrator
from calib.calibrators.stack import Stack, _least_loss, convex_weights
from calib.data.cells import ScoreCells
from calib.metrics import log_loss
from tests.rare import common_first

RNG = np.random.default_rng(5)


def drawn(n, slope=0.5, rng=RNG):
    score = expit(rng.normal(-0.3, 1.5, n))
    return score, rng.random(n) < expit(slope * logit(score))


def test_weights_are_the_best_of_a_fine_grid():
    log_odds = RNG.normal(size=(300, 3)) * [1.0, 2.0, 0.5]
    positive = (RNG.random(300) < expit(log_odds @ [0.6, 0.1, 0.3])).astype(float)
    weight = RNG.uniform(0.5, 2.0, 300)

    def loss(weights):
        f = log_odds @ np.asarray(weights)
        return weight @ np.logaddexp(0.0, np.where(positive > 0, -f, f))

    none = np.zeros(3)
    found = convex_weights(log_odds, weight * positive, weight * (1.0 - positive), none)
    steps = np.linspace(0.0, 1.0, 101)
    grid = [(a, b, 1.0 - a - b) for a, b in itertools.product(steps, steps) if a + b <= 1.0 + 1e-12]
    best = min(grid, key=loss)
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0.0).all()
    assert loss(found) <= loss(best) + 1e-9
    assert np.abs(found - best).max() <= 0.01


def test_members_that_nearly_coincide_on_many_rows_have_the_best_weights():
    # A million rows of which all members know nearly the same: the loss changes by a few nats.
    truth = np.linspace(-4.0, 4.0, 801)
    rows = np.full(len(truth), 1250.0)
    log_odds = np.column_stack([truth, 1.003 * truth + 0.002, truth + 0.01 * np.sin(truth)])
    positive = rows * expit(truth)
    found = convex_weights(log_odds, positive, rows - positive, np.zeros(3))
    np.testing.assert_allclose(found, [1.0, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_no_member_has_a_lower_slope_than_the_stack(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 400), rng.integers(1, 7)
    truth = rng.normal(0.0, rng.choice([0.01, 1.0, 30.0]), n)
    slopes, noise = rng.choice([0.5, 1.0, 1.0001, 10.0], m), rng.choice([0.001, 1.0], m)
    log_odds = np.outer(truth, slopes) + noise * rng.normal(size=(n, m))
    weight, charge = rng.choice([1e-6, 1.0, 1e6]) * rng.random(n), np.zeros(m)
    positive = np.where(rng.random(n) < expit(0.3 * truth), weight, 0.0)
    charge[0] = weight.mean()
    found = _least_loss(log_odds, positive, weight - positive, charge)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0)
    # The loss is convex, so the lowest slope bounds how far it is above its minimum.
    slope = log_odds.T @ (weight * expit(log_odds @ found) - positive) + charge
    assert found @ slope - slope.min() <= 1e-10 * weight.sum() * max(1.0, np.abs(log_odds).max())


def test_a_charge_decides_between_members_that_are_certain():
    # All members predict these rows, so the loss has neither slope nor curvature.
    log_odds, none = np.full((5, 3), 60.0), np.zeros(5)
    found = convex_weights(log_odds, np.ones(5), none, np.array([1.0, 0.0, 1.0]))
    np.testing.assert_array_equal(found, [0.0, 1.0, 0.0])


def test_it_predicts_the_weighted_mean_of_log_odds():
    score, y = drawn(2000)
    fitted = Stack().fit(score, y)
    members = [
        weight * logit(fitted.members_[key].predict(score))
        for key, weight in fitted.weights_.items()
    ]
    np.testing.assert_allclose(fitted.predict(score), expit(np.sum(members, axis=0)), atol=1e-12)
    assert sum(fitted.weights_.values()) == pytest.approx(1.0)
    assert min(fitted.weights_.values()) >= 0.02


def left_out(key, score, y):
    """Log-odds of each row by `left_out`, by a fit to all other rows, and by the full fit."""
    cells = ScoreCells.from_arrays(y, score)
    fitted = calibrator(key).fit_cells(cells)
    of_outcome = np.array(fitted.left_out(cells))
    at = np.searchsorted(cells.score, score)
    refitted = [
        calibrator(key).fit(np.delete(score, i), np.delete(y, i)).predict(score[i : i + 1])[0]
        for i in range(len(y))
    ]
    return of_outcome[y.astype(int), at], logit(refitted), logit(fitted.predict(score))


@pytest.mark.parametrize("digits", [1, 2, 9])
def test_venn_abers_leaves_each_row_out_exactly(digits):
    score, y = drawn(150)
    said, refitted, _ = left_out("venn_abers", score.round(digits), y)
    np.testing.assert_allclose(said, refitted, atol=1e-9)


@pytest.mark.parametrize("key", ["platt", "logistic", "beta"])
def test_regressions_leave_rows_out_by_a_newton_step(key):
    score, y = drawn(300)
    said, refitted, seen = left_out(key, score, y)
    # A row changes Platt's targets, too, which one step of the fit does not know.
    assert np.abs(said - refitted).max() <= 0.05 * np.abs(seen - refitted).max()
    assert np.abs(said - refitted).mean() <= 0.05 * np.abs(seen - refitted).mean()


def test_weights_count_as_much_evidence_as_they_are():
    score, y = drawn(400)
    weight = RNG.lognormal(0.0, 1.0, 400)
    one, other = (Stack().fit(score, y, sample_weight=w) for w in (weight, 1e6 * weight))
    assert one.weights_ == pytest.approx(other.weights_, abs=1e-9)
    twice = Stack().fit(np.repeat(score, 2), np.repeat(y, 2), groups=np.repeat(np.arange(400), 2))
    assert twice.weights_ == pytest.approx(Stack().fit(score, y).weights_, abs=1e-7)


@pytest.mark.parametrize(
    ("least", "weighted"),
    common_first(
        itertools.product([0.0, 0.005, 0.01, 0.02, 0.03, 0.05], [False, True]),
        [(0.03, False), (0.05, True)],
    ),
)
def test_ties_at_both_ends_and_weights_lose_nothing(least, weighted):
    # The mean of tied scores is rounded, and a spline has no value beyond its end knots.
    rng = np.random.default_rng(0)
    score = np.sort(rng.random(1200))
    y = rng.random(1200) < score
    weight = rng.lognormal(0.0, 1.0, 1200) if weighted else None
    score = np.clip(score, least, 1.0 - least)
    fitted = Stack().fit(score, y, sample_weight=weight)
    assert log_loss(y, fitted.predict(score)) < log_loss(y, np.full(1200, y.mean())) - 0.1


def test_the_order_of_the_rows_does_not_matter():
    score, y = drawn(300)
    order = RNG.permutation(300)
    group = RNG.integers(0, 60, 300)
    one, two = (Stack().fit(score[at], y[at], groups=group[at]) for at in (np.arange(300), order))
    assert one.weights_ == pytest.approx(two.weights_)


@pytest.mark.parametrize("n_positive", [1, 3])
def test_few_rows_of_an_outcome_give_probabilities(n_positive):
    score = np.linspace(0.1, 0.9, 50)
    fitted = Stack().fit(score, np.arange(50) >= 50 - n_positive)
    assert ((fitted.predict(score) > 0.0) & (fitted.predict(score) < 1.0)).all()
    assert sum(fitted.weights_.values()) == pytest.approx(1.0)


def test_a_method_that_cannot_leave_rows_out_is_refused(texts):
    score, y = drawn(100)
    with texts.raises(ValueError):
        Stack(members=("uncalibrated", "histogram")).fit(score, y)


@pytest.mark.parametrize("members", [(), ("platt", "platt"), ("platt", "plat"), "platt"])
def test_members_must_be_different_known_calibrators(members, texts):
    score, y = drawn(100)
    with texts.raises(ValueError):
        Stack(members=members).fit(score, y)


def test_it_is_never_far_worse_than_its_best_member():
    for seed, slope in enumerate((0.4, 1.0, 2.0)):
        rng = np.random.default_rng([9, seed])
        score, y = drawn(1000, slope, rng)
        fitted = Stack().fit(score, y)
        fresh, outcome = drawn(50_000, slope, rng)

        def loss(calibrator, fresh=fresh, outcome=outcome):
            return log_loss(ScoreCells.from_arrays(outcome, calibrator.predict(fresh)))

        best = min(loss(member) for member in fitted.members_.values())
        assert loss(fitted) <= best + 3e-3


def test_members_that_are_fitted_already_are_not_fitted_again():
    score, y = drawn(800)
    cells = ScoreCells.from_arrays(y, score)
    keys = ("uncalibrated", "platt", "logistic", "spline", "venn_abers")
    fitted = {key: calibrator(key).fit_cells(cells) for key in keys}
    shared, alone = Stack().fit_cells(cells, fitted), Stack().fit_cells(cells)
    assert all(shared.members_[key] is fitted[key] for key in shared.weights_)
    assert shared.weights_ == alone.weights_
