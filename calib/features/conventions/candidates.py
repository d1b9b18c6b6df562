"""A typed number, and the conventions that are tried: rules of binning, and other metrics."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView, ScoreMatrix
from calib.metrics.binned import sweep_calibration_error
from calib.metrics.binning_rules import (
    OWN_QUANTILE,
    OWN_UNIFORM,
    RULES,
    SKIPS_LAST,
    Rule,
    SortedScores,
)
from calib.metrics.cumulative import ks_error, kuiper_error
from calib.metrics.matrix import row_accuracy, row_brier, row_log_loss
from calib.metrics.proper import brier_score, mean_log_loss
from calib.metrics.ranking import auc
from calib.numerics.arrays import BoolArray, FloatArray
from calib.numerics.poisson_binomial import NORMS
from calib.text import number, quoted, significant

NUMBERS_OF_BINS = (*range(1, 51), 60, 75, 100, 200)
MAX_RULE_BINS = 2_000  # A rule of thumb that gives more bins is not tried.
# These rules need only edges, so that rows may have weights and scores may be clipped.
RULES_OF_EDGES = (OWN_UNIFORM, "left", OWN_QUANTILE)
CLIPPED_SCORES = (0.01, 0.001)
# Bounds that libraries use; 1.2e-7 is the machine epsilon of single precision.
CLIPPED_LOSSES = (1e-16, 1e-15, 1e-12, 1e-10, 1e-8, 1.1920929e-07, 1e-7, 1e-6, 1e-5, 1e-4)
# The classes of a larger matrix take too long, because each is sorted and cut.
MAX_CLASSES, MAX_CLASS_SCORES = 200, 20_000_000


class Scope(NamedTuple):
    """Whose calibration is measured, and the words before it within a sentence."""

    words: str
    before: str = "of the "


PREDICTED = Scope("predicted class")


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is binned: the scores of one view, or those of several classes, averaged.

    Attributes
    ----------
    scope : Scope
        Whose calibration it is.
    parts : sequence of SortedScores
        One, or one per class.
    treatment : str
        What is done to scores or weights before, or "".
    rules : tuple of str
    penalty : int
        How unusual the problem is: 0 for the view in use.
    has_codes : bool
        Whether published codes compute it.
    """

    scope: Scope
    parts: Sequence[SortedScores]
    treatment: str = ""
    rules: tuple[str, ...] = tuple(RULES)
    penalty: int = 0
    has_codes: bool = True

    @property
    def words(self) -> str:
        return self.scope.words

    @property
    def whose(self) -> str:
        """For example "of class 3"."""
        return "".join(reversed(self.scope))

    @property
    def is_weighted(self) -> bool:
        """Whether rows count by their weights."""
        return any(part.cells.weight is not part.cells.rows for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """The errors of one rule: shape (numbers, norms), NaN where there is no value."""

    problem: Problem
    rule: Rule
    numbers: Sequence[int]
    errors: FloatArray

    @classmethod
    def of(cls, problem: Problem, rule: Rule, numbers: Sequence[int]) -> Tried:
        """Try a rule with several numbers of bins."""
        numbers = numbers if rule.sets_bins else [0]
        errors = np.mean([rule.errors(part, numbers) for part in problem.parts], axis=0)
        if rule.kind in ("range", "quantile"):
            # One bin is the same for every rule.
            errors[np.array(numbers) == 1] = np.nan
        if rule.key in SKIPS_LAST:
            # Nobody uses a mistake of published codes in other norms than theirs.
            errors[:, [NORMS.index("mean"), NORMS.index("debiased")]] = np.nan
        if problem.is_weighted:
            # The formula is for rows without weights.
            errors[:, NORMS.index("debiased")] = np.nan
        return cls(problem, rule, numbers, errors)


def try_all(problems: Sequence[Problem], numbers: Sequence[int]) -> list[Tried]:
    """Try every rule of every problem."""
    return [Tried.of(one, RULES[key], numbers) for one in problems for key in one.rules]


def problems_of(
    scope: Scope, view: BinaryView, matrix: ScoreMatrix | None, *, ordered: bool
) -> Iterator[Problem]:
    """The problems that are tried, that of the view first; `scope` says whose calibration it is.

    `ordered` is whether the view has the rows in their original order.
    """
    plain = SortedScores.of(view, ordered=ordered)
    if view.weight is None:
        yield Problem(scope, [plain])
    else:
        weighted = [SortedScores(view.cells())]
        yield Problem(scope, weighted, rules=RULES_OF_EDGES, has_codes=False)
        yield Problem(scope, [plain], "weights ignored", penalty=1)
    for bound in CLIPPED_SCORES:
        clipped = view.with_score(np.clip(view.score, bound, 1.0 - bound))
        parts = [SortedScores.of(clipped, ordered=False)]
        what = f"scores clipped to [{significant(bound)}, {significant(1.0 - bound)}]"
        yield Problem(scope, parts, what, RULES_OF_EDGES, 3, has_codes=False)
    if matrix is not None:
        yield from _problems_of_matrix(scope, matrix, ordered=ordered)
        return
    top = SortedScores.of(_predicted(view), ordered=ordered)
    yield Problem(PREDICTED, [top], penalty=2)
    other = view.with_score(1.0 - view.score, ~view.outcome)
    classes = [SortedScores.of(other, ordered=False), plain]
    yield Problem(Scope("averaged over both classes", ""), classes, penalty=2, has_codes=False)


def _predicted(view: BinaryView) -> BinaryView:
    """The confidence of the predicted class, which is the positive one above 1/2."""
    positive = view.score > 0.5
    score = np.where(positive, view.score, 1.0 - view.score)
    return replace(view, outcome=view.outcome == positive, score=score)


def _problems_of_matrix(scope: Scope, matrix: ScoreMatrix, *, ordered: bool) -> Iterator[Problem]:
    if scope != PREDICTED:
        top = SortedScores.of(matrix.leading["top:1"], ordered=ordered)
        yield Problem(PREDICTED, [top], penalty=2)
    if not tries_classes(matrix):
        return
    columns = np.ascontiguousarray(matrix.scores.T)
    classes = [
        SortedScores.of(BinaryView(matrix.label == k, column), ordered=False)
        for k, column in enumerate(columns)
    ]
    yield Problem(Scope("averaged over all classes", ""), classes, penalty=2, has_codes=False)


def tries_classes(matrix: ScoreMatrix) -> bool:
    """Whether means over the classes are tried: a very large matrix takes too long."""
    return matrix.scores.shape[1] <= MAX_CLASSES and matrix.scores.size <= MAX_CLASS_SCORES


def rules_of_thumb(scores: SortedScores) -> Mapping[int, tuple[str, ...]]:
    """Numbers of bins by rules of thumb, with the names of the rules; widths as in NumPy.

    >>> from calib.data.cells import ScoreCells
    >>> cells = ScoreCells.from_arrays([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> rules_of_thumb(SortedScores(cells))[3]
    ('Sturges', 'Doane')
    """
    n, root, cube = scores.n_rows, math.sqrt(scores.n_rows), scores.n_rows ** (1.0 / 3.0)
    counts: list[tuple[str, float]] = [
        ("square root", math.floor(root)),
        ("square root", root),
        ("Sturges", math.log2(n) + 1.0),
        ("Rice", 2.0 * cube),
        ("cube root", math.floor(cube)),
        ("cube root", cube),
    ]
    names: dict[int, tuple[str, ...]] = {}
    for name, wanted in [*counts, *_by_spread(scores)]:
        # A cube root of 1,000 rows is 9.999999999999998.
        n_bins = math.ceil(round(wanted, 9))
        if 1 <= n_bins <= MAX_RULE_BINS and name not in names.get(n_bins, ()):
            names[n_bins] = (*names.get(n_bins, ()), name)
    return names


def _by_spread(scores: SortedScores) -> Iterator[tuple[str, float]]:
    cells, n = scores.cells, scores.n_rows
    mean = float(cells.rows @ cells.score) / n
    deviation = math.sqrt(float(cells.rows @ np.square(cells.score - mean)) / n)
    extent = float(cells.score[-1] - cells.score[0])
    if deviation <= 0.0 or n < 3:
        return
    skewness = float(cells.rows @ ((cells.score - mean) / deviation) ** 3) / n
    error = math.sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)))
    yield "Doane", 1.0 + math.log2(n) + math.log2(1.0 + abs(skewness) / error)
    yield "Scott", extent / ((24.0 * math.sqrt(math.pi) / n) ** (1.0 / 3.0) * deviation)
    low, high = scores.linear_quantiles(np.array([0.25, 0.75]))
    if high > low:
        yield "Freedman-Diaconis", extent / (2.0 * (high - low) * n ** (-1.0 / 3.0))


