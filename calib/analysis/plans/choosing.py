"""The choice among the plans, with its held-out log loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import partial

import numpy as np

from calib.analysis.analysis import LiveAnalysis
from calib.analysis.miscalibration import view_words
from calib.analysis.plans.searching import (
    Domain,
    PlanKind,
    TimedRows,
    fit,
    search,
)
from calib.analysis.verdict import Verdict, judge
from calib.calibrators import Calibrator
from calib.crossfit.estimates import mean_estimate
from calib.crossfit.methods import create
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.data.slicing import slice_by
from calib.data.views import BinaryView
from calib.metrics.proper import row_log_loss
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked
from calib.numerics.estimate import Estimate

N_FOLDS = 5
# More rows would take a page longer than half a minute.
MAX_PLAN_ROWS = 200_000
# Columns with more values have slices that are too small to be calibrated apart.
MAX_COLUMNS, MAX_VALUES = 8, 50
# Other calibrators have too many parameters for the rows of a slice, or take too long to be chosen.
PLAN_METHODS = ("platt", "logistic", "temperature", "beta", "isotonic", "spline")
USUAL_METHOD = "logistic"


@dataclass(frozen=True, slots=True)
class Plan:
    """Which rows are calibrated, and by which method.

    Attributes
    ----------
    kind : {"all rows", "rows since", "slice since"}
    method : str
        Key of the method; "uncalibrated" or "" if all rows keep their scores.
    since : date or None
        First day of the rows; None for all rows.
    column, value : str
        The slice, if the plan is for one.
    """

    kind: PlanKind
    method: str
    since: date | None = None
    column: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class PlanChoice(Locked):
    """The plan that is chosen for scores that changed, and what it does to the rows since then.

    Attributes
    ----------
    plan : Plan
    calibrator : Calibrator or None
        Fitted on all rows of the plan. None if it is the advice of the analysis for all rows.
    since, since_low, since_high : date
        The most likely first day of the change, and its 95% likelihood interval.
    losses : mapping of str to float
        Mean log loss of the rows since the change: "" is that of the scores, the others those of
        each plan, held out. Day and slice were chosen on the same rows.
    loss, change : Estimate
        Held-out log loss of these rows under the whole procedure, and the paired change from the
        scores. In each fold the day, the slice and the plan are chosen without its rows.
    before, now, after : Verdict
        Verdicts of the scores before the change, since then, and of `scores` since then.
    cells : tuple of ScoreCells
        The cells of these three.
    inside : ndarray of bool, shape (n,)
        Rows since the change.
    scores : ndarray of shape (n,)
        Scores of the whole procedure, held out.
    """

    plan: Plan
    calibrator: Calibrator | None
    since: date
    since_low: date
    since_high: date
    losses: Mapping[str, float]
    loss: Estimate
    change: Estimate
    before: Verdict
    now: Verdict
    after: Verdict
    cells: tuple[ScoreCells, ScoreCells, ScoreCells]
    inside: BoolArray
    scores: FloatArray


def choose_plan(predictions: Predictions, analysis: LiveAnalysis, time: str) -> PlanChoice | None:
    """Choose which rows to calibrate, if the scores changed on some day and stayed so.

    Three plans are compared by the log loss of the rows since the change: what the analysis
    advises, for all rows; a calibrator of the rows since the change; and one of those rows of the
    slice with the strongest evidence (score test of the mean, Holm's correction over all slices).
    The day is the most likely one, see `calib.numerics.change_day`. Plans for some rows use the
    advised method, or logistic calibration if it is none of six simple ones.

    All of it is done again without each of five folds, and its rows are scored by what is then
    chosen. So `loss` and `change` contain the choice of the day, the slice and the plan. Only the
    scores of the analysis' own advice are taken as they are; they are held out, too.

    Parameters
    ----------
    predictions : Predictions
        The rows of the analysis, at most 200,000, all of them scored (without test rows).
    analysis : LiveAnalysis
    time : str
        Name of a column of dates.

    Returns
    -------
    PlanChoice or None
        None if no day is clearly the beginning of a change, or the rows are of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> import calib
    >>> rng, day = np.random.default_rng(0), np.datetime64("2026-01-01") + np.arange(6000) // 50
    >>> plan, score = rng.choice(["year", "month"], 6000), rng.beta(2, 4, 6000)
    >>> late = (day >= np.datetime64("2026-03-01")) & (plan == "month")
    >>> odds = score / (1 - score) * np.where(late, 2.5, 1.0)
    >>> y = rng.random(6000) < odds / (1 + odds)
    >>> rows = calib.Predictions.from_arrays(y, score, columns={"plan": plan, "day": day})
    >>> chosen = choose_plan(rows, calib.analyze(rows, {"methods": ("logistic",)}), "day")
    >>> chosen.plan.kind, chosen.plan.value, str(chosen.since), chosen.change.high < 0
    ('slice since', 'month', '2026-03-01', True)
    """
    if not _suits(predictions, analysis, time):
        return None
    rows = _timed(predictions, analysis, time)
    result = search(rows)
    if result is None:
        return None
    inside, scores = Domain("rows since", result.likelihood.day).of(rows), _procedure(rows)
    view = rows.view.rows(inside)
    loss = row_log_loss(view.outcome, scores[inside])
    level = analysis.settings.confidence_level
    calibrator = None
    if result.best.kind != "all rows":
        calibrator = fit(rows.view.rows(result.best.of(rows)), rows.create)
    words = view_words(analysis.settings.view, answers=analysis.has_answers)

    def cells_of(chosen: BoolArray, score: FloatArray) -> ScoreCells:
        return replace(rows.view.rows(chosen), score=score[chosen]).cells().bounded()

    earlier = (rows.day >= 0) & ~inside
    cells = (
        cells_of(earlier, rows.view.score),
        cells_of(inside, rows.view.score),
        cells_of(inside, scores),
    )
    before, now, after = (judge(part, words=words) for part in cells)

    days = rows.days.astype(object)
    ends = np.flatnonzero(result.likelihood.inside())
    return PlanChoice(
        plan=_plan(result.best, rows, analysis),
        calibrator=calibrator,
        since=days[result.likelihood.day],
        since_low=days[ends[0]],
        since_high=days[ends[-1]],
        losses=result.losses,
        loss=mean_estimate(loss, view, level),
        change=mean_estimate(loss - row_log_loss(view.outcome, view.score), view, level),
        before=before,
        now=now,
        after=after,
        cells=cells,
        inside=inside,
        scores=scores,
    )


def _suits(predictions: Predictions, analysis: LiveAnalysis, time: str) -> bool:
    return (
        isinstance(predictions, Predictions)
        and not predictions.is_matrix
        and analysis.held_out.protocol == "folds"
        and len(predictions) <= MAX_PLAN_ROWS
        and time in predictions.columns
        and predictions.holds_dates(time)
    )


def _method(analysis: LiveAnalysis) -> str:
    advised = analysis.recommendation.method
    return advised if advised in PLAN_METHODS else USUAL_METHOD


def _timed(predictions: Predictions, analysis: LiveAnalysis, time: str) -> TimedRows:
    held_out, advised = analysis.held_out, analysis.recommendation.method
    view = held_out.given_rows
    values = predictions.columns[time].astype("datetime64[D]")
    dated = ~np.isnat(values)
    days, at = np.unique(values[dated], return_inverse=True)
    day = np.full(len(view), -1, dtype=np.int64)
    day[dated] = at
    slicings = {}
    # The code of a plan compares a column with a text, so ranges of numbers are left out.
    texts = [name for name, of in predictions.columns.items() if of.dtype.kind in "OUST"]
    for name in texts[:MAX_COLUMNS]:
        cut = slice_by(predictions.columns, [name])
        if 1 < len(cut) <= MAX_VALUES:
            slicings[name] = cut
    method = advised if advised in held_out.scores else "uncalibrated"
    return TimedRows(
        view,
        day,
        days,
        slicings,
        held_out.row_view(method).score,
        _folds(view, day, analysis.settings.seed),
        partial(create, _method(analysis), analysis.settings),
    )


def _folds(view: BinaryView, day: IntArray, seed: int) -> IntArray:
    """Folds of rows or of clusters that do not depend on the order of the rows."""
    if view.fold is not None:
        return view.fold
    rng = np.random.default_rng([seed, 2])
    if view.group is not None:
        return rng.permutation(int(view.group.max()) + 1)[view.group] % N_FOLDS
    # Rows of both outcomes and of all days are spread over the folds evenly.
    order = np.lexsort((view.score, day, view.outcome))
    fold = np.empty(len(order), dtype=np.int64)
    blocks = -(-len(order) // N_FOLDS)
    fold[order] = rng.permuted(np.tile(np.arange(N_FOLDS), (blocks, 1)), axis=1).ravel()[
        : len(order)
    ]
    return fold


def _procedure(rows: TimedRows) -> FloatArray:
    """The scores of the rows of each fold under the plan that is chosen without them."""
    scores = rows.view.score.copy()
    for fold in np.unique(rows.fold):
        scored = rows.fold == fold
        training, held_out = rows.rows(~scored), rows.rows(scored)
        result = search(training)
        # Without a change, the advice for all rows is kept.
        if result is None or result.best.kind == "all rows":
            scores[scored] = held_out.advised
            continue
        fitted = fit(training.view.rows(result.best.of(training)), rows.create)
        inside = result.best.of(held_out)
        of_fold = held_out.view.score.copy()
        if fitted is not None:
            of_fold[inside] = fitted.predict(of_fold[inside])
        scores[scored] = of_fold
    return scores


def _plan(best: Domain, rows: TimedRows, analysis: LiveAnalysis) -> Plan:
    if best.kind == "all rows":
        return Plan(best.kind, analysis.recommendation.method)
    since = rows.days[best.day].astype(object)
    value = rows.slicings[best.column].names[best.code] if best.column else ""
    return Plan(best.kind, _method(analysis), since, best.column, value)
