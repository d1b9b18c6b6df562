"""Decisions by the scores of each method, and their costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calib.crossfit.cross_fitted import CrossFitted, mean_estimate
from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.numerics.arrays import BoolArray, FloatArray
from calib.numerics.intervals import Estimate

REFERENCE_ROWS = (1_000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of wrong decisions, or the share of rows that can be flagged.

    Parameters
    ----------
    false_positive, false_negative : float
        Cost of flagging a negative row, and cost of not flagging a positive row. They must be
        positive and in the same unit.
    capacity : float or None
        Share of the rows that are flagged, in (0, 1]. The rows with the highest scores are flagged.
        To flag k of n rows, give k / n. None: the threshold follows from the costs.

    Raises
    ------
    ValueError
        If a cost is not positive and finite, or the capacity is outside (0, 1].

    Examples
    --------
    >>> Costs(false_positive=1, false_negative=4).threshold
    0.2
    """

    false_positive: float = 1.0
    false_negative: float = 1.0
    capacity: float | None = None

    def __post_init__(self) -> None:
        for name in ("false_positive", "false_negative"):
            value = getattr(self, name)
            if not 0.0 < value < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {value}.")
        if self.capacity is not None and not 0.0 < self.capacity <= 1.0:
            raise ValueError(f"capacity must fulfil 0 < capacity <= 1, got {self.capacity}.")

    @property
    def threshold(self) -> float:
        """The optimal threshold for calibrated scores: c_fp / (c_fp + c_fn).

        A row is flagged if its score is at least the threshold.

        References
        ----------
        Elkan 2001, "The foundations of cost-sensitive learning".
        """
        return self.false_positive / (self.false_positive + self.false_negative)


@dataclass(frozen=True, slots=True)
class Decision:
    """Decisions by the scores of one method.

    Attributes
    ----------
    threshold : float
        Rows with at least this score are flagged. With a capacity, it is the lowest flagged score.
    tie_share : float
        Share of the rows exactly at the threshold that are flagged. It is 1 without a capacity.
        With a capacity, it is the share that the capacity allows, selected at random.
    true_positives, false_positives, false_negatives, true_negatives : float
        Sums of weights. Without weights these are numbers of rows.
    cost : Estimate
        Mean cost per row.
    change : Estimate
        Mean cost minus that of deciding by the uncalibrated scores, paired by row.
    net_benefit : Estimate
        Sum of y - (1 - y) c_fp / c_fn over the flagged rows, divided by the number of all rows
        (with weights: weighted sum, divided by the total weight).
    hindsight, hindsight_cost : float
        The threshold with the lowest cost on these rows, and its cost. It is chosen in hindsight,
        so the cost is optimistic. It is inf if flagging no row has the lowest cost, and NaN with a
        capacity.
    """

    threshold: float
    tie_share: float
    true_positives: float
    false_positives: float
    false_negatives: float
    true_negatives: float
    cost: Estimate
    change: Estimate
    net_benefit: Estimate
    hindsight: float
    hindsight_cost: float

    @property
    def n_flagged(self) -> float:
        """Weight of the flagged rows."""
        return self.true_positives + self.false_positives

    @property
    def n_rows(self) -> float:
        """Weight of all rows."""
        return self.n_flagged + self.false_negatives + self.true_negatives

    @property
    def flagged_share(self) -> float:
        """Share of all rows that are flagged."""
        return self.n_flagged / self.n_rows

    @property
    def missed_share(self) -> float:
        """Share of all rows that are positive and not flagged."""
        return self.false_negatives / self.n_rows

    def flag(self, score: FloatArray) -> FloatArray:
        """Decide by scores of this method: 1 is flagged, 0 is not, otherwise a probability."""
        return _flag(score, self.threshold, self.tie_share)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class DecisionTable:
    """Decisions by the held-out scores of every method.

    Attributes
    ----------
    costs : Costs
    methods : mapping of str to Decision
        Decisions by method key, "uncalibrated" first.
    treat_all, treat_none : float
        Mean cost per row if all rows are flagged, and if no row is flagged.
    confidence_level : float
        Confidence level of the intervals.
    """

    costs: Costs
    methods: Mapping[str, Decision]
    treat_all: float
    treat_none: float
    confidence_level: float

    @property
    def reference_rows(self) -> int:
        """A round number of rows to count errors by: 1,000, or more if positives are rare.

        On average at least ten of them are positive, so whole numbers show differences.
        """
        first = self.methods["uncalibrated"]
        rate = (first.true_positives + first.false_negatives) / first.n_rows
        return next((n for n in REFERENCE_ROWS if n * rate >= 10.0), REFERENCE_ROWS[-1])

    def frame(self) -> pd.DataFrame:
        """One row per method."""
        rows = {key: _row(decision) for key, decision in self.methods.items()}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("key")


