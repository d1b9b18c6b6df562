"""Conversion of scores to probabilities, the first step of an exported calibrator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib.calibrators.forms import (
    Column,
    Form,
    Operations,
    SigmoidOfFeatures,
    shares,
    softmax,
)
from calib.data.file_options import Transform
from calib.data.strict_json import added
from calib.numerics.arrays import FloatArray
from calib.numerics.transforms import clip_certain, log_odds

DIVISORS = {"percent": 100, "tenths": 10, "thousandths": 1000}
MAX_FLOAT = sys.float_info.max
TRANSFORM_WORDS = {
    "percent": "divided by 100",
    "tenths": "divided by 10",
    "thousandths": "divided by 1,000",
    "logit": "log-odds, of which the sigmoid is taken",
    "exp": "logarithms of probabilities, of which the exponential is taken",
    "clip": "clipped to [0, 1]",
    "softmax": "logits, of which the softmax is taken",
    "normalize": "divided by their sum",
}


@dataclass(frozen=True, slots=True)
class Conversion:
    """The options `transform` and `swap` of `calib.load`.

    >>> from calib.calibrators.forms import ON_ARRAYS
    >>> Conversion("percent", swap=True)(ON_ARRAYS, np.array([20.0]))
    array([0.8])
    """

    transform: Transform = "none"
    swap: bool = False  # If True, the score is that of the negative class.
    # If True, functions of the log-odds read those of the file. Files of version 0.1 read the
    # log-odds of the probability, which are lost beyond 36 and -36.
    keeps_log_odds: bool = added(False)

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and highest score that is allowed."""
        if self.transform == "normalize":
            return (0.0, MAX_FLOAT)
        if self.transform in ("logit", "clip", "softmax"):
            return (-MAX_FLOAT, MAX_FLOAT)
        if self.transform == "exp":
            return (-MAX_FLOAT, 0.0)
        return (0.0, float(DIVISORS.get(self.transform, 1)))

    def same_scores(self, other: Conversion) -> bool:
        """Whether both convert the same scores."""
        return (self.transform, self.swap) == (other.transform, other.swap)

    @property
    def sentence(self) -> str:
        """The conversion in words, or "" if there is none."""
        words = [TRANSFORM_WORDS[self.transform]] if self.transform in TRANSFORM_WORDS else []
        words += ["subtracted from 1, because they are those of the negative class"] * self.swap
        return f"Scores are first {' and then '.join(words)}." if words else ""

    def __call__(self, do: Operations, s: Column) -> Column:
        """The probability of a score of the file."""
        if self == Conversion():
            return s
        if self.transform in DIVISORS:
            s = s / DIVISORS[self.transform]
        elif self.transform == "logit":
            s = do.sigmoid(s, MAX_FLOAT)
        elif self.transform == "exp":
            s = do.exp(s)
        elif self.transform == "clip":
            s = do.clip(s, 0.0, 1.0)
        return do.let("s", 1 - s if self.swap else s)[0]

    def calibrated(self, form: Form, do: Operations, s: Column) -> Column:
        """The calibrated probability of a score of the file."""
        if not self.keeps_log_odds:
            return form(do, self(do, s))
        (z,) = do.let("z", 0 - s if self.swap else s)
        # A sigmoid of log-odds needs no probability.
        of_log_odds = isinstance(form, SigmoidOfFeatures) and "s" not in form.features
        return form(do, None if of_log_odds else self(do, s), z)

    def of_row(self, do: Operations, row: Sequence[Column]) -> Sequence[Column]:
        """Class scores that add up to 1."""
        if self.transform == "softmax":
            return softmax(do, row)
        return shares(do, [self(do, s) for s in row])

    def undone(self, probabilities: FloatArray) -> FloatArray:
        """Scores of a file that are converted to these probabilities, up to rounding."""
        p = 1.0 - probabilities if self.swap else probabilities
        if self.transform == "logit":
            return log_odds(clip_certain(p))
        if self.transform in ("exp", "softmax"):
            return np.log(clip_certain(p))
        return p * DIVISORS.get(self.transform, 1)
