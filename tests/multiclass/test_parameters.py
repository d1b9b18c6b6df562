"""Parameters of single methods, and what is learnt about their strength."""

import numpy as np
import pytest

from calib.calibrators.clip import MatrixClip
from calib.calibrators.dirichlet import Dirichlet
from calib.calibrators.ks_spline import TopSpline
from calib.calibrators.matrix import MatrixScaling, VectorScaling
from calib.calibrators.structured import StructuredMatrix
from calib.calibrators.temperature import MatrixTemperature


def test_vector_scaling_finds_the_factors_it_was_made_with():
    rng = np.random.default_rng(0)
    z = rng.normal(0.0, 1.5, (60_000, 3))
    scores = np.exp(z)
    scores /= scores.sum(axis=1, keepdims=True)
    eta = np.log(scores) * [0.5, 1.0, 0.8] + [0.3, 0.0, -0.2]
    label = (eta + rng.gumbel(size=eta.shape)).argmax(axis=1)
    fitted = VectorScaling().fit(scores, label)
    assert fitted.slopes_ == pytest.approx([0.5, 1.0, 0.8], abs=0.03)
    shift = fitted.intercepts_ - fitted.intercepts_[1]
    assert shift == pytest.approx([0.3, 0.0, -0.2], abs=0.05)


def test_a_formula_names_the_least_and_the_largest_coefficient(problem):
    fitted = VectorScaling().fit(*problem)
    low, high = fitted.slopes_.min(), fitted.slopes_.max()
    assert f"{low:.3g} to {high:.3g}" in fitted.formula()


def test_dirichlet_without_penalty_is_matrix_scaling(problem):
    free = Dirichlet(strength=0.0).fit(*problem).predict(problem[0])
    assert free == pytest.approx(MatrixScaling().fit(*problem).predict(problem[0]), abs=1e-6)


def test_a_strong_penalty_leaves_the_diagonal_only(problem):
    fitted = Dirichlet(strength=1e6).fit(*problem)
    off = fitted.weights_[~np.eye(4, dtype=bool)]
    assert off == pytest.approx(0.0, abs=1e-6)
    assert np.diagonal(fitted.weights_).min() > 0.3
    flat = Dirichlet("l2", strength=1e6).fit(*problem)
    assert flat.predict(problem[0]) == pytest.approx(0.25, abs=1e-3)


def test_the_structured_penalty_counts_effective_rows(problem):
    """Weights and clusters reduce the rows, so the penalty is as strong as with fewer rows."""
    scores, label = problem[0][:300], problem[1][:300]
    once = StructuredMatrix().fit(scores, label)
    groups = np.tile(np.arange(300), 2)
    twice = np.vstack([scores, scores]), np.r_[label, label]
    copied = StructuredMatrix().fit(*twice, groups=groups)
    assert copied.predict(scores) == pytest.approx(once.predict(scores), abs=1e-3)
    # If they count as 600 rows, they move the matrix further.
    free = StructuredMatrix().fit(*twice)
    assert np.abs(free.weights_ - np.eye(4)).max() > 1.2 * np.abs(once.weights_ - np.eye(4)).max()


def test_cross_validation_holds_noise_back(problem):
    # The true calibrator is diagonal, so a strong penalty should be chosen for few rows.
    scores, label = problem
    fitted = Dirichlet().fit(scores[:200], label[:200])
    path = fitted.path_
    assert fitted.strength_ == path[path[:, 1].argmin(), 0]
    assert fitted.strength_ * 2 * 200 >= 10.0
    new, truth = scores[200:], label[200:]

    def loss(method):
        return -np.log(method.predict(new)[np.arange(len(new)), truth]).mean()

    assert loss(fitted) < loss(MatrixScaling().fit(scores[:200], label[:200]))