def _row(decision: Decision) -> dict[str, float]:
    names = ("threshold", "true_positives", "false_positives", "false_negatives", "true_negatives")
    row: dict[str, float] = {name: getattr(decision, name) for name in names}
    for name in ("cost", "change", "net_benefit"):
        row |= getattr(decision, name).with_bounds(name)
    return row | {"hindsight": decision.hindsight, "hindsight_cost": decision.hindsight_cost}


def decide(held_out: CrossFitted, costs: Costs, *, confidence_level: float = 0.95) -> DecisionTable:
    """Decide by the scores of each method at the optimal threshold, and measure the cost.

    Parameters
    ----------
    held_out : CrossFitted
        ``analysis.held_out``.
    costs : Costs
        The costs, or the capacity, which determine the threshold.
    confidence_level : float
        Confidence level of the intervals, in (0, 1).

    References
    ----------
    Elkan 2001, "The foundations of cost-sensitive learning" (threshold); Vickers and Elkin 2006,
    doi:10.1177/0272989X06295361 (net benefit).

    Examples
    --------
    >>> import calib
    >>> from calib.crossfit.fitting import cross_fit
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> held_out = cross_fit(rows, calib.Settings(methods=("beta",)))
    >>> table = decide(held_out, Costs(false_negative=9))
    >>> table.methods["beta"].threshold, table.methods["beta"].change.value < 0
    (0.1, True)
    """
    views = {key: held_out.view(key) for key in held_out.scores}
    plain = _spent(views["uncalibrated"], held_out.cells["uncalibrated"], costs)
    methods = {
        key: _decision(
            rows,
            held_out.cells[key],
            costs,
            plain,
            confidence_level,
            _fold_variance(held_out, key, costs),
        )
        for key, rows in views.items()
    }
    return _table(costs, methods, held_out.cells["uncalibrated"].base_rate, confidence_level)


def decide_before_and_after(
    rows: BinaryView, after: FloatArray, costs: Costs, *, confidence_level: float = 0.95
) -> DecisionTable:
    """Decide by the scores of some rows, "uncalibrated", and by other scores of them, "after".

    Both are taken as they are: the intervals do not contain how calibrators vary.

    >>> from calib.data.views import BinaryView
    >>> rows = BinaryView(np.arange(400) % 2 == 0, np.tile([0.4, 0.1], 200), None, None, None)
    >>> table = decide_before_and_after(rows, 1.5 * rows.score, Costs())
    >>> table.methods["uncalibrated"].cost.value, table.methods["after"].change.value
    (0.5, -0.5)
    """
    views = {"uncalibrated": rows, "after": replace(rows, score=after)}
    cells = {key: view.cells() for key, view in views.items()}
    plain = _spent(rows, cells["uncalibrated"], costs)
    methods = {
        key: _decision(view, cells[key], costs, plain, confidence_level)
        for key, view in views.items()
    }
    return _table(costs, methods, cells["uncalibrated"].base_rate, confidence_level)


def _table(
    costs: Costs, methods: Mapping[str, Decision], base_rate: float, confidence_level: float
) -> DecisionTable:
    treat_all, treat_none = (1 - base_rate) * costs.false_positive, base_rate * costs.false_negative
    return DecisionTable(costs, methods, treat_all, treat_none, confidence_level)


def _flag(score: FloatArray, threshold: float, tie_share: float) -> FloatArray:
    return np.where(score == threshold, tie_share, (score > threshold).astype(np.float64))


