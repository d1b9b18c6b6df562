"""Which calibrator is recommended, and which miscalibration the rows would have shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

import numpy as np
from scipy.special import expit

from calib.calibrators import CALIBRATORS
from calib.crossfit.cross_fitted import (
    lowest_first,
    stack_decides,
)
from calib.data.cells import ScoreCells
from calib.data.strict_json import added
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import equal_weights
from calib.numerics.few_cells import bucket_means, bucket_starts
from calib.numerics.intervals import Estimate
from calib.numerics.resampling import mean_design_effects
from calib.numerics.score_grid import beyond
from calib.numerics.transforms import safe_logit
from calib.text import (
    day_words,
    number,
    percent,
    plural,
    shortened,
)
from calib.words import recommendations as wording

PlanKind = Literal["all rows", "rows since", "slice since"]

# With fewer effective rows of an outcome, a calibrator is only recommended if tests reject
# calibration.
FEW_OF_AN_OUTCOME = 100
# With fewer than this nothing is recommended.
LEAST_OF_AN_OUTCOME = 30
# If rows with a score of exactly 0 or 1 that were wrong cause at least this share of the variance
# of a change of log loss, its interval depends on how log loss clips such scores.
MIN_DRIVING_SHARE = 0.5


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

    @property
    def words(self) -> str:
        """How the rows are calibrated, and which.

        >>> Plan("slice since", "logistic", date(2026, 5, 1), "plan", "prepaid").words
        'Logistic calibration of plan prepaid since 1 May 2026'
        >>> Plan("rows since", "platt", date(2026, 5, 1)).words, Plan("all rows", "beta").words
        ('Platt scaling of the rows since 1 May 2026', 'Beta calibration of all rows')
        """
        name = wording.calibration_by(CALIBRATORS[self.method].short_label) if self.method else ""
        if self.since is None:
            return f"{name} of all rows"
        rows = self.slice_words or "the rows"
        return f"{name} of {rows} since {day_words(self.since)}"

    @property
    def slice_words(self) -> str:
        """The slice of the plan, such as "plan prepaid", or ""."""
        return f"{self.column} {shortened(self.value)}" if self.column else ""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Which calibrator to use.

    Attributes
    ----------
    method : str
        Key of the method. "uncalibrated": keep the scores. "": there are too few rows for a
        recommendation, no calibrator was compared, or `plan` is recommended.
    sentence : str
        The recommendation in one sentence.
    reasons : tuple of str
        The evidence, one sentence each.
    plan : Plan or None
        A calibrator for some rows, which is recommended instead of one for all rows.
    """

    method: str
    sentence: str
    reasons: tuple[str, ...]
    plan: Plan | None = added(None)


@dataclass(frozen=True, slots=True)
class FewRows:
    """The rarer outcome of data that have too few rows of it, and its number of rows."""

    outcome: str
    n_rows: int
    is_effective: bool

    def __str__(self) -> str:
        """The rows in words, for example "99 positives"."""
        name = self.outcome.removesuffix("s") if self.n_rows == 1 else self.outcome
        return f"{self.n_rows:,} {name}{' (effective number)' if self.is_effective else ''}"


def too_few(
    cells: ScoreCells, outcomes: tuple[str, str], enough: int = FEW_OF_AN_OUTCOME
) -> FewRows | None:
    """The rows of the rarer outcome, if these are fewer than `enough` effective rows.

    Rows are counted as independent rows of equal weight [Kish], because repeated rows add no
    information.
    """
    total = np.array([cells.total_positive, cells.total_weight - cells.total_positive])
    square = np.array([cells.positive_sq.sum(), (cells.weight_sq - cells.positive_sq).sum()])
    effective = np.divide(total**2, square, out=np.zeros(2), where=square > 0.0)
    effective /= max(1.0, cells.design_effect)
    rarer = int(effective.argmin())
    count = round(float(effective[rarer]))
    if count >= enough:
        return None
    same = cells.design_effect < 1.0 + 1e-9 and equal_weights(cells)
    return FewRows(outcomes[rarer], count, is_effective=not same)


