"""A recommendation in words: one sentence, and a sentence of each reason."""

from __future__ import annotations

import re
from collections.abc import Mapping

from calib.calibrators import CALIBRATORS
from calib.crossfit.cross_fitted import (
    CLEAR_GAIN,
    MAIN_WEIGHT,
    MIN_ROWS_TO_PREFER_THE_BEST,
    lowest_first,
)
from calib.numerics.intervals import Estimate
from calib.numerics.score_grid import written
from calib.text import adding_up, decimals, interval, level, number, signed

NAMES_CALIBRATION = re.compile("scaling|calibrat", re.IGNORECASE)
# Smaller differences of log losses are not visible in five decimals: the losses are equal.
MIN_VISIBLE_DIFFERENCE = 5e-6
MAX_DIFFERENCE_DIGITS = 5
BEST_BY_CHANCE = "With few rows the method with the lowest loss is often best by chance"
# This says in words what `choose` does.
RULE = (
    f"From {MIN_ROWS_TO_PREFER_THE_BEST:,} rows on, or without a stack, the simplest method is "
    f"recommended whose log loss, summed over all rows, is at most {CLEAR_GAIN:g} above the "
    "lowest. With fewer rows it is the stack, or the calibrator that has at least "
    f"{level(MAIN_WEIGHT)} of its weight; the scores are kept if the stack gains too little."
)


def calibration_by(name: str) -> str:
    """Calibration by a method as a noun: "Logistic calibration", "Platt scaling"."""
    return name if NAMES_CALIBRATION.search(name) else f"{name} calibration"


def why_kept(best: str, change: Estimate, level: float, *, by_stack: bool, step: float) -> str:
    """Why the scores are kept, although the best method changes the loss by this."""
    gain = interval_text(change, level)
    if change.high >= 0.0:
        return f"Its gain is not significant ({gain})."
    if step:
        return f"Its gain ({gain}) can be the rounding of the scores to steps of {written(step)}."
    if by_stack and best != "stack":
        chance = f"{BEST_BY_CHANCE}, and the stack gains little or nothing."
        return f"Its gain ({gain}) may be chance. {chance}"
    return f"Its gain is small ({gain})."


def why_not_best(
    chosen: str, best: str, difference: Estimate, level: float, *, by_stack: bool
) -> str:
    """Why a calibrator is recommended that is not the one with the lowest loss."""
    chosen_name, best_name = CALIBRATORS[chosen].short_label, CALIBRATORS[best].short_label
    simpler = CALIBRATORS[chosen].simplicity < CALIBRATORS[best].simplicity
    and_simpler = f", and {chosen_name} is simpler" if simpler else ""
    if _is_same(difference) and (simpler or not by_stack):
        return f"{best_name} has an equal loss{and_simpler}."
    lower = _size(difference)
    compared = f"{best_name} is lower by {lower}{_bounds_text(difference, level)}."
    if not by_stack:
        return f"{compared} The difference is small{and_simpler}."
    if chosen == "stack":
        return f"{compared} {BEST_BY_CHANCE}, and {chosen_name} is a mean of several methods."
    if simpler and difference.low <= 0.0:
        return f"{best_name} is lower by {lower}, not significantly, and {chosen_name} is simpler."
    if best == "stack":
        return f"{compared} {chosen_name} is simpler, and has most of the weight in the stack."
    return f"{compared} {BEST_BY_CHANCE}, and {chosen_name} has most of the weight in the stack."


def advice_sentence(
    chosen: str,
    losses: Mapping[str, Estimate],
    change: Estimate,
    loss: str = "held-out log loss",
    level: float = 0.95,
) -> str:
    """The recommendation of a method in one sentence; `change` is from the uncalibrated scores."""
    if chosen == "uncalibrated":
        return f"Keep the uncalibrated scores: no calibrator clearly lowers {loss}."
    before, after = (losses[key].value for key in ("uncalibrated", chosen))
    changed = loss_change(before, after, change, level)
    return f"Recommended: {CALIBRATORS[chosen].label}. {loss.capitalize()} {changed}."


def loss_change(before: float, after: float, change: Estimate, confidence: float) -> str:
    """Two log losses, and their change with its interval."""
    first, last, difference = adding_up(before, after, change, _digits(change))
    return f"{first} → {last} (change {difference}{_bounds_text(change, confidence)})"


def runner_up(
    losses: Mapping[str, Estimate], to_best: Mapping[str, Estimate], best: str, level: float
) -> list[str]:
    others = [key for key in losses if key not in (best, "uncalibrated")]
    if best == "uncalibrated" or not others:
        return []
    second = lowest_first({key: losses[key] for key in others})[0]
    first, next_one, difference = CALIBRATORS[best], CALIBRATORS[second], to_best[second]
    if _is_same(difference):
        return [f"{next_one.short_label} has an equal loss."]
    if difference.low > 0.0:
        finding = "significantly worse"
    else:
        simpler = first.simplicity < next_one.simplicity
        and_simpler = f"; {first.short_label} is simpler" if simpler else ""
        finding = f"not significantly different{and_simpler}"
    return [f"Runner-up: {next_one.short_label} ({interval_text(difference, level)}), {finding}."]


def _is_same(difference: Estimate) -> bool:
    return max(abs(difference.low), abs(difference.high)) < MIN_VISIBLE_DIFFERENCE


def _size(difference: Estimate) -> str:
    """A positive difference; one that would be printed as 0 is less than the last digit."""
    digits = _digits(difference)
    if not round(difference.value, digits):
        return f"less than {number(10.0**-digits, digits)}"
    return number(difference.value, digits)


def _digits(change: Estimate) -> int:
    """Digits of the table, or more if both ends of the interval would look equal."""
    digits = decimals(change)
    if number(change.low, digits) != number(change.high, digits):
        return digits
    return decimals(change, most=MAX_DIFFERENCE_DIGITS)


def interval_text(change: Estimate, confidence: float) -> str:
    """A change with its interval, and the digits that these support."""
    return f"{signed(change.value, _digits(change))}{_bounds_text(change, confidence)}"


def _bounds_text(change: Estimate, confidence: float) -> str:
    """What follows a change in a sentence: its interval, or "" if it has none."""
    bounds = interval(change, _digits(change), sign=True)
    return f", {level(confidence)} CI {bounds}" if bounds else ""