def _place(cells: ScoreCells, costs: Costs) -> tuple[float, float]:
    """The threshold, and the share of the rows exactly at it that are flagged."""
    if costs.capacity is None:
        return costs.threshold, 1.0
    capacity = costs.capacity * cells.total_weight
    up_to = cells.cumulative_weight[1:]
    # A sum that is rounded down must not require one more row.
    unflagged = cells.total_weight - capacity * (1.0 - 1e-12)
    at = min(int(np.searchsorted(up_to, unflagged, side="right")), len(up_to) - 1)
    left = (capacity - (cells.total_weight - float(up_to[at]))) / float(cells.weight[at])
    return float(cells.score[at]), min(max(left, 0.0), 1.0)


def _row_costs(outcome: BoolArray, flagged: FloatArray, costs: Costs) -> FloatArray:
    if_negative = costs.false_positive * flagged
    return np.where(outcome, costs.false_negative * (1.0 - flagged), if_negative)


def _fold_variance(held_out: CrossFitted, key: str, costs: Costs) -> float:
    """Fold variance of the change. It is 0 with a capacity: only the order of rows matters then."""
    if costs.capacity is not None:
        return 0.0

    def spent(outcome: BoolArray, score: FloatArray) -> FloatArray:
        return _row_costs(outcome, _flag(score, costs.threshold, 1.0), costs)

    return held_out.fold_variance(key, spent)


def _spent(rows: BinaryView, cells: ScoreCells, costs: Costs) -> FloatArray:
    return _row_costs(rows.outcome, _flag(rows.score, *_place(cells, costs)), costs)


def _decision(
    rows: BinaryView,
    cells: ScoreCells,
    costs: Costs,
    plain: FloatArray,
    confidence_level: float,
    fold_variance: float = 0.0,
) -> Decision:
    threshold, tie_share = _place(cells, costs)
    flagged = _flag(rows.score, threshold, tie_share)
    spent = _row_costs(rows.outcome, flagged, costs)
    weighted = flagged * rows.weights
    true_positives = float(weighted[rows.outcome].sum())
    false_positives = float(weighted.sum()) - true_positives
    odds = costs.false_positive / costs.false_negative
    benefit = np.where(rows.outcome, flagged, -odds * flagged)
    hindsight, hindsight_cost = _hindsight(cells, costs)

    def mean(values: FloatArray, added_variance: float = 0.0) -> Estimate:
        return mean_estimate(values, rows, confidence_level, added_variance)

    return Decision(
        threshold=threshold,
        tie_share=tie_share,
        true_positives=true_positives,
        false_positives=false_positives,
        false_negatives=cells.total_positive - true_positives,
        true_negatives=cells.total_weight - cells.total_positive - false_positives,
        cost=mean(spent),
        change=mean(spent - plain, fold_variance),
        net_benefit=mean(benefit),
        hindsight=hindsight,
        hindsight_cost=hindsight_cost,
    )


def _hindsight(cells: ScoreCells, costs: Costs) -> tuple[float, float]:
    if costs.capacity is not None:
        return float("nan"), float("nan")
    spent = cost_from(cells, costs)
    # Among thresholds of equal cost, the nearest to that of calibrated scores is taken.
    cheapest = np.flatnonzero(spent <= spent.min() + 1e-12 * spent.max())
    scores = np.append(cells.score, np.inf)[cheapest]
    best = int(np.argmin(np.abs(np.minimum(scores, 2.0) - costs.threshold)))
    return float(scores[best]), float(spent[cheapest[best]])


def cost_from(cells: ScoreCells, costs: Costs) -> FloatArray:
    """Mean cost of flagging the cells from each cell upwards, and of flagging none: (k + 1,)."""
    positive_below = cells.cumulative_positive
    negative_below = cells.cumulative_weight - positive_below
    missed = costs.false_negative * positive_below
    false_alarms = costs.false_positive * (negative_below[-1] - negative_below)
    # Differences of sums of weights can be just below 0 because of rounding.
    return np.maximum(missed + false_alarms, 0.0) / cells.total_weight
