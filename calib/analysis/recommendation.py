"""The recommendation: which calibrator to use, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calib.calibrators import CALIBRATORS
from calib.crossfit.estimates import simplest
from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import equal_weights
from calib.numerics.estimate import Estimate
from calib.text import decimals, interval, level, number, plural, signed

FEW_OF_A_CLASS = 100
# If rows with a score of exactly 0 or 1 that were wrong cause at least this share of the variance
# of a change of log loss, its interval depends on how log loss clips such scores.
MIN_DRIVING_SHARE = 0.5
# Smaller differences are not visible in any printed digit.
MIN_VISIBLE_DIFFERENCE = 5e-9


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Which calibrator to use.

    Attributes
    ----------
    method : str
        Key of the method. "uncalibrated": keep the scores. "": there are too few rows for a
        recommendation, or no calibrator was compared.
    sentence : str
        The recommendation in one sentence.
    reasons : tuple of str
        The evidence, one sentence each.
    """

    method: str
    sentence: str
    reasons: tuple[str, ...]


def too_few(cells: ScoreCells, outcomes: tuple[str, str]) -> str:
    """The rarer outcome and its number of rows, if these are fewer than 100 effective rows.

    Rows are counted as independent rows of equal weight [Kish], because repeated rows add no
    information.
    """
    total = np.array([cells.total_positive, cells.total_weight - cells.total_positive])
    square = np.array([cells.positive_sq.sum(), (cells.weight_sq - cells.positive_sq).sum()])
    effective = np.divide(total**2, square, out=np.zeros(2), where=square > 0.0)
    effective /= max(1.0, cells.design_effect)
    rarer = int(effective.argmin())
    count = round(float(effective[rarer]))
    if count >= FEW_OF_A_CLASS:
        return ""
    name = outcomes[rarer].removesuffix("s") if count == 1 else outcomes[rarer]
    same = cells.design_effect < 1.0 + 1e-9 and equal_weights(cells)
    return f"{count:,} {name}" if same else f"{count:,} {name} (effective number)"


def recommend(
    losses: Mapping[str, Estimate],
    to_best: Mapping[str, Estimate],
    changes: Mapping[str, Estimate],
    cells: ScoreCells,
    outcomes: tuple[str, str] = ("positives", "negatives"),
    loss: str = "held-out log loss",
    level: float = 0.95,
) -> Recommendation:
    """The simplest method that lowers the log loss and is not significantly worse than the best.

    `losses`, `to_best` and `changes` are those of `simplest`, `cells` those of the uncalibrated
    scores, and `outcomes` the names of positive and negative rows.
    """
    if few := too_few(cells, outcomes):
        reason = f"Only {few}; at least {FEW_OF_A_CLASS} are needed."
        return Recommendation("", "Not enough data to recommend a calibrator.", (reason,))
    if set(losses) <= {"uncalibrated"}:
        return Recommendation("", "No calibrator was compared.", ())
    best = min(losses, key=lambda key: losses[key].value)
    chosen = simplest(losses, to_best, changes)
    best_name, chosen_name = CALIBRATORS[best].label, CALIBRATORS[chosen].label
    lowest = f"Lowest {loss}: {best_name}, {number(losses[best].value)}."
    if chosen == best:
        reasons = [lowest, *_runner_up(losses, to_best, best, level)]
    elif changes[best].high >= 0.0:
        gain = interval_text(changes[best], level)
        reasons = [lowest, f"Its gain is not significant ({gain})."]
    elif _is_same(to_best[chosen]):
        reasons = [f"{best_name} has the same loss, and {chosen_name} is simpler."]
    else:
        difference = interval_text(to_best[chosen], level)
        reasons = [
            f"{chosen_name} minus {best_name}: {difference}. They are not significantly different, "
            f"and {chosen_name} is simpler."
        ]
    sentence = advice_sentence(chosen, losses, changes[chosen], loss, level)
    return Recommendation(chosen, sentence, tuple(reasons))


def driven_by_certain_rows(rows: BinaryView, change: FloatArray) -> tuple[str, ...]:
    """A sentence if few wrong scores of exactly 0 or 1 cause most of a change's uncertainty.

    `change` is that of the log loss of each entry of `rows`, from their uncalibrated scores.
    """
    too_low = (rows.score == 0.0) & rows.outcome
    too_high = (rows.score == 1.0) & ~rows.outcome
    certain = too_low | too_high
    deviation = change - np.average(change, weights=rows.weights)
    variance = rows.squared_weights * np.square(deviation)
    if not certain.any() or variance[certain].sum() < MIN_DRIVING_SHARE * variance.sum():
        return ()
    n = round(float(rows.counts[certain].sum()))
    score, outcome = ("0", "positive") if too_low.any() else ("1", "negative")
    if too_low.any() and too_high.any():
        score, outcome = "0 or 1", "wrong"
    was = "was" if n == 1 else "were"
    return (
        f"Most of the uncertainty is {plural(n, 'row')} with score {score} that {was} {outcome}.",
    )


def advice_sentence(
    chosen: str,
    losses: Mapping[str, Estimate],
    change: Estimate,
    loss: str = "held-out log loss",
    level: float = 0.95,
) -> str:
    """The recommendation of a method in one sentence; `change` is from the uncalibrated scores."""
    if chosen == "uncalibrated":
        return f"Keep the uncalibrated scores: no calibrator lowers {loss} significantly."
    digits = _digits(change)
    return (
        f"Recommended: {CALIBRATORS[chosen].name}. {loss.capitalize()} "
        f"{number(losses['uncalibrated'].value, digits)} → "
        f"{number(losses[chosen].value, digits)} "
        f"(change {interval_text(change, level)})."
    )


def _runner_up(
    losses: Mapping[str, Estimate], to_best: Mapping[str, Estimate], best: str, level: float
) -> list[str]:
    others = [key for key in losses if key not in (best, "uncalibrated")]
    if best == "uncalibrated" or not others:
        return []
    second = min(others, key=lambda key: losses[key].value)
    first, next_one, difference = CALIBRATORS[best], CALIBRATORS[second], to_best[second]
    if _is_same(difference):
        return [f"{next_one.label} has the same loss."]
    if difference.low > 0.0:
        finding = "significantly worse"
    else:
        simpler = first.simplicity < next_one.simplicity
        finding = "not significantly different" + (f"; {first.label} is simpler" if simpler else "")
    return [f"Runner-up: {next_one.label} ({interval_text(difference, level)}), {finding}."]


def _is_same(difference: Estimate) -> bool:
    return max(abs(difference.low), abs(difference.high)) < MIN_VISIBLE_DIFFERENCE


def _digits(change: Estimate) -> int:
    """Digits of the table, or more if both ends of the interval would look equal."""
    digits = decimals(change)
    if number(change.low, digits) != number(change.high, digits):
        return digits
    return decimals(change, most=8)


def interval_text(change: Estimate, confidence: float) -> str:
    """A change with its interval, and the digits that these support."""
    digits = _digits(change)
    bounds = interval(change, digits, sign=True)
    return f"{signed(change.value, digits)}, {level(confidence)} CI {bounds}"
