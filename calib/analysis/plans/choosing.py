"""Plans: which rows a calibrator is fitted to, when it is for a slice or from a day on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import partial

import numpy as np
from scipy.special import ndtr

from calib.analysis.analysis import LiveAnalysis
from calib.analysis.recommendation import (
    LEAST_OF_AN_OUTCOME,
    Plan,
    PlanKind,
    Recommendation,
)
from calib.analysis.verdict import Verdict, judge
from calib.analysis.verdicts import verdict_before
from calib.calibrators import Calibrator
from calib.crossfit.cross_fitted import mean_estimate
from calib.crossfit.folds import n_positive
from calib.crossfit.matrix import create
from calib.curves.reliability import FEW_ROWS
from calib.data.base import Data
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.data.slicing import MISSING, Slicing, slice_by
from calib.data.views import BinaryView
from calib.metrics.proper import row_log_loss
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked
from calib.numerics.intervals import Estimate, holm
from calib.numerics.monitoring import DayLikelihood, day_likelihood
from calib.text import day_words, joined, number
from calib.words.findings import view_words
from calib.words.recommendations import loss_change

# In the declared order: of plans with equal losses the first is chosen.
PLAN_KINDS: tuple[PlanKind, ...] = ("all rows", "rows since", "slice since")
# The log-likelihood ratio of the best day that a change needs. benchmarks/plans.md has the share of
# files without a change that reach it.
MIN_RATIO = 10.0
# The rows before a change are taken as wrong, too, if a line improves their log-likelihood by this:
# it is the 99.9% quantile of calibrated scores.
MIN_RATIO_BEFORE = 6.9
ALPHA = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class TimedRows:
    """Rows with the position of their day, -1 without one, and with their slices by column."""

    view: BinaryView
    day: IntArray
    days: np.ndarray
    slicings: Mapping[str, Slicing]
    # The held-out scores of what is advised for all rows.
    advised: FloatArray
    fold: IntArray
    create: Callable[[], Calibrator]

    def rows(self, chosen: BoolArray) -> TimedRows:
        return replace(
            self,
            view=self.view.rows(chosen),
            day=self.day[chosen],
            slicings={name: cut.rows(chosen) for name, cut in self.slicings.items()},
            advised=self.advised[chosen],
            fold=self.fold[chosen],
        )


@dataclass(frozen=True, slots=True)
class Domain:
    """The rows that a plan calibrates: all, those from a day on, or those of a slice from it on."""

    kind: PlanKind
    day: int = -1
    column: str = ""
    code: int = -1

    def of(self, rows: TimedRows) -> BoolArray:
        if self.kind == "all rows":
            return np.ones(len(rows.day), dtype=np.bool_)
        inside = rows.day >= self.day
        return inside & (rows.slicings[self.column].codes == self.code) if self.column else inside


@dataclass(frozen=True, slots=True, eq=False)
class ChangeSearch:
    """The change of some rows, the plans that fit it, their held-out losses, and the best plan.

    `losses` are means over the rows since the change, of the scores ("") and of each plan.
    """

    likelihood: DayLikelihood
    domains: Mapping[PlanKind, Domain]
    losses: Mapping[str, float]
    best: Domain


def search(rows: TimedRows) -> ChangeSearch | None:
    """Choose a plan for some rows, or None if they have no change."""
    likelihood = _likelihood(rows)
    if likelihood is None:
        return None
    since = Domain("rows since", likelihood.day)
    domains: dict[PlanKind, Domain] = {"all rows": Domain("all rows"), "rows since": since}
    if (hit := _hit_slice(rows, since)) is not None:
        domains["slice since"] = hit
    inside = since.of(rows)
    outcome, weights = rows.view.outcome[inside], rows.view.weights[inside]
    scores: dict[str, FloatArray] = {"": rows.view.score, "all rows": rows.advised}
    for kind in PLAN_KINDS[1:]:
        if kind in domains:
            made = held_out_scores(rows, domains[kind])
            if made is None:
                del domains[kind]
            else:
                scores[kind] = made
    losses = {
        name: float(np.average(row_log_loss(outcome, made[inside]), weights=weights))
        for name, made in scores.items()
    }
    best = min(domains, key=lambda kind: (losses[kind], PLAN_KINDS.index(kind)))
    return ChangeSearch(likelihood, domains, losses, domains[best])


def _likelihood(rows: TimedRows) -> DayLikelihood | None:
    """The likelihood of each day, or None if no day is clearly the first of a change."""
    dated = rows.day >= 0
    view, day = rows.view.rows(dated), rows.day[dated]
    positive = np.where(view.outcome, view.weights, 0.0)
    score, by_outcome = view.score, (positive, view.weights - positive)
    # An error of all days is no change, so the rows before it may be wrong, too.
    any_error = day_likelihood(day, score, *by_outcome, len(rows.days), right_before=False)
    if any_error.ratio.max() < MIN_RATIO:
        return None
    before = day < any_error.day
    whole = np.zeros(int(before.sum()), dtype=np.int64)
    y, n = (part[before] for part in by_outcome)
    upto = day_likelihood(whole, score[before], y, n, 1)
    if upto.ratio[0] > MIN_RATIO_BEFORE:
        return any_error
    # Scores that are right before locate the day better.
    located = day_likelihood(day, score, *by_outcome, len(rows.days))
    return located if located.day else any_error


def _hit_slice(rows: TimedRows, since: Domain) -> Domain | None:
    """The slice with the strongest evidence against its mean score since the change."""
    inside = since.of(rows)
    view = rows.view.rows(inside)
    residual = view.weights * (view.outcome - view.score)
    spread = view.squared_weights * view.score * (1.0 - view.score)
    places, z = [], []
    for column, cut in rows.slicings.items():
        codes = cut.codes[inside]
        kept = codes >= 0

        def total(
            values: FloatArray, codes: IntArray = codes, kept: BoolArray = kept, n: int = len(cut)
        ) -> FloatArray:
            return np.bincount(codes[kept], values[kept], minlength=n).astype(np.float64)

        variance = total(spread)
        enough = (total(view.counts) >= FEW_ROWS) & (variance > 0.0)
        # The condition of a plan is an equality, which a missing value does not fulfil.
        enough &= np.array(cut.names) != MISSING
        ratio = np.divide(total(residual), np.sqrt(variance), out=np.zeros(len(cut)), where=enough)
        places += [(column, int(code)) for code in np.flatnonzero(enough)]
        z += np.abs(ratio[enough]).tolist()
    if not z:
        return None
    best = int(np.argmax(z))
    if holm(2.0 * ndtr(-np.array(z)))[best] >= ALPHA:
        return None
    return Domain("slice since", since.day, *places[best])


def held_out_scores(rows: TimedRows, domain: Domain) -> FloatArray | None:
    """The scores under a plan, in the domain cross-fitted; None if a fold cannot be fitted."""
    scores, inside = rows.view.score.copy(), domain.of(rows)
    for fold in np.unique(rows.fold):
        fitted = fit(rows.view.rows(inside & (rows.fold != fold)), rows.create)
        if fitted is None:
            return None
        scored = inside & (rows.fold == fold)
        scores[scored] = fitted.predict(scores[scored])
    return scores


def fit(view: BinaryView, create: Callable[[], Calibrator]) -> Calibrator | None:
    """A calibrator of some rows, or None if they have too few of an outcome."""
    positives = n_positive(view)
    if min(positives, view.n_rows - positives) < LEAST_OF_AN_OUTCOME:
        return None
    return create().fit_cells(view.cells())


N_FOLDS = 5
# These take 4 to 6 seconds of a processor, by the calibrator.
MAX_PLAN_ROWS = 1_000_000
# Columns with more values have slices that are too small to be calibrated apart.
MAX_COLUMNS, MAX_VALUES = 8, 50
# Other calibrators have too many parameters for the rows of a slice, or take too long to be chosen.
PLAN_METHODS = ("platt", "logistic", "temperature", "beta", "isotonic", "spline")
USUAL_METHOD = "logistic"


# How the evidence for one plan names the others.
OTHERS = {
    "all rows": "the calibrator of all rows",
    "rows since": "one of all rows since then",
    "slice since": "one of the slice since then",
}


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
    of_plan : tuple of ScoreCells
        The cells of the rows since the change that the plan calibrates, before and after it.
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
    of_plan: tuple[ScoreCells, ScoreCells]
    inside: BoolArray
    scores: FloatArray

    @property
    def reasons(self) -> tuple[str, ...]:
        """The evidence besides the change of the log loss, in sentences."""
        first, last = (day_words(day) for day in (self.since_low, self.since_high))
        when = f"on {first}" if first == last else f"between {first} and {last}"
        reasons = [
            "Each row is scored by what was chosen without it: the day, the slice and the plan.",
            f"The change began {when} (95% likelihood interval).",
        ]
        others = [
            f"{OTHERS[kind]} {number(loss)}"
            for kind, loss in self.losses.items()
            if kind and kind != self.plan.kind
        ]
        if others:
            reasons.append(f"For comparison: {joined(others)}.")
        return tuple(reasons)


def with_plan(analysis: LiveAnalysis, choice: PlanChoice | None) -> LiveAnalysis:
    """The analysis as every page and report shows it: a plan for some rows is its recommendation.

    Its methods are fitted on all rows, so none of them is recommended besides such a plan.
    """
    if choice is None or choice.plan.kind == "all rows":
        return analysis
    changed = loss_change(
        choice.losses[""], choice.loss.value, choice.change, analysis.settings.confidence_level
    )
    reasons = (f"Held-out log loss of the rows since then {changed}.", *choice.reasons)
    sentence = f"Recommended: {choice.plan.words}."
    return with_advice(analysis, Recommendation("", sentence, reasons, choice.plan))


def with_advice(analysis: LiveAnalysis, advice: Recommendation) -> LiveAnalysis:
    """The analysis of scores without a matrix with a plan as its recommendation."""
    verdict = verdict_before(
        analysis.held_out,
        analysis.uncalibrated,
        analysis.settings,
        advice,
        answers=analysis.has_answers,
    )
    return replace(analysis, recommendation=advice, verdict=verdict, after=None)


def choose_plan(predictions: Data, analysis: LiveAnalysis, time: str) -> PlanChoice | None:
    """Choose which rows to calibrate, if the scores changed on some day and stayed so.

    Three plans are compared by the log loss of the rows since the change: what the analysis
    advises, for all rows; a calibrator of the rows since the change; and one of those rows of the
    slice with the strongest evidence (score test of the mean, Holm's correction over all slices).
    The day is the most likely one, see `calib.numerics.monitoring`. Plans for some rows use the
    advised method, or logistic calibration if it is none of six simple ones.

    All of it is done again without each of five folds, and its rows are scored by what is then
    chosen. So `loss` and `change` contain the choice of the day, the slice and the plan. Only the
    scores of the analysis' own advice are taken as they are; they are held out, too.

    Parameters
    ----------
    predictions : Predictions
        The rows of the analysis. Those that `why_no_plan` names have no plan.
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
    if not isinstance(predictions, Predictions) or why_no_plan(predictions, analysis):
        return None
    if time not in predictions.columns or not predictions.holds_dates(time):
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
    planned = inside & result.best.of(rows)
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
        of_plan=(cells_of(planned, rows.view.score), cells_of(planned, scores)),
        inside=inside,
        scores=scores,
    )


def why_no_plan(predictions: Data, analysis: LiveAnalysis) -> str:
    """What these data have or are that no plan is made for; "" if there can be one."""
    if not predictions.has_rows:
        return "counts"
    if predictions.is_matrix:
        return "one score per class"
    if analysis.held_out.protocol != "folds":
        return "test rows"
    if predictions.n_rows > MAX_PLAN_ROWS:
        return f"more than {MAX_PLAN_ROWS:,} rows"
    return ""


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
