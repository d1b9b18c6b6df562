"""Evidence: what the values of some rows say about the meaning of columns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.loading.columns import Labels, Numbers, as_labels, as_numbers, as_outcome
from calib.loading.name_patterns import (
    COMMON_PAIRS,
    UNDECIDED_WORDS,
    is_bound,
    is_derived,
    plain_name,
)
from calib.numerics.arrays import BoolArray, FloatArray
from calib.text import number, percent

MAX_COLUMNS = 200  # The columns after these have no role unless a person names one.
LOOK_ROWS = 10_000
MAX_LABELS = 50
UNNAMED = 99
# Numbers with more decimal places are not rounded for print.
MAX_PRINTED_PLACES = 9
EXACT_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class ColumnFacts:
    """What some rows of a column show.

    Attributes
    ----------
    values : array
        The cells as numbers, NaN for other cells.
    labels : Labels
        The cells as labels of an outcome, without words such as "unknown".
    distinct : int
        Number of distinct values.
    missing : float
        Share of empty cells.
    numeric, unit, fractional : bool
        Whether most cells are numbers; all of them lie in [0, 1]; some are no whole numbers.
    """

    values: FloatArray
    labels: Labels
    distinct: int
    missing: float
    numeric: bool
    unit: bool
    fractional: bool

    @classmethod
    def of(cls, column: pd.Series) -> ColumnFacts:
        numbers = as_numbers(column)
        finite = numbers.values[np.isfinite(numbers.values)]
        numeric = is_numeric(numbers)
        return cls(
            values=numbers.values,
            labels=as_outcome(column)[0],
            distinct=len(as_labels(column)),
            missing=float(column.isna().mean()),
            numeric=numeric,
            unit=numeric and bool(finite.min() >= 0.0 and finite.max() <= 1.0),
            fractional=numeric and bool((finite % 1.0 != 0.0).any()),
        )

    @property
    def probability(self) -> bool:
        """Whether there are fractions, more than one value, and only numbers from 0 to 1."""
        return self.unit and self.fractional and self.distinct > 1

    @property
    def two(self) -> bool:
        """Whether there are two labels, or a common pair beside labels such as "void"."""
        return len(self.labels) == 2 or self.pair is not None

    @property
    def few(self) -> bool:
        """Whether a column has few values, as labels have."""
        # The outcome 1/2 can be a draw beside 0 and 1, so five fractions are allowed.
        return 1 <= self.distinct <= MAX_LABELS and (not self.fractional or self.distinct <= 5)

    @property
    def unique(self) -> bool:
        """Whether each row has a value of its own, as ids have."""
        return self.distinct == len(self.values) and not self.fractional

    @property
    def pair(self) -> tuple[str, str] | None:
        """Negative and positive label of a common pair, if all other labels are undecided."""
        if not 2 < len(self.labels) <= 2 + len(UNDECIDED_WORDS):
            return None
        written = {name.casefold(): name for name in self.labels.names}
        decided = set(written) - UNDECIDED_WORDS
        if len(decided) != 2 or decided not in COMMON_PAIRS:
            return None
        negative, positive = sorted(decided, key=lambda word: word in POSITIVE_OF_PAIRS)
        return written[negative], written[positive]


POSITIVE_OF_PAIRS = {"1", "true", "yes", "y", "t", "won", "win"}


def is_numeric(numbers: Numbers) -> bool:
    """Whether most cells of a column are numbers."""
    return bool(np.isfinite(numbers.values).sum() > 2 * len(numbers.text))


def printed_places(values: FloatArray) -> int | None:
    """The decimal places to which all numbers are rounded; None if they are not rounded."""
    for places in range(1, MAX_PRINTED_PLACES + 1):
        shifted = values * 10.0**places
        if bool((np.abs(shifted - np.rint(shifted)) < 1e-5).all()):
            return places
    return None


def add_up(columns: Sequence[FloatArray]) -> bool:
    """Whether the columns add up to 1, or to 100, in every row, within the rounding of print."""
    values = np.column_stack(columns)
    values = values[np.isfinite(values).all(axis=1)]
    if not len(values) or values.min() < 0.0:
        return False
    sums, n_columns = values.sum(axis=1), values.shape[1]
    whole = 1.0 if abs(sums[0] - 1.0) < abs(sums[0] - 100.0) else 100.0
    places = printed_places(values[:1_000])
    # Each of the numbers can be off by half a unit of its last place.
    rounding = EXACT_TOLERANCE if places is None else 0.5 * n_columns * 10.0**-places
    return bool(np.abs(sums - whole).max() <= rounding * 1.001 + 1e-9)


class Facts:
    """The facts of each column, and the columns that have no role yet.

    Columns that are `hidden` get no role: bounds of intervals, and what is computed from outcomes.
    Those of `predicted` labels are no slices.
    """

    def __init__(self, frame: pd.DataFrame, taken: set[str]) -> None:
        self.frame = frame
        self.taken = taken
        self.hidden: set[str] = set()
        self.predicted: set[str] = set()
        self._facts: dict[str, ColumnFacts] = {}
        self._rows: np.ndarray | None = None
        if len(frame) > LOOK_ROWS:
            # The first rows of a sorted file have a single label, and rows at a fixed distance may
            # be of one model.
            rng = np.random.default_rng(len(frame))
            self._rows = np.unique(rng.integers(0, len(frame), LOOK_ROWS))

    def __getitem__(self, column: str) -> ColumnFacts:
        if column not in self._facts:
            self._facts[column] = ColumnFacts.of(self._looked_at(column))
        return self._facts[column]

    def _looked_at(self, column: str) -> pd.Series:
        cells = self.frame[column]
        return cells if self._rows is None else cells.take(self._rows).reset_index(drop=True)

    def matrix(self, columns: Sequence[str]) -> FloatArray:
        """Some rows of several columns as numbers."""
        return np.column_stack([as_numbers(self._looked_at(name)).values for name in columns])

    def free(self) -> list[str]:
        """Columns that have no meaning yet."""
        columns = self.frame.columns
        return [c for c in columns if c not in self.taken and c not in self.hidden]

    def looked_at(self) -> list[str]:
        """The first of the free columns, whose facts are computed."""
        return self.free()[:MAX_COLUMNS]

    def hide(self) -> None:
        """Hide bounds of intervals, and columns computed from outcomes, if scores stand beside."""
        columns = self.looked_at()
        hidden = {column for column in columns if is_bound(column) or is_derived(column)}
        if hidden and any(self[c].probability for c in columns if c not in hidden):
            self.hidden = hidden

    def find_by_name(
        self, patterns: Sequence[str], fits: Callable[[ColumnFacts], bool]
    ) -> str | None:
        """The free column that the earliest pattern names and whose facts fit."""
        ranks = {column: name_rank(column, patterns) for column in self.free()}
        by_name = sorted((c for c, rank in ranks.items() if rank < UNNAMED), key=ranks.__getitem__)
        return next((column for column in by_name if fits(self[column])), None)

    def take(self, column: str | None) -> str | None:
        """Mark a column as taken, and return it."""
        if column is not None:
            self.taken.add(column)
        return column

    def take_by_name(
        self, patterns: Sequence[str], fits: Callable[[ColumnFacts], bool]
    ) -> str | None:
        """The column that `find_by_name` returns, which is then taken."""
        return self.take(self.find_by_name(patterns, fits))


def name_rank(column: str, patterns: Sequence[str]) -> int:
    """The place of the first pattern that fits the name; `UNNAMED` if none does."""
    name = plain_name(column)
    return next((i for i, pattern in enumerate(patterns) if re.fullmatch(pattern, name)), UNNAMED)


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