@dataclass(frozen=True, slots=True)
class OtherMetric:
    """A metric without bins, what the project has in its place, and how the two differ."""

    name: str
    value: float
    ours: float
    differences: tuple[str, ...] = ()
    is_loss: bool = False
    rank: int = 0


def other_metrics(cells: ScoreCells, matrix: ScoreMatrix | None) -> Iterator[OtherMetric]:
    """Metrics without bins, for those who typed one of them."""
    brier = brier_score(cells)
    yield OtherMetric("Brier score", brier, brier)
    yield OtherMetric("Brier score, both classes", 2.0 * brier, brier, ("twice ours",), rank=2)
    root = math.sqrt(brier)
    yield OtherMetric("Square root of the Brier score", root, brier, ("its root",), rank=3)
    yield from _log_losses(cells)
    for name, value in {
        "KS error": ks_error(cells),
        "Kuiper error": kuiper_error(cells),
        "ECE-sweep": sweep_calibration_error(cells),
        "AUC": auc(cells),
        "Mean score": cells.mean_score,
        "Base rate": cells.base_rate,
    }.items():
        yield OtherMetric(name, value, value, rank=1)
    if matrix is not None:
        yield from _matrix_metrics(matrix)
        return
    right = np.where(cells.score > 0.5, cells.positive, cells.negative)
    accuracy = float(right.sum()) / cells.total_weight
    yield OtherMetric("Accuracy at a threshold of 0.5", accuracy, accuracy, rank=1)
    yield OtherMetric(
        "Error rate at a threshold of 0.5", 1.0 - accuracy, accuracy, ("1 minus ours",), rank=2
    )