def test_priors_of_100000_to_a_hundredth_of_a_row_are_tried_on_held_out_folds():
    """Classes that depend on the others' scores are fitted best with hardly any prior."""
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([1.0, 1.0, 1.0], 600)
    eta = np.log(scores) @ np.array([[1, 0, 2], [2, 1, 0], [0, -2, 1]]) + [0, 1, -1]
    label = (eta + rng.gumbel(size=eta.shape)).argmax(axis=1)
    fitted = Dirichlet().fit(scores, label)
    strength, losses = fitted.path_.T
    prior_rows = [1e5, 1e4, 1e3, 100.0, 10.0, 1.0, 0.1, 0.01]
    assert strength * 2 * 600 == pytest.approx(prior_rows)
    assert fitted.strength_ == strength[6]
    folds = np.array_split(np.random.default_rng(0).permutation(600), 5)
    for k in (2, 4, 7):
        held_out = []
        for fold in folds:
            rest = np.setdiff1d(np.arange(600), fold)
            one = Dirichlet(strength=prior_rows[k] / 2 / 480).fit(scores[rest], label[rest])
            p = one.predict(scores[fold])[np.arange(120), label[fold]]
            held_out.append(-np.log(p).mean())
        assert losses[k] == pytest.approx(np.mean(held_out), rel=1e-5)


def test_the_search_ends_two_priors_after_the_best(problem):
    path = Dirichlet().fit(problem[0][:200], problem[1][:200]).path_
    assert len(path) == path[:, 1].argmin() + 3 < 8


@pytest.mark.parametrize(
    "parameters",
    [
        {"penalty": "l1"},
        {"strength": -1.0},
        {"intercept_strength": np.nan},
    ],
)
def test_dirichlet_refuses(problem, parameters, texts):
    with texts.raises(ValueError):
        Dirichlet(**parameters).fit(*problem)


@pytest.mark.parametrize("p_min", [0.0, 0.25, -1.0, float("nan")])
def test_clip_refuses_a_bound_that_would_move_the_first_class(problem, p_min, texts):
    with texts.raises(ValueError):
        MatrixClip(p_min).fit(*problem)


def test_clip_takes_the_best_bound():
    scores = np.tile([[1.0, 0.0, 0.0]], (2000, 1))
    # Classes 1 and 2 are each seen once in 2,000 rows.
    label = np.r_[np.zeros(1998, dtype=int), 1, 2]
    assert MatrixClip().fit(scores, label).p_min_ == 1e-3


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_temperature_stays_within_its_bounds(sign):
    order = np.array([0, 1, 2] * 50)
    scores = np.full((150, 3), 0.3) + 0.1 * np.eye(3)[order]
    label = order if sign > 0 else (order + 1) % 3
    fitted = MatrixTemperature().fit(scores, label)
    assert 0.0099 <= fitted.temperature_ <= 100.1
    assert (fitted.temperature_ < 0.05) == (sign > 0)


def test_full_matrices_refuse_a_thousand_classes(texts):
    with texts.raises(ValueError):
        MatrixScaling().fit(np.full((2, 1000), 1e-3), [0, 1])


@pytest.mark.parametrize(
    ("method", "name", "allowed", "refused"),
    [
        (MatrixClip, "p_min", (1e-300, 0.2499), (0.0, 0.25)),
        (Dirichlet, "strength", (0.0, 1e12), (-1e-12, np.inf)),
        (Dirichlet, "intercept_strength", (0.0, 1e12), (-1e-12, np.inf)),
        (TopSpline, "n_top", (1,), (0,)),
        (TopSpline, "n_knots", (2,), (1,)),
    ],
)
def test_parameters_are_allowed_up_to_their_limits(problem, method, name, allowed, refused):
    scores, label = problem[0][:100], problem[1][:100]
    given = {} if name == "strength" or method is not Dirichlet else {"strength": 0.1}
    for value in allowed:
        predicted = method(**given, **{name: value}).fit(scores, label).predict(scores)
        assert predicted.sum(axis=1) == pytest.approx(1.0)
    for value in refused:
        with pytest.raises(ValueError, match=name):
            method(**given, **{name: value}).fit(scores, label)
