"""Forms: fitted calibrators as data. There are a few kinds of functions.

`Calibrator.to_map` returns a form. `predict` evaluates it on arrays. An export records its
operations on a column and prints them in another language, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from calib.numerics.arrays import FloatArray
from calib.numerics.elementary import exp, log
from calib.numerics.splines import Pieces
from calib.numerics.transforms import MACHINE_EPSILON, compact_slope

# An array of floats or the record of a column: anything with arithmetic and comparisons.
Column = Any
Scale = Literal["score", "logit", "compact_logit"]
Link = Literal["none", "sigmoid"]
Share = Annotated[float, 0.0, 1.0]  # from 0 to 1, which a file must keep to


class Operations:
    """What forms do with columns beyond arithmetic and comparisons: here with arrays."""

    def where(self, condition: Column, yes: Column, no: Column) -> Column:
        """`yes` if the condition holds, else `no`."""
        return np.asarray(np.where(condition, yes, no), dtype=np.float64)

    def log(self, x: Column) -> Column:
        """Natural logarithm of positive numbers."""
        return log(x)

    def exp(self, x: Column) -> Column:
        """e^x, of x brought to [-745, 709]."""
        return exp(x)

    def pieces(self, pieces: Pieces, x: Column) -> Column:
        """Polynomials by pieces."""
        return pieces(x)


ON_ARRAYS = Operations()


def clip(do: Operations, x: Column, low: Column, high: Column) -> Column:
    """Like ``np.clip``."""
    raised = do.where(x < low, low, x)
    return do.where(raised > high, high, raised)


def sigmoid(do: Operations, x: Column) -> Column:
    """1 / (1 + e^-x)."""
    return 1.0 / (1.0 + do.exp(0.0 - x))


class Form:
    """A function of one score; `kind` is its name in a file."""

    kind: ClassVar[str]

    def __call__(self, do: Operations, s: Column) -> Column:
        """The value at s, before it is clipped to [0, 1]."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Identity(Form):
    """s itself."""

    kind: ClassVar[str] = "identity"

    def __call__(self, do: Operations, s: Column) -> Column:  # noqa: ARG002
        return s


@dataclass(frozen=True, slots=True)
class Clipped(Form):
    """min(max(s, low), high)."""

    low: Share
    high: Share
    kind: ClassVar[str] = "clip"

    def __call__(self, do: Operations, s: Column) -> Column:
        return clip(do, s, self.low, self.high)


@dataclass(frozen=True, slots=True)
class OddsDivided(Form):
    """s / (s + factor (1 - s))."""

    factor: float
    kind: ClassVar[str] = "odds"

    def __call__(self, do: Operations, s: Column) -> Column:  # noqa: ARG002
        """The probability whose odds are those of s over the factor."""
        return s / (s + (1.0 - s) * self.factor)


# By the name in a file: whether s is first kept from 0 and 1, and what is taken of it.
Feature = Literal["s", "ln s", "-ln(1 - s)", "ln 2s", "-ln 2(1 - s)", "logit s"]


@dataclass(frozen=True, slots=True)
class SigmoidOfFeatures(Form):
    """sigmoid(intercept + sum of coefficient x feature); logarithms of s in [eps, 1 - eps].

    eps is float64's machine epsilon, 2.2e-16.
    """

    intercept: float
    coefficients: tuple[float, ...]
    features: tuple[Feature, ...]
    kind: ClassVar[str] = "sigmoid_of_features"

    def __call__(self, do: Operations, s: Column) -> Column:
        total: Column = self.intercept
        inner = clip(do, s, MACHINE_EPSILON, 1.0 - MACHINE_EPSILON)
        for coefficient, name in zip(self.coefficients, self.features, strict=True):
            total = feature(do, name, s, inner) * coefficient + total
        return sigmoid(do, total)


def feature(do: Operations, name: Feature, s: Column, inner: Column) -> Column:
    """One column that a sigmoid is taken of; `inner` is s kept from 0 and 1."""
    if name == "s":
        return s
    if name == "logit s":
        return do.log(inner / (1.0 - inner))
    factor = 2.0 if "2" in name else 1.0
    if name.startswith("-"):
        return 0.0 - do.log((1.0 - inner) * factor)
    return do.log(inner * factor)


@dataclass(frozen=True, slots=True)
class Axis:
    """What polynomials live on: the score, its logit, or the compact logit of SplineCalib.

    The logit is that of s in [low, high]; the compact logit has epsilon = low = 1 - high.
    """

    scale: Scale = "score"
    low: Share = 0.0
    high: Share = 1.0

    def __call__(self, do: Operations, s: Column) -> Column:
        """Where s is on the axis."""
        if self.scale == "score":
            return s
        inner = clip(do, s, self.low, self.high)
        logit = do.log(inner / (1.0 - inner))
        if self.scale == "logit":
            return logit
        squeezed = logit * compact_slope(self.low) + 0.5
        return do.where(s < self.low, s, do.where(s > self.high, s, squeezed))


@dataclass(frozen=True, slots=True)
class Piecewise(Form):
    """Polynomials by pieces on an axis, or the sigmoid of that."""

    axis: Axis
    pieces: Pieces
    link: Link = "none"
    kind: ClassVar[str] = "piecewise"

    def __call__(self, do: Operations, s: Column) -> Column:
        value = do.pieces(self.pieces, self.axis(do, s))
        return sigmoid(do, value) if self.link == "sigmoid" else value


