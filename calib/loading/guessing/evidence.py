"""Evidence: what the numbers of several columns say about their meaning."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.loading.columns import Labels
from calib.loading.guessing.facts import MAX_COLUMNS, ColumnFacts, add_up
from calib.numerics.arrays import BoolArray, FloatArray
from calib.text import number, percent

# With fewer rows, chance can look like evidence.
MIN_ROWS = 20
# Chance rarely gives an AUC that is this many standard errors from 0.5.
INFORMATIVE_ERRORS, CLEAR_ERRORS = 2.0, 3.5
EVEN_SURPRISE = 0.3  # This is the mean of -log(max(s, 1 - s)) over scores s from 0 to 1.
# Each rule of evidence, and the reason that it gives in a sentence.
REASONS = {
    "name": "its name says so",
    "only": "no other column can be it",
    "fit": "it fits the outcome best",
    "pair": "{0} and {1} add up to 1 in every row",
    "threshold": "{0} has one label below a threshold on {1} and the other above it, as predicted "
    "labels do",
    "highest": "{0} is the class with the highest score in every row, as predicted labels are",
    "affix": "{0} has the labels of {1} and its name, with letters that programs add for predicted "
    "labels",
    "predicted-name": "{0} has the name of predicted labels",
    "confidence": "no score of {0} is below 0.5, and {1} has the labels that the model predicted",
    "undecided": "rows with other labels are undecided",
}


@dataclass(frozen=True, slots=True)
class Fit:
    """What a reading of outcome and score gives: how often rows are positive, AUC and KS error.

    `skill` is 1 minus the Brier score divided by that of the base rate.
    """

    rate: float
    auc: float
    ks: float
    skill: float
    n_rows: int

    @property
    def informative(self) -> bool:
        """Whether the score tells something about the outcome, or there are too few rows."""
        return self.tells(INFORMATIVE_ERRORS)

    def tells(self, n_errors: float) -> bool:
        """Whether the AUC is this many standard errors from 0.5, or there are too few rows."""
        pairs = self.n_rows**2 * self.rate * (1.0 - self.rate)
        if self.n_rows < MIN_ROWS or not pairs:
            return True
        error = math.sqrt((self.n_rows + 1.0) / (12.0 * pairs))
        return abs(self.auc - 0.5) > n_errors * error

    def __str__(self) -> str:
        """The fit as part of the text of a button."""
        parts = [f"{percent(self.rate)} positive"]
        if not math.isnan(self.auc):
            parts.append(f"AUC {number(self.auc, 3)}")
        if not math.isnan(self.ks):
            parts.append(f"KS {number(self.ks, 3)}")
        return ", ".join(parts)


def fit_of(positive: BoolArray, is_known: BoolArray, scores: FloatArray) -> Fit:
    """The fit of scores to the rows whose outcome is known."""
    usable = is_known & np.isfinite(scores)
    y, s = positive[usable].astype(np.float64), scores[usable]
    n, rate = len(y), float(y.mean()) if len(y) else 0.0
    order = np.argsort(s, kind="stable")
    y, s = y[order], s[order]
    auc = ks = math.nan
    skill = -math.inf
    if 0.0 < rate < 1.0:
        starts = np.flatnonzero(np.r_[True, s[1:] != s[:-1]])
        rows = np.diff(np.r_[starts, n])
        positives = np.add.reduceat(y, starts)
        negatives = rows - positives
        below = np.cumsum(negatives) - negatives
        auc = float(positives @ (below + 0.5 * negatives) / (rate * n * (1.0 - rate) * n))
        if s[0] >= 0.0 and 10.0 < s[-1] <= 100.0:
            s = s / 100.0  # Percentages have a skill too. Ratings end at 10.
        if s[0] >= 0.0 and s[-1] <= 1.0:
            ks = float(np.abs(np.cumsum(np.add.reduceat(y - s, starts))).max() / n)
            skill = 1.0 - float(np.mean((y - s) ** 2)) / (rate * (1.0 - rate))
    return Fit(rate, auc, ks, skill, n)


def follows_threshold(labels: Labels, scores: FloatArray) -> bool:
    """Whether all rows with one label have lower scores than all rows with the other."""
    if len(labels) != 2:
        return False
    finite = np.isfinite(scores)
    low, high = (scores[finite & (labels.codes == code)] for code in (0, 1))
    if len(low) + len(high) < MIN_ROWS or not len(low) or not len(high):
        return False
    if low.min() > high.min():
        low, high = high, low
    # Scores that are rounded for print can be equal on both sides of the threshold.
    return bool(low.max() <= high.min() and low.min() < high.max())


def expected_rows(labels: Labels, scores: FloatArray) -> float:
    """How many rows of the rarer of two labels probabilities expect; infinite for other scores."""
    usable = np.isfinite(scores) & (labels.codes >= 0)
    values, codes = scores[usable], labels.codes[usable]
    if values.min() < 0.0 or values.max() > 1.0:
        return math.inf
    rarer = codes == int(labels.counts().argmin())
    is_higher = values[rarer].mean() > values[~rarer].mean()
    return float(values.sum() if is_higher else (1.0 - values).sum())


def surprise(labels: Labels, scores: FloatArray) -> float:
    """How improbable it is that outcomes follow a threshold, as -log of the probability.

    The scores are taken for the probabilities of the label with the higher ones. Scores that are
    no probabilities count like ones that are spread evenly over [0, 1].
    """
    usable = np.isfinite(scores) & (labels.codes >= 0)
    values, is_last = scores[usable], labels.codes[usable] == 1
    if values.min() < 0.0 or values.max() > 1.0:
        return EVEN_SURPRISE * len(values)
    if values[is_last].mean() < values[~is_last].mean():
        is_last = ~is_last
    with np.errstate(divide="ignore"):
        return -float(np.log(np.where(is_last, values, 1.0 - values)).sum())


def is_highest(labels: Labels, matrix: FloatArray) -> bool:
    """Whether each label stands for one class, the one with the highest score in each row."""
    usable = np.isfinite(matrix).all(axis=1) & (labels.codes >= 0)
    if usable.sum() < MIN_ROWS:
        return False
    codes, highest = labels.codes[usable], matrix[usable].argmax(axis=1)
    pairs = np.unique(np.stack([codes, highest]), axis=1)
    n_labels = len(np.unique(codes))
    return pairs.shape[1] == n_labels == len(np.unique(highest)) and n_labels > 1


def is_confidence(scores: FloatArray, n_classes: int) -> bool:
    """Whether no score is below 1/k, as a score of the predicted one of k classes is."""
    finite = scores[np.isfinite(scores)]
    lowest = 1.0 / n_classes - 1e-9
    return len(finite) >= MIN_ROWS and bool(finite.min() >= lowest and finite.max() <= 1.0)


def same_fact(first: Labels, second: Labels) -> bool:
    """Whether two columns divide the rows in the same way, with the same or exchanged labels."""
    if len(first) != len(second) or len(first) > 2:
        return False
    exchanged = np.where(second.codes < 0, -1, 1 - second.codes)
    return bool((first.codes == second.codes).all() or (first.codes == exchanged).all())


def has_complement(frame: pd.DataFrame, score: str) -> bool:
    """Whether another column of numbers adds up to 1 with the score in every row."""
    columns = [name for name, dtype in frame.dtypes.items() if dtype.kind == "f"][:MAX_COLUMNS]
    if score not in columns:
        return False
    column_facts = frame[score].to_numpy(dtype=np.float64)
    return any(add_up((column_facts, frame[name].to_numpy())) for name in columns if name != score)


def pairs_of(facts: Sequence[tuple[str, ColumnFacts]]) -> Iterator[tuple[str, str]]:
    """The pairs of columns that add up to 1 in every row, in their order."""
    if len(facts) < 2:
        return
    # A few rows show most columns that do not add up.
    head = np.stack([column_facts.values[:50] for _, column_facts in facts])
    for i, (name, column_facts) in enumerate(facts):
        with np.errstate(invalid="ignore"):
            sums = head[i] + head[i + 1 :]
            far = np.minimum(np.abs(sums - 1.0), np.abs(sums - 100.0)) > 0.15
        for offset in np.flatnonzero(~far.any(axis=1)).tolist():
            other, facts_of_other = facts[i + 1 + offset]
            if add_up((column_facts.values, facts_of_other.values)):
                yield name, other
