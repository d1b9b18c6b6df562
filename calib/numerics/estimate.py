"""A number and its interval, and the difference of two."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its interval. The bounds are NaN if there is no interval.

    Attributes
    ----------
    value, low, high : float
    noise_floor : float
        Mean of this calibration error if the model were calibrated, with the same scores, rows and
        bins. NaN if the number is not a calibration error.
    resolution : float
        Largest possible difference from the value of ungrouped scores; 0 if scores are not grouped.

    Examples
    --------
    >>> Estimate(0.3, 0.2, 0.4).columns("auc")
    {'auc': 0.3, 'auc_low': 0.2, 'auc_high': 0.4}
    >>> Estimate(0.3).columns("auc")
    {'auc': 0.3}
    >>> Estimate(0.3, noise_floor=0.1).columns("ece")
    {'ece': 0.3, 'ece_noise_floor': 0.1}
    """

    value: float
    low: float = float("nan")
    high: float = float("nan")
    # NaN is not equal to itself, so a field with NaN would make equal estimates unequal.
    noise_floor: float = field(default=float("nan"), compare=False)
    resolution: float = 0.0

    def scaled(self, factor: float) -> Estimate:
        """The number and its bounds times a positive factor, such as a number of rows."""
        return Estimate(factor * self.value, factor * self.low, factor * self.high)

    def columns(self, name: str) -> dict[str, float]:
        """Columns of a table row: the number, its bounds and its noise floor, if they exist."""
        others = {"low": self.low, "high": self.high, "noise_floor": self.noise_floor}
        finite = {f"{name}_{end}": value for end, value in others.items() if not math.isnan(value)}
        grouped = {f"{name}_resolution": self.resolution} if self.resolution > 0.0 else {}
        return {name: self.value} | finite | grouped

    def with_bounds(self, name: str) -> dict[str, float]:
        """Columns of a table row: the number and both bounds, even if they are NaN."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


def unpaired_difference(first: Estimate, second: Estimate) -> Estimate:
    """Second minus first, with an interval from the two intervals.

    Interval bounds are combined in quadrature (Zou and Donner 2008). Asymmetric intervals give an
    asymmetric interval.

    The estimates are of independent rows and have the same confidence level. If one has no
    interval, the difference has none. See Zou and Donner 2008, doi:10.1002/sim.3095; Newcombe 1998,
    doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.

    >>> difference = unpaired_difference(Estimate(0.5, 0.47, 0.53), Estimate(0.7, 0.66, 0.74))
    >>> round(difference.low, 4), round(difference.high, 4)
    (0.15, 0.25)
    """
    value = second.value - first.value
    below = math.hypot(second.value - second.low, first.high - first.value)
    above = math.hypot(second.high - second.value, first.value - first.low)
    return Estimate(value, value - below, value + above)