@dataclass(frozen=True, slots=True)
class BetweenTwo(Form):
    """p1 / (1 - p0 + p1) of two step functions: Venn-Abers."""

    lower: Pieces
    upper: Pieces
    kind: ClassVar[str] = "between_two"

    def __call__(self, do: Operations, s: Column) -> Column:
        """The probability between p0 and p1."""
        p0, p1 = do.pieces(self.lower, s), do.pieces(self.upper, s)
        return p1 / (1.0 - p0 + p1)


@dataclass(frozen=True, slots=True)
class Drift(Form):
    """s + slope(place(s)), within [min(s, low), max(s, high)]: the KS spline."""

    place: Pieces
    slope: Pieces
    low: Share
    high: Share
    kind: ClassVar[str] = "drift"

    def __call__(self, do: Operations, s: Column) -> Column:
        value = s + do.pieces(self.slope, do.pieces(self.place, s))
        low, high = do.where(s < self.low, s, self.low), do.where(s > self.high, s, self.high)
        return clip(do, value, low, high)


def within(do: Operations, form: Form, s: Column) -> Column:
    """The form's value, clipped to [0, 1] where it could leave it."""
    value = form(do, s)
    if isinstance(form, Piecewise):
        bends = form.link == "none" and form.pieces.coefficients.shape[1] > 1
        return clip(do, value, 0.0, 1.0) if bends else value
    return clip(do, value, 0.0, 1.0) if isinstance(form, Drift) else value


class RowsForm:
    """A function of a row of class scores."""

    kind: ClassVar[str]

    def __call__(self, do: Operations, row: Sequence[Column]) -> list[Column]:
        """One column per class."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class RowsIdentity(RowsForm):
    """The row itself."""

    kind: ClassVar[str] = "rows_identity"

    def __call__(self, do: Operations, row: Sequence[Column]) -> list[Column]:  # noqa: ARG002
        return list(row)


@dataclass(frozen=True, slots=True)
class RowsClipped(RowsForm):
    """Every score within [low, high], divided by the row's sum."""

    low: Share
    high: Share
    kind: ClassVar[str] = "rows_clip"

    def __call__(self, do: Operations, row: Sequence[Column]) -> list[Column]:
        inner = [clip(do, s, self.low, self.high) for s in row]
        total = sum_of(inner)
        return [each / total for each in inner]


@dataclass(frozen=True, slots=True, eq=False)
class Softmax(RowsForm):
    """softmax(W ln P + b), or of w ln P + b class by class; ln of scores of at least 2.2e-16.

    `weights` has a row per class, or one number per class.
    """

    weights: FloatArray
    intercepts: FloatArray
    kind: ClassVar[str] = "softmax"

    def __call__(self, do: Operations, row: Sequence[Column]) -> list[Column]:
        logs = [do.log(do.where(s < MACHINE_EPSILON, MACHINE_EPSILON, s)) for s in row]
        eta = [self._of_class(k, logs) for k in range(len(logs))]
        most = eta[0]
        for each in eta[1:]:
            most = do.where(each > most, each, most)
        powers = [do.exp(each - most) for each in eta]
        total = sum_of(powers)
        return [each / total for each in powers]

    def _of_class(self, k: int, logs: Sequence[Column]) -> Column:
        if self.weights.ndim == 1:
            return logs[k] * float(self.weights[k]) + float(self.intercepts[k])
        terms = zip(logs, self.weights[k].tolist(), strict=True)
        return sum_of([x * weight for x, weight in terms]) + float(self.intercepts[k])


@dataclass(frozen=True, slots=True)
class EachClass(RowsForm):
    """A function for each class against the rest, then rows divided by their sum."""

    classes: tuple[Form, ...]
    kind: ClassVar[str] = "one_vs_rest"

    def __call__(self, do: Operations, row: Sequence[Column]) -> list[Column]:
        """Shares of each class; a row of zeros keeps its scores, and is even without any."""
        made = [within(do, form, s) for form, s in zip(self.classes, row, strict=True)]
        total = sum_of(made)
        given = sum_of(row)
        even = 1.0 / len(row)
        return [
            do.where(
                total > 0.0,
                p / do.where(total > 0.0, total, 1.0),
                do.where(given > 0.0, s / do.where(given > 0.0, given, 1.0), even),
            )
            for p, s in zip(made, row, strict=True)
        ]


def sum_of(columns: Sequence[Column]) -> Column:
    """The sum, in the order in which NumPy adds the numbers of a row.

    >>> sum_of([1, 2, 3])
    6
    """
    n = len(columns)
    if n > 128:
        half = n // 2 - n // 2 % 8
        return sum_of(columns[:half]) + sum_of(columns[half:])
    whole = n - n % 8
    total, rest = columns[0], columns[1:]
    if whole:
        lanes = list(columns[:8])
        for start in range(8, whole, 8):
            lanes = [a + b for a, b in zip(lanes, columns[start : start + 8], strict=True)]
        halves = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
        total = halves + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
        rest = columns[whole:]
    for column in rest:
        total = total + column
    return total
