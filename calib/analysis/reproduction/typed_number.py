"""A number as a person typed it: its digits decide which values are equal to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real

import numpy as np

from calib.numerics.arrays import BoolArray, FloatArray
from calib.text import number, quoted

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