def _log_losses(cells: ScoreCells) -> Iterator[OtherMetric]:
    loss = mean_log_loss(cells, cells.score)
    yield OtherMetric("Log loss", loss, loss, is_loss=True)
    bits = ("in bits",)
    yield OtherMetric("Log loss in bits", loss / math.log(2.0), loss, bits, is_loss=True, rank=2)
    for bound in CLIPPED_LOSSES:
        clipped = mean_log_loss(cells, np.clip(cells.score, bound, 1.0 - bound))
        if clipped != loss:
            name = f"Log loss, scores clipped at {significant(bound)}"
            yield OtherMetric(name, clipped, loss, ("clipping",), is_loss=True, rank=2)


def _matrix_metrics(matrix: ScoreMatrix) -> Iterator[OtherMetric]:
    def mean(rows: FloatArray) -> float:
        return float(np.average(rows, weights=matrix.weight))

    loss = mean(row_log_loss(matrix.scores, matrix.label))
    yield OtherMetric("Multiclass log loss", loss, loss, is_loss=True)
    brier = mean(row_brier(matrix.scores, matrix.label))
    yield OtherMetric("Multiclass Brier score", brier, brier, is_loss=True)
    half = ("half of ours",)
    yield OtherMetric("Half of the multiclass Brier score", 0.5 * brier, brier, half, rank=1)
    accuracy = mean(row_accuracy(matrix.scores, matrix.label))
    yield OtherMetric("Accuracy", accuracy, accuracy)
    error = ("1 minus ours",)
    yield OtherMetric("Error rate", 1.0 - accuracy, accuracy, error, rank=1)


