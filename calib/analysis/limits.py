"""Limits of metrics that a person set, and whether an analysis meets them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from calib.analysis.analysis import Analysis
from calib.numerics.intervals import Estimate
from calib.text import level, rounded, significant


@dataclass(frozen=True, slots=True)
class Limit:
    argument: str  # Its name in a report, and its option on the command line.
    meaning: str
    # Key of the metric's column. The p-value has no column.
    column: Callable[[Analysis], str] | None = None
    # A bound above the largest possible value would always be met, or never.
    largest: float = 1.0

    @property
    def allowed(self) -> str:
        """The bounds that make sense, in words."""
        return f"at least 0{f' and at most {self.largest:g}' if self.largest < math.inf else ''}"

    def allows(self, bound: float) -> bool:
        """Whether the bound is neither always met nor never."""
        return 0.0 <= bound <= self.largest and bound < math.inf

    def finding(
        self, analysis: Analysis, method: str, bound: float, *, strict_point: bool = False
    ) -> Finding:
        """Whether a method meets the bound: its interval, or its value if `strict_point`."""
        result = analysis.methods[method]
        if self.column is None:
            return Finding("p of the KS test", result.ks.p_value, bound, at_most=False)
        key = self.column(analysis)
        label = next(column.label for column in analysis.columns if column.key == key)
        estimate, confidence_level = result.metrics[key], analysis.settings.confidence_level
        if strict_point:
            floor = estimate.noise_floor
            return Finding(label, estimate.value, bound, at_most=True, noise_floor=floor)
        return Finding.of_interval(label, estimate, bound, confidence_level)


LIMITS = (
    Limit("max_ks", "maximum KS error", lambda _: "ks_error"),
    Limit(
        "max_ece",
        "maximum expected calibration error, with the bins of the settings",
        lambda analysis: f"ece_{analysis.settings.strategy}",
    ),
    Limit("max_log_loss", "maximum log loss of the view", lambda _: "log_loss", math.inf),
    Limit("min_p", "minimum p-value of the KS test alone"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A limit and the value found. A calibration error also has the value of a calibrated model.

    If `low` and `high`, the bounds of the interval of the value, are not NaN, a maximum is exceeded
    only if `low` is above it. Otherwise the value itself decides.
    """

    label: str
    value: float
    bound: float
    at_most: bool
    noise_floor: float = math.nan
    low: float = math.nan
    high: float = math.nan
    confidence_level: float = 0.95

    @classmethod
    def of_interval(
        cls, label: str, estimate: Estimate, bound: float, confidence_level: float
    ) -> Finding:
        """A maximum that is exceeded if the whole interval lies above it."""
        ends = (estimate.noise_floor, estimate.low, estimate.high)
        return cls(label, estimate.value, bound, True, *ends, confidence_level)

    @property
    def is_met(self) -> bool:
        """Whether the value is within the bound, or not significantly above it. NaN is not."""
        if not self.at_most:
            return self.value >= self.bound
        return self.value <= self.bound or self.low <= self.bound

    @property
    def kind(self) -> str:
        """JUnit's name of the result."""
        return "system-out" if self.is_met else "failure"

    @property
    def rule(self) -> str:
        return f"{self.label} at {'most' if self.at_most else 'least'} {significant(self.bound, 6)}"

    @property
    def sentence(self) -> str:
        """The finding in words.

        >>> Finding("KS error", 0.0412345678, 0.02, at_most=True).sentence
        'KS error 0.0412346 is above 0.02'
        >>> Finding("KS error", 0.041, 0.02, at_most=True, low=0.012, high=0.07).sentence
        'KS error 0.041 (95% CI 0.012 to 0.07) is above 0.02, but not significantly'
        >>> Finding("KS error", 0.041, 0.02, at_most=True, low=0.031, high=0.051).sentence
        'KS error 0.041 (95% CI 0.031 to 0.051) is significantly above 0.02'
        >>> Finding("KS error", 0.041, 0.02, at_most=True, noise_floor=0.0352).sentence[30:]
        'a calibrated model with this many rows shows 0.0352 on average'
        >>> Finding("kappa", math.nan, 0.4, at_most=False).sentence
        'kappa has no value, and must be at least 0.4'
        """
        if math.isnan(self.value):
            at = f"at {'most' if self.at_most else 'least'} {significant(self.bound, 6)}"
            return f"{self.label} has no value, and must be {at}"
        sentence = f"{self.label} {self._shown(self.value, 6)}"
        has_interval = not math.isnan(self.low)
        if has_interval:
            ends = f"{self._shown(self.low, 3)} to {self._shown(self.high, 3)}"
            sentence += f" ({level(self.confidence_level)} CI {ends})"
        sentence += f" is {self._relation(has_interval)}"
        if self.is_met or math.isnan(self.noise_floor):
            return sentence
        floor = significant(self.noise_floor)
        return f"{sentence}; a calibrated model with this many rows shows {floor} on average"

    def _relation(self, has_interval: bool) -> str:
        bound = significant(self.bound, 6)
        if not self.at_most:
            return f"{'at least' if self.is_met else 'below'} {bound}"
        if self.value <= self.bound:
            return f"at most {bound}"
        if self.is_met:
            return f"above {bound}, but not significantly"
        return f"{'significantly ' if has_interval else ''}above {bound}"

    def _shown(self, value: float, digits: int) -> str:
        """A number in these digits, or in full if rounding moves it across the bound."""
        short = rounded(value, digits)
        sides = [(v <= self.bound) if self.at_most else (v >= self.bound) for v in (short, value)]
        return significant(value, digits) if sides[0] == sides[1] else repr(value)
