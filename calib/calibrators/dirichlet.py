"""Dirichlet calibration: matrix scaling of the log scores with a penalty."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from calib.calibrators.matrix import FullLinear, ridge
from calib.calibrators.registry import register
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.softmax_regression import QuadraticPenalty, SoftmaxRegression, fit_softmax

Penalty = Literal["odir", "l2"]
N_FOLDS = 5
# The strengths that are tried, as the weight of a prior in rows.
PRIOR_ROWS = 10.0 ** np.arange(5.0, -2.1, -1.0)
# More rows than this do not improve the choice of the strength.
MAX_ROWS = 20_000
# Fits on the path may be coarse, because only their held-out loss is read.
PATH_TOLERANCE = 1e-8
# The loss has one minimum over the strengths, so the search ends after this many worse ones.
MAX_WORSE_STRENGTHS = 2


@register(
    "dirichlet",
    "Dirichlet",
    simplicity=68,
    summary="Assumes that true log-odds are linear in all log scores; penalises off-diagonal "
    "coefficients and intercepts.",
    source="Kull et al. 2019, arXiv:1910.12656",
    aliases="Dirichlet calibration with ODIR regularisation",
    weighs_evidence=True,
)
class Dirichlet(FullLinear):
    """Dirichlet calibration: softmax(W ln P + b), fitted by penalised maximum likelihood.

    Scores below 2.2e-16 are replaced by it before the logarithm is taken. The weak penalty of
    `MatrixScaling` is added to the penalty that is chosen here.

    Parameters
    ----------
    penalty : {"odir", "l2"}, default "odir"
        What is added to the mean log loss. "odir": `strength` times the sum of squares of the
        off-diagonal entries of W, plus `intercept_strength` times the sum of squares of b. "l2":
        `strength` times the sum of all squares.
    strength : float or None, default None
        At least 0. None: the value with the lowest log loss in 5 random folds of at most 20,000
        rows, among the weights of 100,000 to 0.01 rows in decades.
    intercept_strength : float or None, default None
        At least 0. None: equal to `strength`. Not used with "l2".
    random_state : int, default 0
        Seed of the folds.

    Attributes
    ----------
    weights_ : ndarray of shape (m, m)
        W. Entry (j, k) is the weight of the log score of class k for class j.
    intercepts_ : ndarray of shape (m,)
        b.
    strength_ : float
        Strength in use.
    path_ : ndarray of shape (p, 2)
        Strengths that were tried, with the cross-validated log loss of each. Empty if `strength`
        was given.

    References
    ----------
    Kull, Perello-Nieto, Kängsepp, Silva Filho, Song, Flach 2019, "Beyond temperature scaling",
    arXiv:1910.12656.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.dirichlet([1.0, 1.0, 1.0], 1000)
    >>> y = [rng.choice(3, p=row) for row in scores]  # the scores are calibrated
    >>> fitted = Dirichlet().fit(scores, y)
    >>> fitted.predict([[0.7, 0.2, 0.1]]).round(2)
    array([[0.72, 0.19, 0.09]])
    """

    def __init__(
        self,
        penalty: Penalty = "odir",
        strength: float | None = None,
        intercept_strength: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.penalty = penalty
        self.strength = strength
        self.intercept_strength = intercept_strength
        self.random_state = random_state

    def _solve(self, problem: SoftmaxRegression, start: FloatArray) -> FloatArray:
        self._check()
        self.path_ = np.empty((0, 2))
        if self.strength is None:
            self.strength_ = self._choose(problem, start)
        else:
            self.strength_ = float(self.strength)
        return fit_softmax(problem, self._penalty(problem, self.strength_), start)

    def _check(self) -> None:
        if self.penalty not in ("odir", "l2"):
            raise ValueError(f"penalty must be 'odir' or 'l2', got {self.penalty!r}.")
        for name in ("strength", "intercept_strength"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value < np.inf:
                raise ValueError(f"{name} must be at least 0 and finite, got {value}.")

    def _penalty(self, problem: SoftmaxRegression, strength: float) -> QuadraticPenalty:
        m = problem.x.shape[1]
        table = np.full((m, m + 1), strength)
        if self.penalty == "odir":
            table[np.arange(m), np.arange(m)] = 0.0
            if self.intercept_strength is not None:
                table[:, m] = self.intercept_strength
        return QuadraticPenalty(table.ravel(), np.zeros(table.size)) + ridge(problem)

    def _choose(self, problem: SoftmaxRegression, start: FloatArray) -> float:
        """The strength with the lowest cross-validated loss, searched from strong to weak."""
        folds = self._folds(problem)
        coefficients = [start] * len(folds)
        rows: list[tuple[float, float]] = []
        for prior_rows in PRIOR_ROWS.tolist():
            loss = 0.0
            for i, (train, held_out) in enumerate(folds):
                penalty = self._penalty(train, prior_rows / 2.0 / train.total_weight)
                coefficients[i] = fit_softmax(train, penalty, coefficients[i], PATH_TOLERANCE)
                loss += held_out.log_loss(coefficients[i]) * held_out.total_weight
            rows.append((prior_rows / 2.0 / problem.total_weight, loss))
            best = int(np.argmin([loss for _, loss in rows]))
            if len(rows) - 1 - best >= MAX_WORSE_STRENGTHS:
                break
        self.path_ = np.array(rows)
        self.path_[:, 1] /= sum(held_out.total_weight for _, held_out in folds)
        return rows[best][0]

    def _folds(
        self, problem: SoftmaxRegression
    ) -> list[tuple[SoftmaxRegression, SoftmaxRegression]]:
        order = np.random.default_rng(self.random_state).permutation(len(problem.x))[:MAX_ROWS]
        parts: list[IntArray] = [np.sort(part) for part in np.array_split(order, N_FOLDS)]
        folds = []
        for i, part in enumerate(parts):
            if not len(part):
                continue
            others = np.concatenate(parts[:i] + parts[i + 1 :])
            folds.append((problem.rows(others), problem.rows(part)))
        return folds


register(
    "dirichlet_l2",
    "Dirichlet (L2)",
    simplicity=69,
    summary="Assumes that true log-odds are linear in all log scores, with small coefficients.",
    source="Kull et al. 2019, arXiv:1910.12656",
    aliases="Dirichlet calibration with L2 regularisation",
    weighs_evidence=True,
)(partial(Dirichlet, "l2"))
