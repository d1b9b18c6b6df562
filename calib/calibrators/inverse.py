"""Back from calibrated probabilities to scores, and where a fitted curve falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calib.calibrators.base import Calibrator
from calib.numerics.arrays import FloatArray
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


RangeKind = Literal["point", "flat", "jump"]
# A smaller difference of two probabilities is rounding.
ROUNDING = 1e-12
POINTS = 2_000  # Between these scores, evenly spread log-odds, the curve is searched by halving.


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """Scores at which a curve has, or passes, a probability.

    Attributes
    ----------
    low, high : float
        Equal, or neighbouring numbers, unless the curve is flat.
    kind : {"point", "flat", "jump"}
        The curve has the probability at one score, at all scores of the range, or at none: it
        jumps from one side of the probability to the other.
    rises : bool
        Whether the probability is higher above the range than below it. True if the curve is flat
        from its start to its end.
    """

    low: float
    high: float
    kind: RangeKind
    rises: bool


def inverse(fitted: Calibrator, probability: float) -> tuple[ScoreRange, ...]:
    """Which scores have a calibrated probability.

    A rising curve gives one range, a curve that falls somewhere can give several, in the order of
    the scores. A flat curve gives the whole range with this probability.

    Parameters
    ----------
    fitted : Calibrator
        A fitted calibrator of one score per row.
    probability : float
        In [0, 1].

    Returns
    -------
    tuple of ScoreRange
        Empty if no score from 0 to 1 has the probability.

    Raises
    ------
    ValueError
        If the probability is not in [0, 1].
    sklearn.exceptions.NotFittedError
        If the calibrator is not fitted.

    Examples
    --------
    >>> from calib.calibrators import calibrator
    >>> fitted = calibrator("prior_shift", r=3.0).fit([0.2, 0.8], [0, 1])
    >>> [(round(at.low, 6), at.kind) for at in inverse(fitted, 0.25)]
    [(0.5, 'point')]
    """
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"probability must be in [0, 1], got {probability}.")
    score = _scores(fitted)
    side = _side(fitted, score, probability)
    # Each run of scores on one side of the probability, or at it, ends where the sign changes.
    last = np.append(np.flatnonzero(np.diff(side)), len(side) - 1)
    first = np.append(0, last[:-1] + 1)
    ranges: list[ScoreRange] = []
    for run, (start, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        before = side[start - 1] if run else -side[end + 1] if end + 1 < len(side) else -1
        if side[start] == 0:
            low = (
                score[start]
                if not run
                else _turn(fitted, probability, *score[start - 1 : start + 1])[1]
            )
            at_end = end + 1 == len(side)
            high = score[end] if at_end else _turn(fitted, probability, *score[end : end + 2])[0]
            kind: RangeKind = "flat" if high - low > ROUNDING else "point"
            ranges.append(ScoreRange(float(low), float(high), kind, bool(before < 0)))
        elif run and side[start - 1] == -side[start]:
            low, high = _turn(fitted, probability, *score[start - 1 : start + 1])
            p = fitted.predict(np.array([low, high]))
            kind = "jump" if abs(p[1] - p[0]) > 1e-9 else "point"
            ranges.append(ScoreRange(float(low), float(high), kind, bool(before < 0)))
    return tuple(ranges)


def _scores(fitted: Calibrator) -> FloatArray:
    """Scores between which the curve is smooth, the knots and their neighbours among them."""
    knots = fitted.knots()
    beside = [np.nextafter(knots, 0.0), knots, np.nextafter(knots, 1.0)]
    even = sigmoid(np.linspace(safe_logit(np.array(1e-12)), -safe_logit(np.array(1e-12)), POINTS))
    return np.unique(np.clip(np.concatenate([[0.0, 1.0], even, *beside]), 0.0, 1.0))


def _side(fitted: Calibrator, score: FloatArray, probability: float) -> FloatArray:
    """-1, 0 or 1: the curve is below the probability, at it, or above it."""
    away = fitted.predict(score) - probability
    return np.where(np.abs(away) <= ROUNDING, 0.0, np.sign(away))


def _turn(fitted: Calibrator, probability: float, low: float, high: float) -> tuple[float, float]:
    """Two neighbouring numbers between which the side of the lower score is left."""
    start = _side(fitted, np.array([low]), probability)[0]
    while low < (middle := 0.5 * (low + high)) < high and high - low > ROUNDING * high:
        if _side(fitted, np.array([middle]), probability)[0] == start:
            low = middle
        else:
            high = middle
    return low, high
