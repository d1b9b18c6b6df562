"""I-splines: strictly increasing, and the minimum that SciPy finds too."""

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import brier_score_loss, log_loss

from calib.calibrators.ispline import MIN_RISE, RIDGE, ISpline
from calib.numerics.transforms import compact_logit

GRID = np.linspace(0.0, 1.0, 501)


def draw(n=600, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.integers(1, 60, n) / 60.0
    return scores, rng.random(n) < 0.1 + 0.6 * (scores > 0.4)


@pytest.mark.parametrize("loss", ["log", "brier"])
@pytest.mark.parametrize("n_knots", [0, 5, 20])
def test_strictly_increasing(loss, n_knots):
    fitted = ISpline(loss, n_knots).fit(*draw())
    assert np.diff(fitted.predict(GRID)).min() > 0.0
    assert (fitted.coefficients_ > 0.0).all()


def test_is_the_minimum():
    scores, y = draw()
    fitted = ISpline(epsilon=0.01).fit(scores, y)
    x = compact_logit(scores, 0.01)
    inner = compact_logit(fitted.knots_, 0.01)
    padded = np.concatenate([[0.0] * 4, inner, [1.0] * 4])
    n = len(padded) - 4
    # By Ramsay, the r-th I-spline is the sum of the B-splines from the r-th on.
    rising = np.column_stack([BSpline(padded, np.arange(n) >= r, 3)(x) for r in range(1, n)])

    def objective(c):
        f = c[0] + rising @ c[1:]
        p = expit(f)
        value = np.logaddexp(0.0, f).sum() - f[y].sum() + RIDGE / 2 * c[1:] @ c[1:]
        return value, np.append((p - y).sum(), rising.T @ (p - y) + RIDGE * c[1:])

    bounds = [(None, None)] + [(MIN_RISE, None)] * (n - 1)
    result = minimize(objective, np.ones(n), jac=True, bounds=bounds, method="L-BFGS-B",
                     options={"ftol": 1e-14, "maxiter": 5000})  # fmt: skip
    ours = objective(np.append(fitted.intercept_, fitted.coefficients_))[0]
    assert ours == pytest.approx(result.fun, abs=1e-4)
    assert fitted.predict(scores) == pytest.approx(
        expit(result.x[0] + rising @ result.x[1:]), abs=1e-3
    )


def test_each_loss_wins_its_own():
    scores, y = draw()
    log = ISpline("log").fit(scores, y).predict(scores)
    brier = ISpline("brier").fit(scores, y).predict(scores)
    assert log_loss(y, log) < log_loss(y, brier)
    assert brier_score_loss(y, brier) < brier_score_loss(y, log)


def test_falling_truth_gives_the_base_rate(texts):
    scores, y = draw()
    fitted = ISpline().fit(1.0 - scores, y)
    assert fitted.constant_
    assert fitted.predict(GRID) == pytest.approx(np.full(501, y.mean()))
    texts.shown(fitted.formula())


@pytest.mark.parametrize(
    ("scores", "y"),
    [
        ([0.2, 0.8], [0, 1]),
        ([0.5, 0.5], [0, 1]),
        ([0.0, 1.0, 1e-300, 0.0], [0, 1, 1, 1]),
        (np.linspace(0, 1, 60), np.arange(60) >= 30),
        (1.0 - 10.0 ** np.linspace(-16, 0, 60), np.arange(60) % 2 == 0),
    ],
    ids=["two", "equal", "certain", "separated", "near 1"],
)
@pytest.mark.parametrize("loss", ["log", "brier"])
def test_hard_data_give_probabilities(scores, y, loss):
    p = ISpline(loss).fit(scores, y).predict(GRID)
    assert ((p >= 0.0) & (p <= 1.0)).all()


@pytest.mark.parametrize("parameters", [{"loss": "hinge"}, {"n_knots": -1}])
def test_parameters_are_checked(parameters, texts):
    with texts.raises(ValueError):
        ISpline(**parameters).fit([0.1, 0.2], [0, 1])


def test_knots_lie_at_the_quantiles_of_the_rows():
    scores = np.arange(1, 60) / 60.0
    y = np.arange(59) % 3 == 0
    for n in (1, 5, 9):
        levels = np.arange(1, n + 1) / (n + 1)
        expected = np.quantile(scores, levels, method="inverted_cdf")
        assert ISpline(n_knots=n).fit(scores, y).knots_.tolist() == expected.tolist()
    # Nine of ten rows have one score, which is one knot.
    scores = np.r_[np.full(90, 0.5), np.linspace(0.6, 0.9, 10)]
    assert ISpline(n_knots=5).fit(scores, np.arange(100) % 3 == 0).knots_.tolist() == [0.5]


@pytest.mark.parametrize("end", [5e-5, 1.0 - 5e-5])
def test_no_knot_lies_at_an_end_of_the_axis(end):
    # Beyond epsilon the axis is the score itself, so this is 5e-5 from its end.
    scores = np.r_[np.full(51, end), np.linspace(0.3, 0.7, 49)]
    knots = ISpline(n_knots=3, epsilon=0.01).fit(scores, np.arange(100) % 3 == 0).knots_
    inside = np.quantile(scores, [0.25, 0.5, 0.75], method="averaged_inverted_cdf")
    assert knots.tolist() == [score for score in inside.tolist() if score != end]


def test_knots_are_a_ten_thousandth_of_the_axis_apart():
    near, far = 0.5 + 1e-4, 0.5 + 1e-2
    for other, knots in ((near, [0.5]), (far, [0.5, far])):
        scores = np.r_[np.full(50, 0.5), np.full(50, other), 0.2, 0.8]
        gap = np.diff(compact_logit(np.array([0.5, other]), 0.01))[0]
        assert (gap < 1e-4) == (other == near)
        fitted = ISpline(n_knots=2, epsilon=0.01).fit(scores, np.arange(102) % 3 == 0)
        assert fitted.knots_.tolist() == knots


def test_five_knots_unless_another_number_is_asked_for():
    fitted = ISpline(epsilon=0.01).fit(*draw())
    assert len(fitted.knots()) == 5
    # A cubic spline has three more basis functions than knots.
    assert "8 rising I-splines" in fitted.formula()


def test_knots_that_are_too_near_to_each_other_or_to_an_end_are_left_out():
    # Near 1/2 the compact logit with epsilon 0.1 has the slope 0.73.
    scores = np.repeat([0.0, 0.5, 0.5 + 5e-5, 0.5 + 4e-4, 1.0], 40)
    fitted = ISpline(n_knots=18, epsilon=0.1).fit(scores, np.arange(200) % 2)
    assert fitted.knots().tolist() == [0.5, 0.5 + 4e-4]
