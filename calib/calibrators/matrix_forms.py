"""What a fitted calibrator of score matrices is, as data; see `calib.calibrators.forms`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from calib.calibrators.forms import Column, Form, Operations, clip, within
from calib.numerics.arrays import FloatArray
from calib.numerics.transforms import MACHINE_EPSILON


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
        """The row."""
        return list(row)


@dataclass(frozen=True, slots=True)
class RowsClipped(RowsForm):
    """Every score within [low, high], divided by the row's sum."""

    low: float
    high: float
    kind: ClassVar[str] = "rows_clip"

    def __call__(self, do: Operations, row: Sequence[Column]) -> list[Column]:
        """Clipped shares."""
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
        """Probabilities of the classes."""
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

    Examples
    --------
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
