"""The verdict and the recommendation: words first, with the evidence beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calib.calibrators import CALIBRATORS
from calib.cells import ScoreCells
from calib.comparison import Estimate
from calib.metrics.cumulative import ks_test
from calib.metrics.regression import calibration_slope_intercept

Kind = Literal[
    "calibrated", "overconfident", "underconfident", "too high", "too low", "uneven", "unknown"
]
FEW_OF_A_CLASS = 100
SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the scores can be trusted as probabilities.

    Attributes
    ----------
    kind : str
        "calibrated" (no evidence against), "overconfident", "underconfident", "too high",
        "too low", "uneven" (miscalibrated in shape only) or "unknown" (can't tell yet).
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


def judge(cells: ScoreCells) -> Verdict:
    """Test the scores against their outcomes, and say the result in a sentence.

    The evidence is the KS test on the cumulative differences; the kind is read from the calibration
    slope and the signed end; the place is the stretch of scores over which the cumulative
    difference falls or climbs furthest (the Kuiper stretch).
    """
    test = ks_test(cells)
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
    kind = _kind(cells)
    return Verdict(kind, f"{kind.capitalize()}: {_worst_stretch(cells)} ({evidence}).")


def _class_rows(cells: ScoreCells) -> tuple[int, int]:
    # With weights a cell's rows are shared out by weight: exact wherever weights are equal.
    positives = round(float((cells.rows * cells.rate).sum()))
    return positives, cells.n_rows - positives


def _kind(cells: ScoreCells) -> Kind:
    fit = calibration_slope_intercept(cells)
    if fit.estimable and fit.slope_high < 1.0:
        return "overconfident"
    if fit.estimable and fit.slope_low > 1.0:
        return "underconfident"
    bias = cells.base_rate - cells.mean_score
    spread = float(np.sqrt(cells.weight_sq @ (cells.score * (1 - cells.score))))
    if abs(bias) > 1.96 * spread / cells.total_weight:
        return "too low" if bias > 0 else "too high"
    return "uneven"


def _worst_stretch(cells: ScoreCells) -> str:
    difference = cells.cumulative_positive - cells.cumulative_score
    ends = sorted((int(difference.argmin()), int(difference.argmax())))
    low, high = cells.score[ends[0]], cells.score[ends[1] - 1]
    often = "more" if difference[ends[1]] > difference[ends[0]] else "less"
    if ends[0] == 0 and ends[1] == len(cells):
        place = "scores of all sizes"
    elif ends[1] == len(cells):
        place = f"scores above {_digits(low)}"
    elif ends[0] == 0:
        place = f"scores below {_digits(high)}"
    else:
        place = f"scores between {_digits(low)} and {_digits(high)}"
    weight = cells.cumulative_weight[ends[1]] - cells.cumulative_weight[ends[0]]
    stated = (cells.cumulative_score[ends[1]] - cells.cumulative_score[ends[0]]) / weight
    came = (cells.cumulative_positive[ends[1]] - cells.cumulative_positive[ends[0]]) / weight
    return (
        f"{place} come true {often} often than stated "
        f"({_percent(came)} instead of {_percent(stated)})"
    )


def recommend(
    losses: Mapping[str, Estimate],
    differences: Mapping[str, Estimate],
    cells: ScoreCells,
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
    """
    positives, negatives = _class_rows(cells)
    if min(positives, negatives) < FEW_OF_A_CLASS:
        rarer = "positives" if positives <= negatives else "negatives"
        return Recommendation(
            "",
            "Not enough data to tell which calibrator helps.",
            (f"Only {min(positives, negatives):,} {rarer}; at least {FEW_OF_A_CLASS} are needed.",),
        )
    best = min(losses, key=lambda key: losses[key].value)
    as_good = [key for key in losses if key == best or differences[key].low <= 0.0]
    chosen = min(as_good, key=lambda key: CALIBRATORS[key].simplicity)
    label = CALIBRATORS[chosen].label
    reasons = [f"Lowest held-out log loss: {CALIBRATORS[best].label}, {losses[best].value:.4f}."]
    if chosen != best:
        gap = differences[chosen]
        reasons.append(
            f"{label} is simpler, and its log loss cannot be told from the best "
            f"(+{gap.value:.4f}, interval {gap.low:+.4f} to {gap.high:+.4f})."
        )
    if chosen == "uncalibrated":
        return Recommendation(chosen, "Keep the scores as they are.", tuple(reasons))
    gain = losses["uncalibrated"].value - losses[chosen].value
    sentence = f"Use {label}: held-out log loss falls by {gain:.4f}, to {losses[chosen].value:.4f}."
    return Recommendation(chosen, sentence, tuple(reasons))


def p_words(p_value: float) -> str:
    """A p-value as it is printed.

    Examples
    --------
    >>> p_words(0.0304), p_words(1e-9)
    ('p = 0.030', 'p < 0.001')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def _digits(score: float) -> str:
    return f"{score:.2g}" if score < 0.1 or score > 0.99 else f"{score:.2f}"


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f}%" if rate >= 0.001 else f"{100 * rate:.2g}%"
