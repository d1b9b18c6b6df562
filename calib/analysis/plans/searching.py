"""The search of one part of the rows: the day of a change, the slice that it hits, and the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from calib.analysis.recommendation import LEAST_OF_AN_OUTCOME, PlanKind
from calib.calibrators import Calibrator
from calib.crossfit.folds import n_positive
from calib.curves.reliability import FEW_ROWS
from calib.data.slicing import MISSING, Slicing
from calib.data.views import BinaryView
from calib.metrics.proper import row_log_loss
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.intervals import holm
from calib.numerics.monitoring import DayLikelihood, day_likelihood

# In the declared order: of plans with equal losses the first is chosen.
KINDS: tuple[PlanKind, ...] = ("all rows", "rows since", "slice since")
# The log-likelihood ratio of the best day that a change needs. docs/plans.md has the share of files
# without a change that reach it.
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
    for kind in KINDS[1:]:
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
    best = min(domains, key=lambda kind: (losses[kind], KINDS.index(kind)))
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
