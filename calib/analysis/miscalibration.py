"""What is wrong with scores that tests reject: the kind of the error, and where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import chdtrc

from calib.data.cells import ScoreCells
from calib.data.views import log_odds_of
from calib.metrics.goodness_of_fit import chi_square
from calib.metrics.ranking import auc
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import bin_cells
from calib.numerics.intervals import Estimate
from calib.numerics.transforms import sigmoid
from calib.uncertainty import fit_line
from calib.words import findings
from calib.words.findings import Stretch, ViewWords
from calib.words.verdicts import Kind

# The cumulative difference has a direction at every score, so its tests are cited.
CURVE_TESTS = ("ks", "kuiper")
# If the final cumulative difference is at least this share of its range, the error has one sign:
# too high or too low, and not over- or underconfident.
MIN_SIGNED_SHARE = 0.75
# A remainder at the end of the scores with at most this share of the rows and of the range of the
# cumulative difference is not worth a range of its own.
MAX_REMAINDER_SHARE = 0.05
MAX_END_WIDTH = 0.01  # Narrower ends of the scores are not named apart from the range beside them.
# A slope whose whole interval is nearer to 0 than to 1 and includes 0 is called uninformative.
MAX_UNINFORMATIVE_SLOPE = 0.5
# Hosmer and Lemeshow use ten groups.
N_GROUPS = 10
# If a line on the log-odds leaves at least this share of the groups' chi-square, it does not
# describe the error.
MIN_REMAINING_SHARE = 0.5
MAX_REMAINING_P = 0.05


def kind_of(cells: ScoreCells, rejected: Sequence[str], slope: Estimate, words: ViewWords) -> Kind:
    """The kind of miscalibration, if the tests in `rejected` reject calibration."""
    by_curve, sign = any(key in rejected for key in CURVE_TESTS), _sign(cells)
    if slope.high < 0.0:
        return "reversed"
    if words.top_label and sign and by_curve:
        return _signed_kind(sign, words)
    if slope.low <= 0.0 <= slope.high < MAX_UNINFORMATIVE_SLOPE:
        return "uninformative"
    if sign and by_curve:
        return _signed_kind(sign, words)
    if _not_a_line(cells):
        return "uneven"
    # Bounds that cannot be estimated are NaN, so neither comparison holds.
    if slope.high < 1.0:
        return "overconfident"
    if slope.low > 1.0:
        return "underconfident"
    return _signed_kind(sign, words) if sign else "uneven"


def _signed_kind(sign: int, words: ViewWords) -> Kind:
    if words.top_label:
        return "underconfident" if sign > 0 else "overconfident"
    return "too low" if sign > 0 else "too high"


def _sign(cells: ScoreCells) -> int:
    """1 if scores are mostly too low, -1 if mostly too high, otherwise 0."""
    difference = _difference(cells)
    mostly = abs(difference[-1]) >= MIN_SIGNED_SHARE * np.ptp(difference)
    return int(mostly) * int(np.sign(difference[-1]))


def _difference(cells: ScoreCells) -> FloatArray:
    return cells.cumulative_positive - cells.cumulative_score


def _not_a_line(cells: ScoreCells) -> bool:
    """Whether a line on the log-odds leaves most of what the Hosmer-Lemeshow groups see.

    The groups see every kind of error. A line on the log-odds describes over- and underconfidence,
    so only what it leaves is a reason to call scores too high in some ranges, too low in others.
    """
    groups, line = bin_cells(cells, N_GROUPS, "quantile"), fit_line(cells)
    if len(groups) <= 2:
        return False
    if line is None:
        return True
    fitted = sigmoid(line.coefficients[0] + line.coefficients[1] * log_odds_of(cells))
    mean = np.add.reduceat(cells.weight * fitted, groups.first) / groups.weight
    left = replace(groups, mean_score=np.clip(mean, 0.0, 1.0))
    before, after = float(chi_square(groups, groups.gap)), float(chi_square(left, left.gap))
    p_value = chdtrc(len(groups) - 2, after / max(1.0, cells.design_effect))
    return bool(p_value < MAX_REMAINING_P and after >= MIN_REMAINING_SHARE * before)


def finding_of(
    cells: ScoreCells, rejected: Sequence[str], kind: Kind, slope: Estimate, words: ViewWords
) -> str:
    """What is wrong, where and by how much, in one or two sentences."""
    if kind in ("reversed", "uninformative"):
        return findings.ranking(words, kind, float(auc(cells)), slope.value)
    by_curve, sign = any(key in rejected for key in CURVE_TESTS), _sign(cells)
    if by_curve or kind == "uneven":
        if not sign or kind == "uneven":
            return _both_sides(cells, words)
        if not words.top_label:
            return findings.averages(words, _stretch(cells, *_to_the_ends(cells, *_worst(cells))))
    elif slope.high < 1.0 or slope.low > 1.0:
        return findings.distance(words, slope.value, too_extreme=slope.high < 1.0)
    ends = float(cells.score[0]), float(cells.score[-1])
    return findings.averages(words, Stretch(*ends, cells.mean_score, cells.base_rate))


def _worst(cells: ScoreCells) -> tuple[int, int]:
    """The cells ``start:end`` over which the cumulative difference changes most."""
    difference = _difference(cells)
    start, end = sorted((int(difference.argmin()), int(difference.argmax())))
    return start, end


def _to_the_ends(cells: ScoreCells, start: int, end: int) -> tuple[int, int]:
    """Extend a range to an end of the scores if only a small remainder lies beyond it."""
    share = cells.cumulative_weight / cells.total_weight
    difference = _difference(cells)
    swing = difference / np.ptp(difference)
    least = MAX_REMAINDER_SHARE
    if share[start] <= least and abs(swing[start]) <= least:
        start = 0
    if share[end] >= 1.0 - least and abs(swing[-1] - swing[end]) <= least:
        end = len(cells)
    return start, end


def _both_sides(cells: ScoreCells, words: ViewWords) -> str:
    """The worst range, and beside it the range that errs most in the other direction."""
    low, cut, high = _sides(cells)
    low, high = _to_the_ends(cells, low, high)

    def too_low(start: int, end: int) -> bool:
        return _stretch(cells, start, end).is_too_low

    # An end such as 99.9% puzzles, so the range includes the few scores beyond it, if what is said
    # stays true.
    below, above = cells.score[low] - cells.score[0], cells.score[-1] - cells.score[high - 1]
    if below < MAX_END_WIDTH and too_low(0, cut) == too_low(low, cut):
        low = 0
    if above < MAX_END_WIDTH and too_low(cut, len(cells)) == too_low(cut, high):
        high = len(cells)
    middle = float(cells.score[cut - 1] + cells.score[cut]) / 2.0
    upper = replace(_stretch(cells, cut, high), low=middle)
    return findings.both_sides(words, _stretch(cells, low, cut), upper)


def _sides(cells: ScoreCells) -> tuple[int, int, int]:
    """Two adjacent ranges of cells that err in opposite directions: start, cut and end."""
    difference, (start, end) = _difference(cells), _worst(cells)
    if difference[end] < difference[start]:
        difference = -difference
    before = int(difference[: start + 1].argmax())
    after = end + int(difference[end:].argmin())
    if difference[before] - difference[start] > difference[end] - difference[after]:
        return before, start, end
    return start, end, after


def _stretch(cells: ScoreCells, start: int, end: int) -> Stretch:
    """The range of the cells ``start:end``."""
    low, high = float(cells.score[start]), float(cells.score[end - 1])
    means = _means(cells, start, end)
    return Stretch(low, high, *means, is_first=start == 0, is_last=end == len(cells))


def _means(cells: ScoreCells, start: int, end: int) -> tuple[float, float]:
    """Mean score and observed frequency of the cells ``start:end``."""
    weight = cells.cumulative_weight[end] - cells.cumulative_weight[start]
    stated = (cells.cumulative_score[end] - cells.cumulative_score[start]) / weight
    observed = (cells.cumulative_positive[end] - cells.cumulative_positive[start]) / weight
    return float(stated), float(observed)
