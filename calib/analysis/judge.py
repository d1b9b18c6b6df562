"""A judge's scores against gold labels: the debiased pass rate, and how far the judge agrees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from calib.analysis.analysis import LiveAnalysis
from calib.analysis.run import analyze
from calib.crossfit.settings import Settings
from calib.curves.reliability import FEW_ROWS
from calib.data.judged import JudgedRows
from calib.numerics.arrays import FloatArray, IntArray, Locked, arrays_of
from calib.numerics.debiased_mean import (
    DebiasedMean,
    debiased_mean,
    kappa,
    logit_interval,
    prediction_powered_mean,
)
from calib.numerics.intervals import Estimate, check_level
from calib.text import between, level, number, percent, plural

# With fewer labels, intervals are wide and a single label moves the result.
MIN_TELLING_LABELS = 50
# The pass rate is refused if this share of the judged scores, or more, is outside the labelled
# range.
MAX_SHARE_OUTSIDE = 0.05
# A random sample does not include the lowest and the highest score. Scores count as outside only if
# they are farther from the labelled range than this share of its length.
RANGE_MARGIN = 0.05
N_STRATA = 10
MIN_BINS = 4
# Two-sided normal quantile of p = 0.01: the labelled scores differ from those of a random sample.
MAX_SHIFT = 2.576


@dataclass(frozen=True, slots=True, eq=False)
class JudgeNumbers:
    """What gold labels say about a judge, without the rows.

    All rates are shares of rows, in [0, 1]. An interval is a pair of bounds.

    Attributes
    ----------
    name : str
        Name of the judge, or of the judged rows.
    mean : float
        Debiased pass rate: the mean over all rows of a line that was fitted to the labelled rows.
        NaN if it is not supported.
    interval : tuple of float
        Its interval, NaN if it is not supported.
    plain_mean : float
        Mean of the judge's scores, uncorrected.
    labels_mean : Estimate
        Pass rate of the labels alone, with its interval.
    ppi : Estimate
        The estimate of PPI++ with its normal interval, as ppi-python has it. Its interval is too
        short with few labels or pass rates near 0 or 1. NaN if all rows are labelled.
    labels_saved : int
        How many more labels the labels alone would need for an interval as short. 0 if the judge
        saves none, or the mean is not supported.
    agreement : float
        Share of the labelled rows on which the judge's answer (score at least `threshold`) is the
        label.
    agreement_interval : tuple of float
    kappa : float
        Cohen's kappa. NaN if judge and labels give one and the same answer to every row.
    kappa_interval : tuple of float
    base_rate : float
        Share of the labels that pass.
    constant_accuracy : float
        Agreement of a judge that gives the commoner answer to every row.
    supported : bool
        Whether less than 5% of the judged scores are outside the labelled range.
    share_outside : float
        Share of the judged scores that are outside, by more than a twentieth of its length.
    labelled_range, score_range : tuple of float
        Lowest and highest labelled score, and those of all scores.
    n_rows, n_labels : int
    threshold, confidence_level : float
    """

    name: str
    mean: float
    interval: tuple[float, float]
    plain_mean: float
    labels_mean: Estimate
    ppi: Estimate
    labels_saved: int
    agreement: float
    agreement_interval: tuple[float, float]
    kappa: float
    kappa_interval: tuple[float, float]
    base_rate: float
    constant_accuracy: float
    supported: bool
    share_outside: float
    labelled_range: tuple[float, float]
    score_range: tuple[float, float]
    n_rows: int
    n_labels: int
    threshold: float
    confidence_level: float

    @property
    def few_labels(self) -> bool:
        """Whether there are fewer than 50 labels, which are too few to tell."""
        return self.n_labels < MIN_TELLING_LABELS

    @property
    def estimate(self) -> Estimate:
        """The debiased pass rate with its interval."""
        return Estimate(self.mean, *self.interval)

    @property
    def headline(self) -> str:
        """The finding without its interval, for a heading."""
        if not self.supported:
            return "No pass rate: the labels do not cover the judge's scores."
        if self.few_labels:
            return f"Too few to tell: {plural(self.n_labels, 'gold label')}."
        said, plain = f"{percent(self.mean)} of the rows pass.", percent(self.plain_mean)
        low, high = self.interval
        if low <= self.plain_mean <= high:
            return f"{said} The judge's mean of {plain} is not significantly different."
        side = "high" if self.plain_mean > high else "low"
        return f"{said} The judge's mean of {plain} is too {side}."

    @property
    def sentence(self) -> str:
        """The finding."""
        if not self.supported:
            return self._unsupported()
        low, high = self.interval
        said = (
            f"The pass rate is {percent(self.mean)} ({level(self.confidence_level)} CI "
            f"{percent(low)} to {percent(high)}); the judge's mean is {percent(self.plain_mean)}."
        )
        if self.few_labels:
            return (
                f"Too few to tell: {plural(self.n_labels, 'label')}, and "
                f"{MIN_TELLING_LABELS} are needed. {said}"
            )
        return said

    def _unsupported(self) -> str:
        (low, high), (lowest, highest) = self.labelled_range, self.score_range
        parts = [between(lowest, low, 2)] if lowest < low else []
        parts += [between(high, highest, 2)] if highest > high else []
        return (
            f"No pass rate: {percent(self.share_outside)} of the judged scores are outside the "
            f"labelled range, {between(low, high, 2)}. Label rows with scores of "
            f"{' and of '.join(parts)} next."
        )

    @property
    def n_disagreements(self) -> int:
        """Labelled rows on which the judge's answer is not the label."""
        return round((1.0 - self.agreement) * self.n_labels)

    def frame(self) -> pd.DataFrame:
        """One row of all numbers. Columns: n_rows, n_labels, mean, mean_low, mean_high, ..."""
        row: dict[str, object] = {"n_rows": self.n_rows, "n_labels": self.n_labels}
        row |= self.estimate.with_bounds("mean")
        row |= {"plain_mean": self.plain_mean}
        row |= self.labels_mean.with_bounds("labels_mean") | self.ppi.with_bounds("ppi")
        row |= {"labels_saved": self.labels_saved}
        row |= Estimate(self.agreement, *self.agreement_interval).with_bounds("agreement")
        row |= Estimate(self.kappa, *self.kappa_interval).with_bounds("kappa")
        row |= {
            "base_rate": self.base_rate,
            "constant_accuracy": self.constant_accuracy,
            "supported": self.supported,
            "share_outside": self.share_outside,
        }
        return pd.DataFrame([row], index=pd.Index([self.name], name="judge"))


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRanges(Locked):
    """Judged rows and their labels by range of score, from the lowest to the highest.

    Attributes
    ----------
    low, high : ndarray of shape (k,)
        Lowest and highest score of the range.
    rows, labels, passing : ndarray of shape (k,)
        Rows, those with a gold label, and those whose label is pass.
    disagreements : ndarray of shape (k,)
        Labelled rows on which the judge's answer is not the label.
    labels_next : ndarray of shape (k,)
        How many of the rows to label next lie in the range.
    """

    low: FloatArray
    high: FloatArray
    rows: IntArray
    labels: IntArray
    passing: IntArray
    disagreements: IntArray
    labels_next: IntArray

    def frame(self) -> pd.DataFrame:
        """One row per range, with a column per attribute."""
        return pd.DataFrame(arrays_of(self))


