"""The verdict and the recommendation: words first, with the evidence beside."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calib.cells import ScoreCells
from calib.comparison import Estimate
from calib.methods import method_of
from calib.metrics.cumulative import ks_test
from calib.metrics.regression import calibration_slope_intercept
from calib.metrics.results import TestResult

Kind = Literal[
    "calibrated", "overconfident", "underconfident", "too high", "too low", "uneven", "unknown"
]
FEW_OF_A_CLASS = 100
SIGNIFICANCE = 0.05
# From this share of the whole swing on, the signed end is the story, and not the slope.
MOSTLY = 0.75


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the scores can be trusted as probabilities.

    Attributes
    ----------
    kind : str
        "calibrated" (no evidence against), "overconfident", "underconfident", "too high",
        "too low", "uneven" (neither) or "unknown" (can't tell yet).
    sentence : str
        One sentence: what is wrong, where, and the evidence.
    """

    kind: Kind
    sentence: str


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Which calibrator to use; the method may be "uncalibrated", or empty for "can't tell yet".

    Attributes
    ----------
    method : str
        Key of the method, "" where the data cannot tell.
    sentence : str
    reasons : tuple of str
    """

    method: str
    sentence: str
    reasons: tuple[str, ...]


def judge(
    cells: ScoreCells, test: TestResult | None = None, slope: Estimate | None = None
) -> Verdict:
    """Test the scores against their outcomes, and say the result in a sentence.

    The evidence is the KS test on the cumulative differences. The kind is "too high" or "too low"
    where those differences mostly run one way, else it is read from the calibration slope. The
    place is the stretch of scores over which they fall or climb furthest. `test` and `slope` take
    the place of those that the cells give, where more is known of the rows, such as their clusters.
    """
    test = test or ks_test(cells)
    evidence = f"KS {test.statistic:.3f}, {p_words(test.p_value)}"
    positives, negatives = _class_rows(cells)
    if min(positives, negatives) < FEW_OF_A_CLASS and test.p_value >= SIGNIFICANCE:
        rarer = "positives" if positives <= negatives else "negatives"
        return Verdict(
            "unknown",
            f"Can't tell yet: {min(positives, negatives):,} {rarer} are too few to see "
            f"miscalibration of ordinary size ({evidence}).",
        )
    if test.p_value >= SIGNIFICANCE:
        return Verdict(
            "calibrated", f"No sign of miscalibration: the scores hold up as stated ({evidence})."
        )
    kind = _kind(cells, slope)
    return Verdict(kind, f"{kind.capitalize()}: {_worst_stretch(cells)} ({evidence}).")


def _class_rows(cells: ScoreCells) -> tuple[int, int]:
    # With weights a cell's rows are shared out by weight: exact wherever weights are equal.
    positives = round(float((cells.rows * cells.rate).sum()))
    return positives, cells.n_rows - positives


def _kind(cells: ScoreCells, slope: Estimate | None) -> Kind:
    difference = cells.cumulative_positive - cells.cumulative_score
    if abs(difference[-1]) >= MOSTLY * np.ptp(difference):
        return "too low" if difference[-1] > 0 else "too high"
    if slope is None:
        fit = calibration_slope_intercept(cells)
        slope = Estimate(fit.slope, fit.slope_low, fit.slope_high)
    # Bounds that cannot be estimated are NaN, and tell nothing.
    if slope.high < 1.0:
        return "overconfident"
    if slope.low > 1.0:
        return "underconfident"
    return "uneven"


def _worst_stretch(cells: ScoreCells) -> str:
    """Where the cumulative difference falls or climbs furthest, and what came true there."""
    difference = cells.cumulative_positive - cells.cumulative_score
    start, end = sorted((int(difference.argmin()), int(difference.argmax())))
    weight = cells.cumulative_weight[end] - cells.cumulative_weight[start]
    stated = (cells.cumulative_score[end] - cells.cumulative_score[start]) / weight
    came = (cells.cumulative_positive[end] - cells.cumulative_positive[start]) / weight
    often = "more" if came > stated else "less"
    place = _place(cells, start, end, weight / cells.total_weight)
    return (
        f"{place} come true {often} often than stated, "
        f"{percent_words(came)} instead of {percent_words(stated)}"
    )


def _place(cells: ScoreCells, start: int, end: int, share: float) -> str:
    low, high = score_words(cells.score[start]), score_words(cells.score[end - 1])
    if share > 0.95:
        return "scores of all sizes"
    if end == len(cells):
        return f"scores above {low}"
    if start == 0:
        return f"scores below {high}"
    return f"scores between {low} and {high}"


def recommend(
    losses: Mapping[str, Estimate],
    differences: Mapping[str, Estimate],
    cells: ScoreCells,
    outcomes: tuple[str, str] = ("positives", "negatives"),
    loss: str = "held-out log loss",
) -> Recommendation:
    """The simplest method whose log loss cannot be told from the best one's.

    Parameters
    ----------
    losses : mapping of str to Estimate
        Held-out log loss of each method.
    differences : mapping of str to Estimate
        Log loss of each method minus that of the best one, paired.
    cells : ScoreCells
        Of the uncalibrated scores.
    outcomes : (str, str)
        What positive and negative rows are called.
    loss : str
        What the losses are called.
    """
    positives, negatives = _class_rows(cells)
    if min(positives, negatives) < FEW_OF_A_CLASS:
        rarer = outcomes[positives > negatives]
        return Recommendation(
            "",
            "Not enough data to tell which calibrator helps.",
            (f"Only {min(positives, negatives):,} {rarer}; at least {FEW_OF_A_CLASS} are needed.",),
        )
    best = min(losses, key=lambda key: losses[key].value)
    as_good = [key for key in losses if key == best or differences[key].low <= 0.0]
    chosen = min(as_good, key=lambda key: method_of(key).simplicity)
    label = method_of(chosen).label
    reasons = [f"Lowest {loss}: {method_of(best).label}, {losses[best].value:.4f}."]
    if chosen != best:
        gap = differences[chosen]
        reasons.append(
            f"{label} is simpler, and its log loss cannot be told from the best "
            f"({signed(gap.value)}, interval {signed(gap.low)} to {signed(gap.high)})."
        )
    if chosen == "uncalibrated":
        return Recommendation(chosen, "Keep the scores as they are.", tuple(reasons))
    gain = losses["uncalibrated"].value - losses[chosen].value
    sentence = f"Use {label}: {loss} falls by {gain:.4f}, to {losses[chosen].value:.4f}."
    return Recommendation(chosen, sentence, tuple(reasons))


def p_words(p_value: float) -> str:
    """A p-value as it is printed.

    Examples
    --------
    >>> p_words(0.0304), p_words(1e-9)
    ('p = 0.030', 'p < 0.001')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def signed(value: float, digits: int = 4) -> str:
    """A difference with its sign.

    Examples
    --------
    >>> signed(-0.25, 2)
    '−0.25'
    """
    return f"{value:+.{digits}f}".replace("-", "−")


def score_words(score: float) -> str:
    """A score with two digits, or as many as tell it from 0 and from 1.

    Examples
    --------
    >>> score_words(0.6543), score_words(0.00213), score_words(0.99981)
    ('0.65', '0.002', '0.9998')
    """
    from_edge = min(score, 1.0 - score)
    if from_edge <= 0.0:
        return f"{score:.0f}"
    return f"{score:.{min(12, max(2, math.ceil(-math.log10(from_edge))))}f}"


def percent_words(rate: float) -> str:
    """A rate as a percentage with one decimal, or two digits where it is below 0.1%.

    Examples
    --------
    >>> percent_words(0.3169), percent_words(0.000213)
    ('31.7%', '0.021%')
    """
    return f"{100 * rate:.1f}%" if rate >= 0.001 or rate == 0.0 else f"{100 * rate:.2g}%"
