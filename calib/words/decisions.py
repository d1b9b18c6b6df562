"""What is decided, what calibration changes about it, and where scores are useful."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib.analysis.decisions import Costs, DecisionTable, ExpectedCounts, NetBenefit
from calib.analysis.decisions.counted import (
    Counted,
    counted_decisions,
    printed_costs,
)
from calib.numerics.arrays import FloatArray
from calib.text import (
    count,
    interval,
    level,
    number,
    score_percent,
    signed,
    significant,
)


def headline(
    decided: DecisionTable, shown: Sequence[str], *, weighted: bool, planned: bool = False
) -> str:
    """What the errors cost at the threshold, before and after calibration."""
    at = f"At a threshold of {score_percent(decided.costs.threshold)}"
    if decided.costs.capacity is not None:
        share = significant(100.0 * decided.costs.capacity)
        at = f"If the highest {share}% are flagged"
    (before, *after), n_rows = costs_of(decided, shown), count(decided.reference_rows)
    if what_costs(decided.costs) == "wrong decisions":
        by_weight = ", counted by weight," if weighted else ""
        now = f"{before} of {n_rows} decisions{by_weight} {'is' if before == '1' else 'are'} wrong"
    else:
        now = f"errors cost {before} per {n_rows} rows"
    if not after:
        return f"{at}, {now}."
    calibration = "calibration of all rows" if planned else "calibration"
    if after[0] == before:
        return f"{at}, {now}, before and after {calibration}."
    return f"{at}, {now}, and {after[0]} after {calibration}."


def changes_decisions(decided: DecisionTable, shown: Sequence[str]) -> bool:
    """Whether the calibrator changes the cost of the decisions significantly."""
    if len(shown) < 2:
        return False
    change = decided.methods[shown[1]].change
    return change.low > 0.0 or change.high < 0.0


def advice(decided: DecisionTable, flagged: ExpectedCounts, shown: Sequence[str]) -> str:
    """Whether decisions need calibration, and whether predicted numbers of positives do."""
    if len(shown) < 2:
        return ""
    if decided.methods[shown[1]].change.high < 0.0:
        return "Decide by the calibrated scores."
    corrects = judged(flagged, shown[0]) and not judged(flagged, shown[1])
    use = "Use calibrated scores to estimate how many are positive"
    if changes_decisions(decided, shown):
        said = "Decide by the uncalibrated scores"
        return f"{said}. {use}." if corrects else f"{said}."
    if corrects:
        return f"{use}."
    here = "threshold" if decided.costs.capacity is None else "capacity"
    return f"There is no evidence that calibration improves decisions at this {here}."


def decision_sentence(decided: DecisionTable, shown: Sequence[str], *, weighted: bool) -> str:
    """What is decided of a round number of rows, before and after calibration."""
    before, *after = (
        (printed(one.flagged, one), printed(one.missed, one))
        for one in counted_decisions(decided, shown).values()
    )
    n_rows = count(decided.reference_rows) + (" rows, counted by weight," if weighted else " rows")
    flagged = before[0]
    if decided.costs.capacity is None:
        threshold = score_percent(decided.costs.threshold)
        flagged = f"the {before[0]} with a score of at least {threshold}"
    lead = f"Of {n_rows} you would flag {flagged} and miss {before[1]}"
    positives = f"positive{'' if before[1] == '1' else 's'}"
    calibrated = ", before and after calibration" if after else ""
    if after and after[0] != before:
        n, missed = after[0]
        calibrated = f"; after calibration you would flag {n} and miss {missed}"
    return f"{lead} {positives}{calibrated}."


def printed(value: FloatArray, one: Counted) -> str:
    """A number of rows at the threshold, with the decimals of its method."""
    return number(float(value[0]), int(one.digits[0]))


def rule(decided: DecisionTable) -> str:
    """Where the threshold comes from."""
    costs = decided.costs
    if costs.capacity is not None:
        share = significant(100.0 * costs.capacity)
        return f"The {share}% of rows with the highest scores are flagged."
    ratio = f"{costs.false_negative:g} : {costs.false_positive:g}"
    default = " unless you change them" if costs.false_negative == costs.false_positive else ""
    threshold = score_percent(costs.threshold)
    return f"The threshold of {threshold} follows from your costs ({ratio}{default})."


def change_sentence(decided: DecisionTable, shown: Sequence[str]) -> str:
    """What calibration changes about the cost in the headline, with its interval."""
    if len(shown) < 2:
        return ""
    n_rows = decided.reference_rows
    change = decided.methods[shown[1]].change.scaled(n_rows)
    costs, digits = printed_costs([*counted_decisions(decided, shown).values()])
    bounds = f"{level(decided.confidence_level)} CI {interval(change, digits, sign=True)}"
    significance = "significant" if changes_decisions(decided, shown) else "not significant"
    size = signed(costs[1] - costs[0], digits)
    return f"Change {size} ({bounds}), {significance}."


def judged(counts: ExpectedCounts, key: str) -> str:
    """Whether a method expects significantly too many positives, or too few."""
    excess = counts.excess[key]
    return "too few" if excess.low > 0.0 else "too many" if excess.high < 0.0 else ""


def useful(curves: NetBenefit, methods: Sequence[str]) -> str:
    """The thresholds at which methods are not worse than flagging all rows or nobody."""
    (is_range, before), *after = (_useful_where(curves, key) for key in methods)
    said = f"The scores are useful {'at thresholds ' if is_range else ''}{before}"
    if not after:
        return said
    if after[0] == (is_range, before):
        return f"{said}, before and after calibration"
    # The word is not said twice.
    word = "at thresholds " if after[0][0] and not is_range else ""
    return f"{said}; after calibration {word}{after[0][1]}"


def _useful_where(curves: NetBenefit, key: str) -> tuple[bool, str]:
    """Whether the thresholds at which a method is useful are a range, and which these are."""
    chosen = curves.shortfall(key) == 0.0
    # At a threshold of 0, every method flags all rows, which is not better than the next threshold.
    chosen[0] = chosen[1]
    if chosen.all():
        return False, "at all thresholds"
    if not chosen.any():
        return False, "at no threshold"
    at = np.flatnonzero(chosen)
    low, high = (score_percent(curves.threshold[i]) for i in at[[0, -1]])
    holes = at[-1] - at[0] + 1 - len(at)
    if holes > len(at):
        return False, f"at {len(at)} of {len(chosen)} tested thresholds"
    is_range = at[0] > 0 or at[-1] < len(chosen) - 1
    if at[0] == 0 and at[-1] == len(chosen) - 1:
        where = "at all thresholds"
    elif at[0] == 0:
        where = f"up to {high}"
    elif at[-1] == len(chosen) - 1:
        where = f"of at least {low}"
    else:
        where = f"from {low} to {high}"
    gaps = f", except {holes} of {at[-1] - at[0] + 1} tested" if holes else ""
    return is_range, f"{where}{gaps}"


def what_costs(costs: Costs) -> str:
    """What the cost of decisions counts, in words."""
    equal = costs.false_positive == costs.false_negative == 1.0
    return "wrong decisions" if equal else "cost of errors"


def costs_of(decided: DecisionTable, shown: Sequence[str]) -> list[str]:
    """What the errors of each method cost per round number of rows, with equal decimals."""
    costs, digits = printed_costs([*counted_decisions(decided, shown).values()])
    return [number(cost, digits) for cost in costs]