@dataclass(frozen=True, slots=True, eq=False)
class JudgeResult(JudgeNumbers):
    """The numbers of `JudgeNumbers`, and the rows that they are about.

    Attributes
    ----------
    disagreements : DataFrame
        Labelled rows on which the judge's answer is not the label, the most confident first.
        Columns: those of the rows, score, gold.
    seed : int
        Seed of the rows to label next.
    rows : JudgedRows
    fit : DebiasedMean
        The line and the parts of its variance.
    """

    disagreements: pd.DataFrame
    seed: int
    rows: JudgedRows
    fit: DebiasedMean

    @property
    def numbers(self) -> JudgeNumbers:
        """The numbers alone."""
        return JudgeNumbers(**{one.name: getattr(self, one.name) for one in fields(JudgeNumbers)})

    @property
    def notes(self) -> tuple[str, ...]:
        """How the rows were read, and what limits the result."""
        notes = list(self.rows.notes)
        if shifted := self._shift():
            notes.append(shifted)
        return tuple(notes)

    def _shift(self) -> str:
        """A sentence if the labelled scores are not those of a random sample of the rows."""
        labelled, score = self.rows.labelled, self.rows.score
        chosen, others = score[labelled], score[~labelled]
        if len(others) < 2:
            return ""
        spread = math.sqrt(chosen.var() / len(chosen) + others.var() / len(others))
        difference = float(chosen.mean() - others.mean())
        if abs(difference) <= MAX_SHIFT * spread:
            return ""
        return (
            "The labelled rows are not a random sample: their mean score is "
            f"{number(float(chosen.mean()), 2)}, that of the other rows "
            f"{number(float(others.mean()), 2)}. The pass rate is right only if it rises with the "
            "score along a straight line."
        )

    def labels_for(self, width: float) -> int | None:
        """Number of labels, in total, for an interval of the pass rate of at most this width.

        Assumes that further labels vary as the present ones do.

        Parameters
        ----------
        width : float
            Upper minus lower bound, above 0.

        Returns
        -------
        int or None
            None if labels of all rows would not be enough: then more rows must be judged.

        Raises
        ------
        ValueError
            If the width is not above 0.
        """
        if not width > 0.0:
            raise ValueError(f"width must be above 0, got {width}.")
        fewest, most = 3, max(self.n_rows, 3)
        if self._width_at(most) > width:
            return None
        while fewest < most:
            middle = (fewest + most) // 2
            if self._width_at(middle) <= width:
                most = middle
            else:
                fewest = middle + 1
        return most

    def _width_at(self, n_labels: int) -> float:
        fit = self.fit
        error = math.sqrt(fit.label_variance / n_labels + fit.score_variance)
        units = max(round(n_labels * fit.n_units / fit.n_labels), 3)
        low, high = logit_interval(fit.estimate.value, error, units, self.confidence_level)
        return high - low

    def next_rows(self, n: int = 50) -> pd.DataFrame:
        """Rows to label next, so that all labels together are spread over the scores as the rows.

        All rows are cut into 10 ranges of score with equally many rows. Each range gets labels in
        proportion to its rows, counting those that it has. Rows within a range are drawn at random
        with the seed.

        Parameters
        ----------
        n : int
            Number of rows, at least 1. Fewer are returned if fewer have no label.

        Returns
        -------
        DataFrame
            Columns: `row` (position from 1), those of the rows, and `gold`, which is empty and to
            be filled in. The score and what else the judge wrote are left out, so that they do not
            sway the person who labels.
        """
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}.")
        chosen = np.sort(rows_to_label(self.rows, n, self.seed))
        hidden = ["score", *self.rows.judge_columns]
        return _listed(self.rows, chosen).drop(columns=hidden).assign(gold="")

    def by_score(self, n: int = 50) -> JudgedRanges:
        """Count rows, labels and disagreements in 10 ranges of score with equally many rows.

        Parameters
        ----------
        n : int
            Number of rows to label next, of which `labels_next` is the part of each range.

        Returns
        -------
        JudgedRanges
            Fewer ranges if many scores are equal.
        """
        rows = self.rows
        stratum = _strata(rows.score)
        order = np.argsort(stratum, kind="stable")
        starts = np.flatnonzero(np.diff(stratum[order], prepend=-1))
        passed = rows.outcome == 1.0
        wrong = rows.labelled & ((rows.score >= self.threshold) != passed)
        size = np.bincount(stratum)
        labels = np.bincount(stratum[rows.labelled], minlength=len(size))
        room = size - labels
        return JudgedRanges(
            low=np.minimum.reduceat(rows.score[order], starts),
            high=np.maximum.reduceat(rows.score[order], starts),
            rows=size,
            labels=labels,
            passing=np.bincount(stratum[passed], minlength=len(size)),
            disagreements=np.bincount(stratum[wrong], minlength=len(size)),
            labels_next=_shares(size, labels, room, min(n, int(room.sum()))),
        )