def recommend(
    chosen: str,
    losses: Mapping[str, Estimate],
    to_best: Mapping[str, Estimate],
    changes: Mapping[str, Estimate],
    cells: ScoreCells,
    outcomes: tuple[str, str] = ("positives", "negatives"),
    loss: str = "held-out log loss",
    level: float = 0.95,
    *,
    tests_reject: bool = True,
) -> Recommendation:
    """State the recommendation of the chosen method with its evidence.

    `losses`, `to_best` and `changes` are the loss of each method, the loss minus that of the best
    one, and minus that of the uncalibrated scores, both paired. `cells` are those of the
    uncalibrated scores, and `outcomes` the names of positive and negative rows. With fewer than 30
    rows of an outcome nothing is recommended; with fewer than 100, only a calibrator of scores that
    tests reject.
    """
    few = too_few(cells, outcomes)
    if few and (
        not tests_reject
        or chosen == "uncalibrated"
        or too_few(cells, outcomes, LEAST_OF_AN_OUTCOME)
    ):
        enough = LEAST_OF_AN_OUTCOME if tests_reject else FEW_OF_AN_OUTCOME
        reason = f"Only {few}; at least {enough} are needed."
        if chosen == "uncalibrated" and tests_reject:
            reason = f"Only {few}, and no calibrator lowers {loss}."
        return Recommendation("", "Not enough data to recommend a calibrator.", (reason,))
    if set(losses) <= {"uncalibrated"}:
        return Recommendation("", "No calibrator was compared.", ())
    best = lowest_first(losses)[0]
    reasons = [f"Lowest {loss}: {CALIBRATORS[best].short_label}, {number(losses[best].value)}."]
    by_stack = stack_decides(losses, cells.in_effective_rows().total_weight)
    if chosen == best:
        reasons += wording.runner_up(losses, to_best, best, level)
    elif chosen == "uncalibrated":
        reasons += [
            wording.why_kept(best, changes[best], level, by_stack=by_stack, step=cells.step)
        ]
    else:
        reasons = [wording.why_not_best(chosen, best, to_best[chosen], level, by_stack=by_stack)]
    if few:
        reasons.insert(0, f"Few rows: only {few}.")
    sentence = wording.advice_sentence(chosen, losses, changes[chosen], loss, level)
    return Recommendation(chosen, sentence, tuple(reasons))


def driven_by_certain_rows(rows: BinaryView, change: FloatArray) -> tuple[str, ...]:
    """A sentence if few wrong scores of exactly 0 or 1 cause most of a change's uncertainty.

    `change` is that of the log loss of each entry of `rows`, from their uncalibrated scores.
    """
    too_low = (rows.score == 0.0) & rows.outcome
    too_high = (rows.score == 1.0) & ~rows.outcome
    certain = too_low | too_high
    deviation = change - np.average(change, weights=rows.weights)
    variance = rows.squared_weights * np.square(deviation)
    if not certain.any() or variance[certain].sum() < MIN_DRIVING_SHARE * variance.sum():
        return ()
    n = round(float(rows.counts[certain].sum()))
    score, outcome = ("0", "positive") if too_low.any() else ("1", "negative")
    if too_low.any() and too_high.any():
        score, outcome = "0 or 1", "wrong"
    was = "was" if n == 1 else "were"
    return (
        f"Most of the uncertainty is {plural(n, 'row')} with score {score} that {was} {outcome}.",
    )


# The log-odds of all scores are shifted by a small error, which can still matter.
SHIFT = 0.1
# All tests together reject calibrated scores in 5% of samples.
SIZE = 0.05
# With 4,000 draws, the standard error of a power of 50% is 0.8 percentage points.
N_DRAWS = 4000
# Neighbouring scores are joined into at most this many runs, which are drawn together.
MAX_RUNS = 64
# The Hosmer-Lemeshow test has ten groups.
N_GROUPS = 10


