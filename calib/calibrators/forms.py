"""Forms: fitted calibrators as data. There are a few kinds of functions.

`Calibrator.to_map` returns a form. `predict` evaluates it on arrays; an export evaluates the same
form on text (calib/exports/document.py) or on tensors of ONNX.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from calib.data.strict_json import added
from calib.numerics.arrays import FloatArray
from calib.numerics.splines import Pieces
from calib.numerics.transforms import MACHINE_EPSILON, compact_slope, log_odds, sigmoid

# A column is an array of floats, the text of an expression, or a tensor: each has arithmetic and
# comparisons.
Column = Any
Scale = Literal["score", "logit", "compact_logit"]
Link = Literal["none", "sigmoid"]
Share = Annotated[float, 0.0, 1.0]  # A file may only have values from 0 to 1 here.
LOG_RANGE = (
    MACHINE_EPSILON,
    1.0 - MACHINE_EPSILON,
)  # Scores are clipped to this before a logarithm.
SMALLEST_POWER = -700.0  # The sigmoid of a smaller number has no logarithm, which is the number.
MAX_FEATURE = 37.0  # No logarithm or log-odds of a clipped score is larger.


class Operations:
    """Operations of forms on columns besides arithmetic and comparisons. These are for arrays."""

    def let(self, name: str, *columns: Column) -> Sequence[Column]:  # noqa: ARG002
        """The columns, each computed once and referred to by a name where an export has names."""
        return columns

    def clip(self, x: Column, low: float, high: float) -> Column:
        """Like ``np.clip``."""
        return np.clip(x, low, high)

    def choose(self, condition: Column, yes: Column, no: Column) -> Column:
        """`yes` if the condition holds, else `no`."""
        return np.where(condition, yes, no)

    def largest(self, columns: Sequence[Column]) -> Column:
        """The largest of the columns in each row."""
        return reduce(np.maximum, columns)

    def total(self, row: Sequence[Column]) -> Column:
        """The sum of a row of scores, which is above 0."""
        return reduce(add, row)

    def log(self, x: Column) -> Column:
        """Natural logarithm of positive numbers."""
        return np.log(x)

    def logit(self, x: Column) -> Column:
        """ln(x / (1 - x)) of numbers between 0 and 1."""
        # The compact logit also passes 0 and 1, and does not use these results.
        with np.errstate(divide="ignore"):
            return log_odds(x)

    def exp(self, x: Column) -> Column:
        """e^x of numbers of at most 0."""
        return np.exp(x)

    def sigmoid(self, x: Column, bound: float) -> Column:  # noqa: ARG002
        """1 / (1 + e^-x) of numbers in [-bound, bound]."""
        return sigmoid(x)

    def log_sigmoid(self, x: Column) -> Column:
        """Logarithm of the sigmoid of any number."""
        (x,) = self.let("x", x)
        with np.errstate(divide="ignore"):
            return self.choose(x < SMALLEST_POWER, x, self.log(self.sigmoid(x, math.inf)))

    def pieces(self, pieces: Pieces, x: Column) -> Column:
        """Polynomials by pieces."""
        return pieces(x)


ON_ARRAYS = Operations()


class Form:
    """A function of one score; `kind` is its name in a file."""

    kind: ClassVar[str]

    @property
    def ends(self) -> tuple[float, float]:
        """The score is clipped to these first."""
        return (0.0, 1.0)

    @property
    def leaves(self) -> bool:
        """Whether values can lie outside of [0, 1], so that they must be clipped."""
        return False

    def of(self, do: Operations, s: Column) -> Column:
        """The value at a score within the ends."""
        raise NotImplementedError

    def __call__(self, do: Operations, s: Column, z: Column = None) -> Column:  # noqa: ARG002
        """The calibrated probability of a score in [0, 1].

        `z` are its log-odds, if they are known. Functions of the log-odds read them.
        """
        if self.ends != (0.0, 1.0):
            (s,) = do.let("s", do.clip(s, *self.ends))
        return self.finish(do, self.of(do, s))

    @property
    def reads_log_odds(self) -> bool:
        """Whether known log-odds of the score make a difference."""
        return False

    @property
    def log_odds_bound(self) -> float:
        """A number that no log-odds exceed."""
        return MAX_FEATURE

    def log_odds(self, do: Operations, s: Column, z: Column = None) -> Column:
        """Log-odds of the calibrated probability, which is clipped to [eps, 1 - eps] first."""
        (p,) = do.let("p", do.clip(self(do, s, z), *LOG_RANGE))
        return do.logit(p)

    def finish(self, do: Operations, value: Column) -> Column:
        """The value, clipped to [0, 1] where it could leave it."""
        if not self.leaves:
            return value
        (value,) = do.let("p", value)
        return do.clip(value, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Identity(Form):
    """s itself."""

    kind: ClassVar[str] = "identity"

    def of(self, do: Operations, s: Column) -> Column:  # noqa: ARG002
        return s

    def log_odds(self, do: Operations, s: Column, z: Column = None) -> Column:
        """Those of the score."""
        return super(Identity, self).log_odds(do, s) if z is None else z


@dataclass(frozen=True, slots=True)
class Clipped(Form):
    """min(max(s, low), high)."""

    low: Share
    high: Share
    kind: ClassVar[str] = "clip"

    @property
    def ends(self) -> tuple[float, float]:
        return (self.low, self.high)

    def of(self, do: Operations, s: Column) -> Column:  # noqa: ARG002
        return s


@dataclass(frozen=True, slots=True)
class OddsDivided(Form):
    """s / (s + factor (1 - s))."""

    factor: float
    kind: ClassVar[str] = "odds"

    def of(self, do: Operations, s: Column) -> Column:  # noqa: ARG002
        """The probability whose odds are those of s over the factor."""
        return s / (s + self.factor * (1 - s))


# These names stand in files.
Feature = Literal["s", "ln s", "-ln(1 - s)", "ln 2s", "-ln 2(1 - s)", "logit s"]


@dataclass(frozen=True, slots=True)
class SigmoidOfFeatures(Form):
    """sigmoid(intercept + sum of coefficient x feature); logarithms of s in [eps, 1 - eps].

    eps is float64's machine epsilon, 2.2e-16. Known log-odds are not clipped.
    """

    intercept: float
    coefficients: tuple[float, ...]
    features: tuple[Feature, ...]
    kind: ClassVar[str] = "sigmoid_of_features"

    @property
    def ends(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.features == ("s",) else LOG_RANGE

    @property
    def reads_log_odds(self) -> bool:
        return self.features != ("s",)

    @property
    def log_odds_bound(self) -> float:
        return abs(self.intercept) + MAX_FEATURE * sum(map(abs, self.coefficients))

    def of(self, do: Operations, s: Column) -> Column:
        return do.sigmoid(self._sum(do, s, None), self.log_odds_bound)

    def __call__(self, do: Operations, s: Column, z: Column = None) -> Column:
        """The calibrated probability, see `Form`."""
        if z is None:
            return super(SigmoidOfFeatures, self).__call__(do, s)
        return do.sigmoid(self.log_odds(do, s, z), math.inf)

    def log_odds(self, do: Operations, s: Column, z: Column = None) -> Column:
        """The sum that the sigmoid is taken of."""
        if z is None and self.ends != (0.0, 1.0):
            (s,) = do.let("s", do.clip(s, *self.ends))
        return self._sum(do, s, z)

    def _sum(self, do: Operations, s: Column, z: Column) -> Column:
        total: Column = None
        for coefficient, name in zip(self.coefficients, self.features, strict=True):
            factor = -coefficient if name.startswith("-") else coefficient
            term = feature(do, name, s, z)
            total = factor * term if total is None else total + factor * term
        return total + self.intercept


def feature(do: Operations, name: Feature, s: Column, z: Column) -> Column:
    """One column that a sigmoid is taken of, without the minus sign of its name."""
    if name == "s":
        return s
    if name == "logit s":
        return do.logit(s) if z is None else z
    if z is not None:
        logarithm = do.log_sigmoid(0 - z if "1" in name else z)
        return logarithm + math.log(2.0) if "2" in name else logarithm
    inner = 1 - s if "1" in name else s
    return do.log(2 * inner if "2" in name else inner)


@dataclass(frozen=True, slots=True)
class Axis:
    """The variable of polynomials: the score, its logit, or the compact logit of SplineCalib.

    The logit is that of s in [low, high]; the compact logit has epsilon = low = 1 - high.
    """

    scale: Scale = "score"
    low: Share = 0.0
    high: Share = 1.0

    def __call__(self, do: Operations, s: Column) -> Column:
        """The position of s on the axis."""
        if self.scale == "score":
            return s
        if self.scale == "logit":
            (inner,) = do.let("s", do.clip(s, self.low, self.high))
            return do.logit(inner)
        squeezed = compact_slope(self.low) * do.logit(s) + 0.5
        return do.choose(s < self.low, s, do.choose(s > self.high, s, squeezed))

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and highest place on the axis."""
        if self.scale == "logit":
            low, high = log_odds(np.array([self.low, self.high])).tolist()
            return low, high
        return (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Piecewise(Form):
    """Polynomials by pieces on an axis, or the sigmoid of that."""

    axis: Axis
    pieces: Pieces
    link: Link = "none"
    kind: ClassVar[str] = "piecewise"

    @property
    def leaves(self) -> bool:
        return self.link == "none" and self.pieces.coefficients.shape[1] > 2

    @property
    def log_odds_bound(self) -> float:
        return MAX_FEATURE if self.link == "none" else self.pieces.bound(*self.axis.ends)

    def of(self, do: Operations, s: Column) -> Column:
        value = do.pieces(self.pieces, self.axis(do, s))
        return value if self.link == "none" else do.sigmoid(value, self.log_odds_bound)

    def log_odds(self, do: Operations, s: Column, z: Column = None) -> Column:  # noqa: ARG002
        """The polynomials, if the sigmoid is taken of them."""
        if self.link == "none":
            return super(Piecewise, self).log_odds(do, s)
        return do.pieces(self.pieces, self.axis(do, s))


@dataclass(frozen=True, slots=True)
class BetweenTwo(Form):
    """p1 / (1 - p0 + p1) of two step functions: Venn-Abers."""

    lower: Pieces
    upper: Pieces
    kind: ClassVar[str] = "between_two"

    def of(self, do: Operations, s: Column) -> Column:
        """The probability between p0 and p1."""
        p0, p1 = do.let("p", do.pieces(self.lower, s), do.pieces(self.upper, s))
        return p1 / (1 - p0 + p1)


@dataclass(frozen=True, slots=True)
class Drift(Form):
    """s + slope(place(s)), within [min(s, low), max(s, high)]: the KS spline."""

    place: Pieces
    slope: Pieces
    low: Share
    high: Share
    kind: ClassVar[str] = "drift"

    def of(self, do: Operations, s: Column) -> Column:
        (place,) = do.let("x", do.pieces(self.place, s))
        value, least, most = do.let(
            "p",
            s + do.pieces(self.slope, place),
            do.choose(s < self.low, s, self.low),
            do.choose(s > self.high, s, self.high),
        )
        return do.choose(value < least, least, do.choose(value > most, most, value))


@dataclass(frozen=True, slots=True)
class Blend(Form):
    """sigmoid(sum of weight x log-odds) of the probabilities of other forms."""

    weights: tuple[Share, ...]
    members: tuple[Form, ...]
    kind: ClassVar[str] = "blend"

    @property
    def reads_log_odds(self) -> bool:
        return any(one.reads_log_odds or isinstance(one, Identity) for one in self.members)

    @property
    def log_odds_bound(self) -> float:
        pairs = zip(self.weights, self.members, strict=True)
        return sum(weight * member.log_odds_bound for weight, member in pairs)

    def of(self, do: Operations, s: Column) -> Column:
        return do.sigmoid(self.log_odds(do, s), self.log_odds_bound)

    def __call__(self, do: Operations, s: Column, z: Column = None) -> Column:
        """The calibrated probability, see `Form`."""
        if z is None:
            return super(Blend, self).__call__(do, s)
        return do.sigmoid(self.log_odds(do, s, z), math.inf)

    def log_odds(self, do: Operations, s: Column, z: Column = None) -> Column:
        """The sum that the sigmoid is taken of."""
        pairs = zip(self.weights, self.members, strict=True)
        return reduce(add, [weight * member.log_odds(do, s, z) for weight, member in pairs])


@dataclass(frozen=True, slots=True)
class Within(Form):
    """Another form at min(max(s, low), high): scores of 0 and 1 that were rounded."""

    low: Share
    high: Share
    inner: Form
    kind: ClassVar[str] = "within"

    @property
    def ends(self) -> tuple[float, float]:
        return (self.low, self.high)

    def of(self, do: Operations, s: Column) -> Column:
        return self.inner(do, s)


class RowsForm:
    """A function of a row of class scores that add up to 1."""

    kind: ClassVar[str]

    def __call__(self, do: Operations, row: Sequence[Column]) -> Sequence[Column]:
        """One column per class."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class RowsIdentity(RowsForm):
    """The row itself."""

    kind: ClassVar[str] = "rows_identity"

    def __call__(self, do: Operations, row: Sequence[Column]) -> Sequence[Column]:  # noqa: ARG002
        return row


@dataclass(frozen=True, slots=True)
class RowsClipped(RowsForm):
    """Every score within [low, high], divided by the row's sum."""

    low: Share
    high: Share
    kind: ClassVar[str] = "rows_clip"

    def __call__(self, do: Operations, row: Sequence[Column]) -> Sequence[Column]:
        return shares(do, [do.clip(s, self.low, self.high) for s in row])


@dataclass(frozen=True, slots=True, eq=False)
class Softmax(RowsForm):
    """softmax(W ln P + b), or of w ln P + b class by class; ln of scores of at least the lowest.

    `weights` has a row per class, or one number per class.
    """

    weights: FloatArray
    intercepts: FloatArray
    lowest: Share = added(MACHINE_EPSILON)
    kind: ClassVar[str] = "softmax"

    def __call__(self, do: Operations, row: Sequence[Column]) -> Sequence[Column]:
        logs = [do.log(do.choose(s < self.lowest, self.lowest, s)) for s in row]
        if self.weights.ndim == 2:
            logs = list(do.let("x", *logs))
        return softmax(do, [self._of_class(k, logs) for k in range(len(logs))])

    def _of_class(self, k: int, logs: Sequence[Column]) -> Column:
        row = [self.weights[k]] if self.weights.ndim == 1 else self.weights[k]
        columns = [logs[k]] if self.weights.ndim == 1 else logs
        terms = [float(w) * x for w, x in zip(row, columns, strict=True)]
        total = reduce(add, terms)
        return total + float(self.intercepts[k]) if self.intercepts.any() else total


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxAfterTemperature(RowsForm):
    """softmax(W ln Q + b), where Q = (1 - uniform) softmax(slope ln P) + uniform / m."""

    slope: float
    uniform: Share
    weights: FloatArray
    intercepts: FloatArray
    lowest: Share = added(MACHINE_EPSILON)
    kind: ClassVar[str] = "softmax_after_temperature"

    def __call__(self, do: Operations, row: Sequence[Column]) -> Sequence[Column]:
        m = len(row)
        scaled = Softmax(np.full(m, self.slope), np.zeros(m), self.lowest)(do, row)
        mixed = [(1.0 - self.uniform) * q + self.uniform / m for q in scaled]
        return Softmax(self.weights, self.intercepts)(do, do.let("q", *mixed))


@dataclass(frozen=True, slots=True)
class EachClass(RowsForm):
    """A function for each class against the rest, then rows divided by their sum."""

    classes: tuple[Form, ...]
    kind: ClassVar[str] = "one_vs_rest"

    def __call__(self, do: Operations, row: Sequence[Column]) -> Sequence[Column]:
        """Shares of each class; a row whose classes all become 0 keeps its scores."""
        made = do.let("q", *(form(do, s) for form, s in zip(self.classes, row, strict=True)))
        (total,) = do.let("t", reduce(add, made))
        return [do.choose(total > 0, p / total, s) for p, s in zip(made, row, strict=True)]


def shares(do: Operations, columns: Sequence[Column]) -> Sequence[Column]:
    """Every column divided by the sum of all."""
    columns = do.let("q", *columns)
    (total,) = do.let("t", do.total(columns))
    return [column / total for column in columns]


def softmax(do: Operations, columns: Sequence[Column]) -> Sequence[Column]:
    """e^x of every column, divided by the sum of all."""
    columns = do.let("e", *columns)
    largest = do.largest(columns)
    return shares(do, [do.exp(x - largest) for x in columns])