# Codes that compute in single precision print digits that differ by less than this.
SINGLE_PRECISION = 2e-7
NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,2})?\s*(%?)", re.IGNORECASE)
# Values within this many tolerances of a number show how many match a random one near it.
N_TOLERANCES = 20.0
MAX_LENGTH = 30
MAX_DECIMALS = 8


@dataclass(frozen=True, slots=True)
class TypedNumber:
    """A number as it was typed.

    Attributes
    ----------
    text : str
    value : float
        The number, without the per cent sign.
    decimals : int
        Place of its last digit after the decimal point.
    is_percent : bool
        Whether it has a per cent sign, or exceeds 1.

    Examples
    --------
    >>> TypedNumber.read("17.40%")
    TypedNumber(text='17.40%', value=17.4, decimals=2, is_percent=True)
    """

    text: str
    value: float
    decimals: int
    is_percent: bool

    @classmethod
    def read(cls, given: str | float) -> TypedNumber:
        """Read a number. Raises ValueError if it is not one, or is negative."""
        if isinstance(given, str):
            text = given.strip()
        elif isinstance(given, Real) and not isinstance(given, bool):
            text = repr(float(given))
        else:
            text = repr(given)
        match = NUMBER.fullmatch(text) if len(text) <= MAX_LENGTH else None
        if match is None:
            raise ValueError(
                "value must be a number of at least 0 with a decimal point, such as 0.174 or "
                f"17.4%, got {quoted(text)}."
            )
        if isinstance(given, Integral):
            text = str(given)
        exact = Decimal(NUMBER.sub(r"\1\2", text))
        last = int(exact.as_tuple().exponent)
        return cls(text, float(exact), -last, bool(match[3]) or exact > 1)

    @property
    def lacks_sign(self) -> bool:
        """Whether it is read as per cent only because it exceeds 1."""
        return self.is_percent and not self.text.endswith("%")

    def is_share(self, values: FloatArray) -> BoolArray:
        """Whether values between 0 and 1 are this number when they are rounded to its digits."""
        return np.asarray(self._distances(values) <= self.tolerance)

    def is_loss(self, values: FloatArray) -> BoolArray:
        """The same for losses, which may exceed 1 and are not written in per cent."""
        if self.text.endswith("%"):
            return np.zeros(values.shape, dtype=np.bool_)
        return self._gives(values)

    @property
    def tolerance(self) -> float:
        """Largest difference of a value that is this number, in the unit of the number."""
        # The factor admits values that lie exactly between two numbers.
        return max(0.5 * 10.0**-self.decimals * (1.0 + 1e-9), SINGLE_PRECISION)

    def is_near(self, values: FloatArray) -> BoolArray:
        """Whether values between 0 and 1 are within 20 tolerances of the number."""
        return np.asarray(self._distances(values) <= N_TOLERANCES * self.tolerance)

    @property
    def near_share(self) -> float:
        """Width of the values that are this number, relative to that of the others near it.

        No value is below 0.
        """
        inside, near = (
            min(self.value, n * self.tolerance) + n * self.tolerance for n in (1.0, N_TOLERANCES)
        )
        return inside / (near - inside)

    def _distances(self, values: FloatArray) -> FloatArray:
        return np.abs((100.0 * values if self.is_percent else values) - self.value)

    def _gives(self, values: FloatArray) -> BoolArray:
        return np.asarray(np.abs(values - self.value) <= self.tolerance)

    def distance(self, values: FloatArray) -> FloatArray:
        """Distance of values between 0 and 1 from the number."""
        return np.abs(values - (self.value / 100.0 if self.is_percent else self.value))

    def written(self, value: float) -> str:
        """A value in the unit of the number, with one more decimal."""
        digits = min(max(self.decimals, 0) + 1, MAX_DECIMALS)
        if self.is_percent:
            return f"{number(100.0 * value, digits)}%"
        return number(value, max(digits, 4))