@dataclass(frozen=True, slots=True)
class ShiftPower:
    """How often a shift of all scores by 0.1 in log-odds would be detected.

    Attributes
    ----------
    n_rows : int
    mean_shift : float
        The shift's mean effect on the scores, as a probability.
    power : float
        Share of samples with this number of rows in which one of the verdict's tests would reject.
    """

    n_rows: int
    mean_shift: float
    power: float

    def sentence(self, scores: str = "predictions") -> str:
        """The power in words, for a verdict without evidence of miscalibration."""
        points = number(100.0 * self.mean_shift, 1 if self.mean_shift >= 0.001 else 3)
        share = "more than 99%" if self.power > 0.99 else percent(self.power, 0)
        return (
            f"With {self.n_rows:,} rows, {scores} that are "
            f"{points} percentage points too low on average ({SHIFT} in log-odds) would be "
            f"detected in {share} of samples."
        )


def shift_power(cells: ScoreCells, design_effect: float = 1.0, n_tests: int = 5) -> ShiftPower:
    """Power of the verdict's five tests together, by a simulation with a fixed seed.

    The sums of outcomes minus scores over runs of neighbouring scores are drawn as normal numbers,
    with and without the shift. A verdict of n tests rejects if a p-value is below 5% / n, which is
    Holm's first step; that p-value is read from the draws without a shift. `design_effect` is that
    of the mean gap, for rows that come in clusters.

    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(1000)
    >>> shift_power(ScoreCells.from_arrays(rng.random(1000) < score, score)).sentence()[:16]
    'With 1,000 rows,'
    """
    starts = bucket_starts(cells.score, cells.weight, MAX_RUNS)
    certain = (cells.score == 0.0) | (cells.score == 1.0)
    shifted = np.where(certain, cells.score, expit(safe_logit(cells.score) + SHIFT))

    def total(values: FloatArray) -> FloatArray:
        return np.add.reduceat(values, starts)

    weight, drift = total(cells.weight), total(cells.weight * (shifted - cells.score))
    mean_shift = float(drift.sum() / weight.sum())
    drift = beyond(drift, 0.0, total(cells.weight * (cells.ranges[1] - cells.score)))
    score = bucket_means(cells.score, cells.weight, starts)
    before, after = (
        design_effect * total(cells.weight_sq * p * (1.0 - p)) for p in (cells.score, shifted)
    )
    noise = np.random.default_rng(0).standard_normal((N_DRAWS, len(starts)))
    null = _statistics(noise * np.sqrt(before), score, weight, before)
    statistics = _statistics(drift + noise * np.sqrt(after), score, weight, before)
    critical = np.quantile(null, 1.0 - SIZE / n_tests, axis=0)
    power = float((statistics > critical).any(axis=1).mean())
    return ShiftPower(cells.n_rows, mean_shift, power)


def _statistics(
    gaps: FloatArray, score: FloatArray, weight: FloatArray, variance: FloatArray
) -> FloatArray:
    """KS, Kuiper, Spiegelhalter, Hosmer-Lemeshow and line statistic of each draw, shape (r, 5)."""
    # Scores of exactly 0 and 1 have no variance, by which the others are divided.
    variance = np.maximum(variance, np.finfo(float).tiny)
    sums = np.cumsum(gaps, axis=1)
    middle = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    group = np.minimum((N_GROUPS * middle).astype(np.int64), N_GROUPS - 1)
    first = np.unique(group, return_index=True)[1]
    by_group = np.square(np.add.reduceat(gaps, first, axis=1)) / np.add.reduceat(variance, first)
    line = np.column_stack([np.ones(len(score)), safe_logit(score)])
    pulls = gaps @ line
    information = (line.T * variance) @ line
    return np.column_stack(
        [
            np.abs(sums).max(axis=1),
            np.maximum(sums.max(axis=1), 0.0) - np.minimum(sums.min(axis=1), 0.0),
            np.abs(gaps @ (1.0 - 2.0 * score)),
            by_group.sum(axis=1),
            np.einsum("ri,ij,rj->r", pulls, np.linalg.pinv(information), pulls),
        ]
    )


def gap_design_effect(rows: BinaryView) -> float:
    """How many times as much as with independent rows the mean of outcomes minus scores varies."""
    residual = rows.weights * (rows.outcome - rows.score)
    return float(mean_design_effects(residual, np.zeros(len(rows), np.int64), rows.group, 1)[0])
