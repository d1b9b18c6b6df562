"""The penalised fit against direct minimisation, and leaving out against doing it."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import expit

from calib.numerics.penalized_logistic import PenalizedLogistic, fit_logistic, leave_out
from calib.numerics.splines import NaturalSpline, dense

X = np.array([0.0, 0.1, 0.25, 0.4, 0.5, 0.65, 0.8, 1.0])
WEIGHT = np.array([5.0, 9.0, 4.0, 12.0, 7.0, 6.0, 8.0, 3.0])
POSITIVE = np.array([0.0, 3.0, 2.0, 3.0, 5.0, 2.0, 6.0, 3.0])


def problem(weight=WEIGHT, positive=POSITIVE):
    spline = NaturalSpline(X)
    return PenalizedLogistic(spline.basis(X), weight, positive, spline.curvature())


def direct(values, lam, weight, positive):
    """The objective of the values at X, with nothing of ours: SciPy's spline, Simpson's rule."""
    total = weight.sum()
    t = weight * (1.0 + 1.0 / total)
    q = positive + weight / total * positive.sum() / total
    second = CubicSpline(X, values, bc_type="natural").derivative(2)
    left, right = second(X[:-1]), second(X[1:])
    middle = (left + right) / 2.0
    rough = (np.diff(X) / 6.0 * (left**2 + 4.0 * middle**2 + right**2)).sum()
    return t @ np.logaddexp(0.0, values) - q @ values + lam / 2.0 * rough


@pytest.mark.parametrize("lam", [1e-4, 1e-2, 1.0])
def test_is_the_direct_minimum(lam):
    made = problem()
    fit = fit_logistic(made, lam, made.constant())
    reference = minimize(
        direct, np.zeros(8), (lam, WEIGHT, POSITIVE), "BFGS", options={"gtol": 1e-6}
    )
    assert fit.value == pytest.approx(reference.x, abs=2e-4)
    assert direct(fit.value, lam, WEIGHT, POSITIVE) <= reference.fun + 1e-9


def test_starts_from_anywhere():
    made = problem()
    one = fit_logistic(made, 1e-3, made.constant())
    other = fit_logistic(made, 1e-3, np.linspace(-30.0, 30.0, 8))
    assert other.value == pytest.approx(one.value, abs=1e-6)


def test_a_fit_that_starts_at_its_minimum_takes_one_step():
    made = problem()
    fit = fit_logistic(made, 1e-3, made.constant())
    assert fit_logistic(made, 1e-3, fit.coefficients).n_iter == 1 < fit.n_iter


@pytest.mark.parametrize("light", [slice(4, 8), slice(0, 4), slice(2, 6)])
def test_weights_that_rounding_hides_in_the_hessian_do_not_change_the_fit_of_others(light):
    weight = np.ones(8)
    weight[light] = 1e-30
    made = problem(WEIGHT * weight, (0.8 * POSITIVE + 0.4) * weight)
    fit = fit_logistic(made, 1e-30, made.constant())
    heavy = weight == 1.0
    # The small penalty lets the curve pass through the rate of every cell.
    np.testing.assert_allclose(expit(fit.value)[heavy], (made.q / made.t)[heavy], rtol=1e-9)


def test_much_curvature_penalty_leaves_the_logistic_line():
    made = problem()
    fit = fit_logistic(made, 1e6, made.constant())
    slope = np.diff(fit.value) / np.diff(X)
    assert slope == pytest.approx(np.full(7, slope[0]), rel=1e-3)
    # A straight line of maximum likelihood solves these equations.
    residual = made.q - made.t * expit(fit.value)
    assert residual.sum() == pytest.approx(0.0, abs=1e-4)
    assert residual @ X == pytest.approx(0.0, abs=1e-4)


def test_separated_classes_have_a_finite_fit():
    made = problem(positive=np.where(X > 0.45, WEIGHT, 0.0))
    fit = fit_logistic(made, 1e-6, made.constant())
    assert np.abs(fit.value).max() < 15.0


def test_leaving_out_is_one_newton_step():
    lam = 1e-3
    made = problem()
    fit = fit_logistic(made, lam, made.constant())
    basis, penalty = made.basis.toarray(), lam * dense(made.penalty)
    total = 0.0
    for j in range(8):
        for label, count in ((1.0, POSITIVE[j]), (0.0, WEIGHT[j] - POSITIVE[j])):
            t, q = made.t.copy(), made.q.copy()
            t[j], q[j] = t[j] - 1.0, q[j] - label
            p = expit(fit.value)
            gradient = basis.T @ (t * p - q) + penalty @ fit.coefficients
            # A row that is left out takes its curvature with it.
            hessian = (basis.T * (t * p * (1.0 - p))) @ basis + penalty
            without = basis[j] @ (fit.coefficients - np.linalg.solve(hessian, gradient))
            total += count * np.logaddexp(0.0, without if label == 0.0 else -without)
    assert leave_out(made, fit)[0] == pytest.approx(total / WEIGHT.sum(), rel=1e-9)


def test_leaving_out_is_near_to_refitting():
    lam = 1e-1
    made = problem()
    fit = fit_logistic(made, lam, made.constant())
    total = 0.0
    for j in range(8):
        for label, count in ((1.0, POSITIVE[j]), (0.0, WEIGHT[j] - POSITIVE[j])):
            if not count:
                continue
            weight, positive = WEIGHT.copy(), POSITIVE.copy()
            weight[j], positive[j] = weight[j] - 1.0, positive[j] - label
            fewer = problem(weight, positive)
            f = fit_logistic(fewer, lam, fewer.constant()).value[j]
            total += count * np.logaddexp(0.0, f if label == 0.0 else -f)
    refitted = total / WEIGHT.sum()
    seen = (WEIGHT @ np.logaddexp(0.0, fit.value) - POSITIVE @ fit.value) / WEIGHT.sum()
    # The loss on fitted rows is too low; the step corrects at least nine tenths of this error.
    assert leave_out(made, fit)[0] == pytest.approx(refitted, abs=0.1 * (refitted - seen))


def test_degrees_are_the_trace_of_the_smoother():
    made = problem()
    fit = fit_logistic(made, 1e-3, made.constant())
    p = expit(fit.value)
    basis = made.basis.toarray()
    gram = (basis.T * (made.t * p * (1.0 - p))) @ basis
    trace = np.trace(np.linalg.solve(gram + 1e-3 * dense(made.penalty), gram))
    assert leave_out(made, fit)[1] == pytest.approx(trace, rel=1e-9)


@pytest.mark.parametrize("row", [np.full(8, 2.0), np.array([1, 20, 0.5, 3, 2, 1, 9, 4.0])])
def test_rows_of_any_weight_are_left_out_whole(row):
    """Of a cell that weighs less than a row, only its own weight leaves the Hessian."""
    spline = NaturalSpline(X)
    made = PenalizedLogistic(spline.basis(X), WEIGHT, POSITIVE, spline.curvature(), row)
    fit = fit_logistic(made, 1e-3, made.constant())
    basis, penalty = made.basis.toarray(), 1e-3 * dense(made.penalty)
    p = expit(fit.value)
    total = 0.0
    for j in range(8):
        t = made.t.copy()
        t[j] -= min(row[j], WEIGHT[j])
        hessian = (basis.T * (t * p * (1.0 - p))) @ basis + penalty
        for label, weight in ((1.0, POSITIVE[j]), (0.0, WEIGHT[j] - POSITIVE[j])):
            move = np.linalg.solve(hessian, row[j] * (label - p[j]) * basis[j])
            without = basis[j] @ (fit.coefficients - move)
            total += weight * np.logaddexp(0.0, without if label == 0.0 else -without)
    assert leave_out(made, fit)[0] == pytest.approx(total / WEIGHT.sum(), rel=1e-9)
