"""Stack of calibrators: a weighted mean of several calibrators on the log-odds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Self

import numpy as np

from calib.calibrators.base import Calibrator
from calib.calibrators.forms import ON_ARRAYS, Blend
from calib.calibrators.registry import CALIBRATORS, calibrator, register
from calib.calibrators.spline import Spline
from calib.data.cells import ScoreCells
from calib.data.views import log_odds_of
from calib.numerics.arrays import FloatArray
from calib.numerics.few_cells import bucket_means, bucket_starts
from calib.numerics.smoothed_rate import EXTRA_COST_PER_DEGREE
from calib.numerics.transforms import EpsilonRule, sigmoid
from calib.text import joined, percent

# With smaller weights a member changes no visible digit, but makes the export longer.
MIN_WEIGHT = 0.02
# Rows are left out of at most about this many cells.
MAX_CELLS = 1024
MAX_STEPS, MAX_CHANGES = 20, 50
STEP_TOLERANCE = 1e-12
# Near the best weights a step changes the loss by less than its rounding, and is right.
ROUNDING = 1e-14
# Members that coincide have no curvature between them; this share of the mean gives them one.
RIDGE = 1e-12
# There is no curvature at all where all probabilities are 0 or 1.
LEAST_CURVATURE = 1e-200


@register(
    "stack",
    "Stack (of calibrators)",
    simplicity=90,
    summary="Weighted mean of several calibrators on the log-odds; the weights are those that "
    "predict held-out outcomes best.",
    source="Wolpert 1992, doi:10.1016/S0893-6080(05)80023-1",
    aliases="stacked generalization, super learner, ensemble of calibrators",
    weighs_evidence=True,
)
class Stack(Calibrator):
    """A convex combination of calibrators: logit p = sum of a_j logit m_j(s), a >= 0, sum a = 1.

    Every member is fitted on all rows. The weights a maximise the likelihood of the outcomes, each
    under the members fitted without its row. Regressions and splines follow a row that is left out
    by one Newton step, and Venn-Abers exactly, so there are no folds: nothing is random, and the
    order of the rows does not matter. Neighbouring scores count as one where there are more than
    about 1,024. A spline also pays for its degrees of freedom, as when it chooses its smoothness.
    Members with a weight below 0.02 are left out.

    Parameters
    ----------
    members : sequence of str, default ("uncalibrated", "platt", "logistic", "spline", "venn_abers")
        Different keys of calibrators that can leave a row out: these, and "beta".
    epsilon : float or None, default None
    epsilon_rule : {"symmetric", "published"}, default "symmetric"
        Epsilon of the compact logit of splines, and rule of the automatic one, see `Spline`.

    Attributes
    ----------
    weights_ : dict of str to float
        The weights by key, without those that are 0.
    members_ : dict of str to Calibrator
        The fitted members with these weights.

    References
    ----------
    Wolpert 1992, "Stacked generalization", doi:10.1016/S0893-6080(05)80023-1. Breiman 1996,
    "Stacked regressions", doi:10.1007/BF00117832 (weights of at least 0).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(1000)
    >>> y = rng.random(1000) < scores**2
    >>> fitted = Stack().fit(scores, y)
    >>> fitted.predict([0.5]).round(2), sum(fitted.weights_.values()).__round__(6)
    (array([0.25]), 1.0)
    """

    monotone = False

    def __init__(
        self,
        members: Sequence[str] = ("uncalibrated", "platt", "logistic", "spline", "venn_abers"),
        epsilon: float | None = None,
        epsilon_rule: EpsilonRule = "symmetric",
    ) -> None:
        self.members = members
        self.epsilon = epsilon
        self.epsilon_rule = epsilon_rule

    def fit_cells(
        self, cells: ScoreCells, fitted: Mapping[str, Calibrator] = MappingProxyType({})
    ) -> Self:
        """Fit the calibrator on rows that were counted into cells.

        `fitted` are calibrators of the same cells, with the same epsilon and rule. Members that
        are among them are not fitted again.
        """
        return self._fit_by(lambda rows: self._fit(rows, fitted), cells)

    def _fit(
        self, cells: ScoreCells, fitted: Mapping[str, Calibrator] = MappingProxyType({})
    ) -> None:
        _check_members(self.members)
        members = [fitted.get(key) or self._member(key).fit_cells(cells) for key in self.members]
        few = _fewer(cells)
        left_out = [np.concatenate(member.left_out(few)) for member in members]
        none = np.zeros(len(few))
        weights = convex_weights(
            np.column_stack(left_out),
            positive=np.concatenate([none, few.positive]),
            negative=np.concatenate([few.negative, none]),
            charge=np.array([_charge(member) for member in members]),
        )
        kept = np.flatnonzero(weights).tolist()
        self.weights_ = {self.members[i]: float(weights[i]) for i in kept}
        self.members_ = {self.members[i]: members[i] for i in kept}

    def _member(self, key: str) -> Calibrator:
        made = calibrator(key)
        if not isinstance(made, Spline):
            return made
        return made.set_params(epsilon=self.epsilon, epsilon_rule=self.epsilon_rule)

    def to_map(self) -> Blend:
        members = tuple(member.to_map() for member in self.members_.values())
        return Blend(tuple(self.weights_.values()), members)

    def _map_log_odds(self, scores: FloatArray, log_odds: FloatArray) -> FloatArray:
        return np.asarray(self.to_map()(ON_ARRAYS, scores, log_odds))

    def knots(self) -> FloatArray:
        """Scores at which a member changes its formula."""
        return np.unique(np.concatenate([member.knots() for member in self.members_.values()]))

    def formula(self) -> str:
        order = sorted(self.weights_, key=lambda key: -self.weights_[key])
        parts = [
            f"{percent(self.weights_[key], 0)} {CALIBRATORS[key].short_label}" for key in order
        ]
        return f"{joined(parts)} on the log-odds"


def _check_members(keys: Sequence[str]) -> None:
    """Raise ValueError unless the keys are at least one, known, and all different."""
    unknown = [key for key in keys if key not in CALIBRATORS]
    repeated = [key for key in dict.fromkeys(keys) if list(keys).count(key) > 1]
    if not keys:
        problem = "members of Stack are empty"
    elif unknown:
        problem = f"{unknown[0]!r} is not a calibrator, so it cannot be a member of a stack"
    elif repeated:
        problem = f"members of Stack hold {repeated[0]!r} more than once"
    else:
        return
    raise ValueError(
        f"{problem}. Give different keys of calibrators, such as "
        "members=('platt', 'logistic', 'spline')."
    )


def _fewer(cells: ScoreCells) -> ScoreCells:
    """At most about 1,024 cells of neighbouring scores, at their mean scores."""
    starts = bucket_starts(log_odds_of(cells), cells.weight, MAX_CELLS)
    if len(starts) == len(cells):
        return cells
    return cells.joined(starts, bucket_means(cells.score, cells.weight, starts))


def _charge(member: Calibrator) -> float:
    """What a fit adds to its log loss, because leaving a row out does not choose lambda again."""
    if not isinstance(member, Spline):
        return 0.0
    return EXTRA_COST_PER_DEGREE * member.n_parameters()


def convex_weights(
    log_odds: FloatArray, positive: FloatArray, negative: FloatArray, charge: FloatArray
) -> FloatArray:
    """Weights of the columns, with sum 1 and each 0 or at least 0.02, for the least log loss.

    `log_odds` has shape (n, m); `positive` and `negative` are the weights of the outcomes of each
    row. A column adds its `charge` times its weight to the loss, which is convex in the weights.

    >>> flat, steep = np.array([-1.0, 1.0]), np.array([-2.0, 2.0])
    >>> positive, negative = np.array([20.0, 80.0]), np.array([80.0, 20.0])
    >>> convex_weights(np.array([flat, steep]).T, positive, negative, np.zeros(2)).round(3)
    array([0.614, 0.386])
    """
    columns = np.arange(log_odds.shape[1])
    while True:
        part = _least_loss(log_odds[:, columns], positive, negative, charge[columns])
        large = part >= MIN_WEIGHT
        if large.all():
            break
        columns = columns[large]
    weights = np.zeros(log_odds.shape[1])
    weights[columns] = part
    return weights


def _least_loss(
    log_odds: FloatArray, positive: FloatArray, negative: FloatArray, charge: FloatArray
) -> FloatArray:
    """Weights of at least 0 with sum 1: each step minimises the quadratic model of the loss."""
    total = float(positive.sum() + negative.sum())
    m = log_odds.shape[1]

    def loss(weights: FloatArray) -> float:
        f = log_odds @ weights
        value = positive @ np.logaddexp(0.0, -f) + negative @ np.logaddexp(0.0, f)
        return float(value + charge @ weights) / total

    weights = np.full(m, 1.0 / m)
    value = loss(weights)
    for _ in range(MAX_STEPS):
        p = sigmoid(log_odds @ weights)
        slope = (log_odds.T @ (negative * p - positive * (1.0 - p)) + charge) / total
        curvature = (positive + negative) * p * (1.0 - p) / total
        step = _least_on_simplex((log_odds.T * curvature) @ log_odds, slope, weights) - weights
        tried = loss(weights + step)
        while tried - value > ROUNDING * value and np.abs(step).max() >= STEP_TOLERANCE:
            step /= 2.0
            tried = loss(weights + step)
        if np.abs(step).max() < STEP_TOLERANCE:
            break
        weights, value = weights + step, tried
    return weights


def _least_on_simplex(hessian: FloatArray, slope: FloatArray, at: FloatArray) -> FloatArray:
    """The w >= 0 with sum 1 that minimises slope @ d + d @ hessian @ d / 2, where d = w - at.

    `at` is such a point. Weights of 0 stay there until their slope is below that of the others.
    See Nocedal, Wright 2006, "Numerical optimization", section 16.5 (active sets).
    """
    m = len(at)
    hessian = hessian + RIDGE * max(float(np.trace(hessian)), LEAST_CURVATURE) / m * np.eye(m)
    w, free = at.copy(), at > 0.0
    for _ in range(MAX_CHANGES):
        gradient = slope + hessian @ (w - at)
        solved = np.linalg.solve(
            hessian[np.ix_(free, free)], np.column_stack([gradient[free], np.ones(free.sum())])
        )
        # All free weights have this slope at the minimum among them.
        level = solved[:, 0].sum() / solved[:, 1].sum()
        move = np.zeros(m)
        move[free] = level * solved[:, 1] - solved[:, 0]
        falls = move < 0.0
        share = float(np.min(w[falls] / -move[falls], initial=1.0))
        w = w + share * move
        if share < 1.0:
            hits = falls & (w <= ROUNDING)
            w[hits], free = 0.0, free & ~hits
            continue
        below = np.where(free, 0.0, gradient + hessian @ move - level)
        if below.min() >= -ROUNDING * np.abs(slope).max():
            break
        free[below.argmin()] = True
    return w / w.sum()
