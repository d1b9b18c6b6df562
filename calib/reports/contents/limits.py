"""Limits of metrics that a person set, and whether an analysis meets them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from calib.analysis import Analysis
from calib.text import rounded, significant


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

    def finding(self, analysis: Analysis, method: str, bound: float) -> Finding:
        result = analysis.methods[method]
        if self.column is None:
            return Finding("p of the KS test", result.ks.p_value, bound, at_most=False)
        key = self.column(analysis)
        label = next(column.label for column in analysis.columns if column.key == key)
        estimate = result.metrics[key]
        return Finding(label, estimate.value, bound, at_most=True, noise_floor=estimate.noise_floor)


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
    """A limit and the value found. A calibration error also has the value of a calibrated model."""

    label: str
    value: float
    bound: float
    at_most: bool
    noise_floor: float = math.nan

    @property
    def is_met(self) -> bool:
        """Whether the value is within the bound. NaN is not."""
        return self.value <= self.bound if self.at_most else self.value >= self.bound

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
        >>> Finding("KS error", 0.041, 0.02, at_most=True, noise_floor=0.0352).sentence[30:]
        'a calibrated model with this many rows shows 0.0352 on average'
        """
        met, exceeded = ("at most", "above") if self.at_most else ("at least", "below")
        relation = f"is {met if self.is_met else exceeded} {significant(self.bound, 6)}"
        # A value that rounding would move to the other side of the bound is printed in full.
        nearby = Finding(self.label, rounded(self.value, 6), self.bound, self.at_most)
        shown = significant(self.value, 6) if nearby.is_met == self.is_met else repr(self.value)
        sentence = f"{self.label} {shown} {relation}"
        if self.is_met or math.isnan(self.noise_floor):
            return sentence
        floor = significant(self.noise_floor)
        return f"{sentence}; a calibrated model with this many rows shows {floor} on average"
