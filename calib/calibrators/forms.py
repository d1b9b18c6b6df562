"""What a fitted calibrator is, as data: a few kinds of functions, each evaluated by one rule.

`Calibrator.to_map` gives one. Predictions evaluate it on arrays; an export records what it does
with a column and prints that in another language. Both do the same operations in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from calib.numerics.arrays import FloatArray
from calib.numerics.elementary import exp, log
from calib.numerics.pieces import Pieces
from calib.numerics.transforms import MACHINE_EPSILON, compact_slope

# An array of floats, or the record of a column: whatever has + - * / < >= and so on.
Column = Any
Scale = Literal["score", "logit", "compact_logit"]
Link = Literal["none", "sigmoid"]


class Operations(Protocol):
    """What forms do with columns beyond arithmetic and comparisons."""

    def where(self, condition: Column, yes: Column, no: Column) -> Column:
        """`yes` where the condition holds, else `no`."""

    def log(self, x: Column) -> Column:
        """Natural logarithm of positive numbers."""

    def exp(self, x: Column) -> Column:
        """e^x, of x brought to [-745, 709]."""

    def pieces(self, pieces: Pieces, x: Column) -> Column:
        """Polynomials by pieces."""


class OnArrays:
    """The operations on arrays."""

    def where(self, condition: Column, yes: Column, no: Column) -> FloatArray:
        """`yes` where the condition holds, else `no`."""
        return np.asarray(np.where(condition, yes, no), dtype=np.float64)

    def log(self, x: FloatArray) -> FloatArray:
        """Natural logarithm of positive numbers."""
        return log(x)

    def exp(self, x: FloatArray) -> FloatArray:
        """e^x, of x brought to [-745, 709]."""
        return exp(x)

    def pieces(self, pieces: Pieces, x: FloatArray) -> FloatArray:
        """Polynomials by pieces."""
        return pieces(x)


ON_ARRAYS = OnArrays()


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
        """s."""
        return s


@dataclass(frozen=True, slots=True)
class Clipped(Form):
    """min(max(s, low), high)."""

    low: float
    high: float
    kind: ClassVar[str] = "clip"

    def __call__(self, do: Operations, s: Column) -> Column:
        """s within the bounds."""
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
FEATURES = ("s", "ln s", "-ln(1 - s)", "ln 2s", "-ln 2(1 - s)", "logit s")
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
        """The curve."""
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
    low: float = 0.0
    high: float = 1.0

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
        """The curve."""
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
    low: float
    high: float
    kind: ClassVar[str] = "drift"

    def __call__(self, do: Operations, s: Column) -> Column:
        """The score and its correction."""
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