@dataclass(frozen=True, slots=True, eq=False)
class JudgeComparison:
    """Several judges, or one judge of several models, side by side.

    Attributes
    ----------
    results : mapping of str to JudgeResult
    failures : mapping of str to str
        Judges and models without a result, with the reason.
    """

    results: Mapping[str, JudgeResult]
    failures: Mapping[str, str]

    def frame(self) -> pd.DataFrame:
        """One row per judge or model, with the columns of `JudgeResult.frame`."""
        return pd.concat([result.frame() for result in self.results.values()])


def judge_rows(
    rows: JudgedRows,
    *,
    threshold: float = 0.5,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> JudgeResult:
    """Estimate the pass rate of judged rows, and the judge's agreement with the gold labels.

    Raises
    ------
    ValueError
        If fewer than 3 rows (or clusters) have a label, or a parameter is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(1000)
    >>> gold = np.where(np.arange(1000) < 100, rng.random(1000) < score, np.nan)
    >>> result = judge_rows(JudgedRows.from_arrays(score, gold))
    >>> result.supported, result.interval[0] < 0.5 < result.interval[1]
    (True, True)
    """
    check_level(confidence_level)
    if not 0.0 < threshold < 1.0:
        raise ValueError(f"threshold must fulfil 0 < threshold < 1, got {threshold}.")
    labelled = rows.labelled
    score, label = rows.score[labelled], rows.outcome[labelled] == 1.0
    group = None if rows.group is None else rows.group[labelled]
    fit = debiased_mean(rows.score, rows.outcome, rows.group, confidence_level)
    alone = debiased_mean(np.zeros(len(label)), rows.outcome[labelled], group, confidence_level)
    answer = score >= threshold
    agreed = debiased_mean(
        np.zeros(len(label)), (answer == label).astype(np.float64), group, confidence_level
    )
    rate = float(label.mean())
    cohen = kappa(answer, label, group, confidence_level)
    lowest, highest = float(score.min()), float(score.max())
    margin = RANGE_MARGIN * (highest - lowest)
    outside = (rows.score < lowest - margin) | (rows.score > highest + margin)
    supported = float(outside.mean()) < MAX_SHARE_OUTSIDE
    unknown = Estimate(math.nan)
    mean = fit.estimate if supported else unknown
    return JudgeResult(
        name=rows.name,
        mean=mean.value,
        interval=(mean.low, mean.high),
        plain_mean=float(rows.score.mean()),
        labels_mean=alone.estimate,
        ppi=_prediction_powered(rows, confidence_level),
        labels_saved=_labels_saved(fit, alone) if supported else 0,
        agreement=agreed.estimate.value,
        agreement_interval=(agreed.estimate.low, agreed.estimate.high),
        kappa=cohen.value,
        kappa_interval=(cohen.low, cohen.high),
        base_rate=rate,
        constant_accuracy=max(rate, 1.0 - rate),
        supported=supported,
        share_outside=float(outside.mean()),
        labelled_range=(lowest, highest),
        score_range=(float(rows.score.min()), float(rows.score.max())),
        n_rows=len(rows),
        n_labels=len(label),
        disagreements=_disagreements(rows, threshold),
        threshold=threshold,
        confidence_level=confidence_level,
        seed=seed,
        rows=rows,
        fit=fit,
    )


def gold_analysis(
    rows: JudgedRows, *, confidence_level: float = 0.95, seed: int = 0
) -> LiveAnalysis:
    """Analyse the judge's scores on the labelled rows, in bins that have enough of them.

    Raises
    ------
    ValueError
        If all labels are alike, or there are too few.
    """
    gold = rows.gold()
    n_bins = min(max(len(gold) // FEW_ROWS, MIN_BINS), Settings().n_bins)
    chosen = {"n_bins": n_bins, "confidence_level": confidence_level, "seed": seed}
    return analyze(gold, chosen)


def _prediction_powered(rows: JudgedRows, confidence_level: float) -> Estimate:
    labelled = rows.labelled
    if labelled.all():
        return Estimate(math.nan)
    score = rows.score
    return prediction_powered_mean(
        rows.outcome[labelled], score[labelled], score[~labelled], confidence_level
    )[0]


def _labels_saved(fit: DebiasedMean, alone: DebiasedMean) -> int:
    # The width of an interval from labels alone falls with the root of their number.
    needed = fit.n_labels * (alone.error / fit.error) ** 2
    return max(math.floor(needed) - fit.n_labels, 0)


def _listed(rows: JudgedRows, chosen: IntArray) -> pd.DataFrame:
    columns = {name: values[chosen] for name, values in rows.columns.items()}
    return pd.DataFrame({"row": chosen + 1} | columns | {"score": rows.score[chosen]})


def _disagreements(rows: JudgedRows, threshold: float) -> pd.DataFrame:
    wrong = rows.labelled & ((rows.score >= threshold) != (rows.outcome == 1.0))
    chosen = np.flatnonzero(wrong)
    # The distance from the threshold, relative to the largest that is possible on its side.
    score = rows.score[chosen]
    distance = np.where(
        score >= threshold, (score - threshold) / (1.0 - threshold), (threshold - score) / threshold
    )
    chosen = chosen[np.argsort(-distance, kind="stable")]
    gold = np.where(rows.outcome[chosen] == 1.0, "pass", "fail")
    return _listed(rows, chosen).assign(gold=gold)


def rows_to_label(rows: JudgedRows, n: int, seed: int) -> IntArray:
    """Positions of unlabelled rows, so that labels are spread over the scores as the rows are."""
    rng = np.random.default_rng(seed)
    stratum = _strata(rows.score)
    free = ~rows.labelled
    n_strata = int(stratum.max()) + 1
    size = np.bincount(stratum, minlength=n_strata)
    labels = np.bincount(stratum[~free], minlength=n_strata)
    room = size - labels
    new = _shares(size, labels, room, min(n, int(room.sum())))
    # Rows in another order give the same draw.
    order = np.lexsort((*(values.astype("str") for values in rows.columns.values()), rows.score))
    shuffled = order[rng.permutation(len(rows))]
    shuffled = shuffled[free[shuffled]]
    in_strata = shuffled[np.argsort(stratum[shuffled], kind="stable")]
    first = np.cumsum(room) - room
    rank = np.arange(len(in_strata)) - first[stratum[in_strata]]
    return in_strata[rank < new[stratum[in_strata]]]


def _strata(score: FloatArray) -> IntArray:
    """The range of score of each row: 10 of equally many rows, fewer if many scores are equal."""
    edges = np.unique(np.quantile(score, np.arange(1, N_STRATA) / N_STRATA, method="higher"))
    stratum = np.searchsorted(edges, score, side="right")
    return np.unique(stratum, return_inverse=True)[1].astype(np.int64)


def _shares(size: IntArray, labels: IntArray, room: IntArray, n: int) -> IntArray:
    """New labels per stratum, which bring the totals as near to proportional as possible."""
    new = np.zeros_like(size)
    for _ in range(n):
        # The stratum that has the fewest labels for its size is next; of equal ones the first.
        filled = np.where(new < room, (labels + new + 0.5) / size, np.inf)
        new[int(np.argmin(filled))] += 1
    return new
