"""Where a calibration curve falls: a higher score gets a lower probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.base import Calibrator
from calib.numerics.transforms import certain_logit, safe_logit, sigmoid
from calib.text import score_percents

# A smaller fall of the log-odds changes the odds by less than 1%.
MIN_FALL = 0.01
POINTS_PER_INTERVAL = 20


@dataclass(frozen=True, slots=True)
class Fall:
    """The largest fall of a calibrator's curve: two scores, and their probabilities."""

    start: float
    end: float
    high: float
    low: float

    @property
    def words(self) -> str:
        """For example "falls from 52% at a score of 31% to 48% at a score of 40%"."""
        high, low = score_percents(self.high, self.low)
        start, end = score_percents(self.start, self.end)
        return f"falls from {high} at a score of {start} to {low} at a score of {end}"


def largest_fall(fitted: Calibrator) -> Fall | None:
    """The largest fall of the log-odds within the fitted scores, or None if there is none.

    >>> from calib.calibrators.spline import Spline
    >>> scores = np.repeat([0.2, 0.4, 0.6, 0.8], 100)
    >>> fitted = Spline().fit(scores, np.arange(400) % 100 < np.repeat([20, 60, 30, 90], 100))
    >>> largest_fall(fitted).words
    'falls from 59% at a score of 38% to 32% at a score of 60%'
    """
    if fitted.monotone:
        return None
    low, high = fitted.fitted_range_
    knots = fitted.knots()
    ends = safe_logit(np.unique([low, *knots[(knots > low) & (knots < high)], high]))
    places = np.arange(len(ends) - 1 + 1 / POINTS_PER_INTERVAL, step=1 / POINTS_PER_INTERVAL)
    scores = np.clip(sigmoid(np.interp(places, np.arange(len(ends)), ends)), low, high)
    p = fitted.predict(scores)
    log_odds = certain_logit(p)
    fall = np.maximum.accumulate(log_odds) - log_odds
    end = int(fall.argmax())
    if fall[end] < MIN_FALL:
        return None
    start = int(log_odds[: end + 1].argmax())
    return Fall(float(scores[start]), float(scores[end]), float(p[start]), float(p[end]))


def falling_part(fitted: Calibrator) -> str:
    """The end of a formula that names the largest fall, or ""."""
    fall = largest_fall(fitted)
    return f"; {fall.words}" if fall else ""
