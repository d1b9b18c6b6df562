"""Whether an answer holds: in slices, over time, with any number of bins, and for decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from calib import text
from calib.analysis import Analysis
from calib.analysis.decisions import DecisionTable
from calib.analysis.summary import Parts
from calib.curves.functions import MAX_BINS, MIN_BINS, Sensitivity
from calib.words.decisions import costs_of, what_costs

Mark = Literal["✓", "✕", "–"]
HOLDS: Mark = "✓"
FAILS: Mark = "✕"
OPEN: Mark = "–"
LEGEND = "✓ no error found · ✕ error found, or worse · – not tested, or not significant"
# A calibrated model has an error with 5% of the numbers of bins on average, and with most of them
# only if its rows are unusual.
FEW_BINNINGS, MOST_BINNINGS = 0.1, 0.5
AUC_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Check:
    """One line of "Does it hold?".

    Attributes
    ----------
    name : str
    page : str
        The page with more about it.
    words : str
        At most six words.
    now, after : str
        Before and after what is recommended: a mark, or a value.
    about : str
        A sentence with the details, or "".
    column : str
        The column whose slices are counted, which the page then shows, or "".
    """

    name: str
    page: str
    words: str
    now: str
    after: str
    about: str = ""
    column: str = ""


def of_parts(parts: Parts, *, of_time: bool) -> Check:
    """In how many slices of the worst column, or periods, the scores are miscalibrated.

    The counts are those that the page Slices shows of the same column.
    """
    name = "Time" if of_time else "Slices"
    chosen = [i for i, held in enumerate(parts.before) if (held.unit != "slice") == of_time]
    if not chosen:
        none = "no dates in these data" if of_time else "no columns of slices"
        return Check(name, "Slices", none, OPEN, OPEN)
    worst = max(chosen, key=lambda i: _order(parts, i))
    held, then = parts.before[worst], parts.after[worst] if parts.after else None
    if not held.tested:
        return Check(name, "Slices", "too few rows to test", OPEN, OPEN)
    column = text.shortened(held.column)
    units = f"{held.unit}s" if of_time and held.tested > 1 else held.unit if of_time else ""
    counted = f"{held.tested:,} {units}".rstrip()
    words = f"{held.wrong:,} of {counted} off" if held.wrong else f"none of {counted} off"
    words = words if of_time else f"{column}: {words}"
    if then is not None and (held.wrong or then.wrong):
        words += f" → {then.wrong:,}"
    now, after = FAILS if held.wrong else HOLDS, OPEN
    if then is not None:
        after = FAILS if then.wrong else HOLDS
    if parts.unchecked and not of_time:
        # Columns that were not tested may fail.
        now, after = (OPEN if mark == HOLDS else mark for mark in (now, after))
    about = f"{name}: {_by_column(parts, chosen)}."
    if of_time and parts.plan is not None:
        since = text.day_words(parts.plan.since)
        return Check(name, "Slices", f"changed on {since}", FAILS, after, about)
    return Check(name, "Slices", words, now, after, about, "" if of_time else held.column)


def _order(parts: Parts, i: int) -> tuple[float, bool, float, int]:
    """A column is worse if more of its slices fail afterwards, and then if more fail now.

    Among those that hold afterwards, the column of the plan is the cause of what the others show.
    """
    held, after = parts.before[i], parts.after[i].share if parts.after else 0.0
    is_cause = parts.plan is not None and held.column == parts.plan.plan.column
    return after, is_cause, held.share, held.tested


def _by_column(parts: Parts, chosen: Sequence[int]) -> str:
    """The numbers of each column, such as "plan 1 of 3, after calibration 0"."""
    said = []
    for i in chosen:
        held = parts.before[i]
        column = text.plain(text.shortened(held.column))
        then = f", after calibration {parts.after[i].wrong:,}" if parts.after else ""
        said.append(f"{column} {held.wrong:,} of {held.tested:,}{then}")
    since = f" of the rows since {text.day_words(parts.plan.since)}" if parts.plan else ""
    more = f"; {text.plural(parts.unchecked, 'column')} not tested" if parts.unchecked else ""
    return f"miscalibrated{since} are {'; '.join(said)}{more}"


def of_bins(sensitivities: Sequence[Sensitivity]) -> Check:
    """With which share of the numbers of bins the ECE finds an error, before and after."""
    marks = [_of_share(one.share) for one in sensitivities]
    if not sensitivities:
        return Check("Bins", "Reliability", "too few rows to test", OPEN, OPEN)
    shares = " → ".join(text.percent(one.share, 0) for one in sensitivities)
    about = (
        f"The ECE is tested with {MIN_BINS} to {MAX_BINS} uniform or quantile bins: this share of "
        "them finds an error. Calibrated scores have 5% on average."
    )
    words = f"error in {shares} of binnings"
    return Check("Bins", "Reliability", words, marks[0], [*marks, OPEN][1], about)


def _of_share(share: float) -> Mark:
    if share <= FEW_BINNINGS:
        return HOLDS
    return FAILS if share >= MOST_BINNINGS else OPEN


def of_decisions(decided: DecisionTable | None, method: str) -> Check:
    """The expected cost before and after what is recommended, at the costs of Decisions."""
    if decided is None or method not in decided.methods:
        return Check("Decisions", "Decisions", "nothing to compare", OPEN, OPEN)
    change = decided.methods[method].change
    after: Mark = HOLDS if change.high < 0.0 else FAILS if change.low > 0.0 else OPEN
    costs = " → ".join(costs_of(decided, ("uncalibrated", method)))
    counted = what_costs(decided.costs)
    short = "wrong" if counted == "wrong decisions" else "cost"
    n = decided.reference_rows
    at = text.level(decided.confidence_level)
    changed = text.interval(change, text.decimals(change), sign=True)
    about = f"{counted.capitalize()} per row change by {changed} ({at} CI)."
    return Check("Decisions", "Decisions", f"{costs} {short} of {n:,}", OPEN, after, about)


def of_ranking(analysis: Analysis, parts: Parts, about: str = "") -> Check:
    """The AUC before and after, which calibration hardly changes."""
    if parts.plan is not None:
        values = [cells.auc for cells in parts.plan.cells[1:]]
    else:
        results = [analysis.uncalibrated, *([analysis.advised] if analysis.advised else [])]
        values = [result.metrics["auc"].value for result in results]
    areas = [text.number(v, AUC_DIGITS) if not math.isnan(v) else OPEN for v in values]
    now, after = [*areas, OPEN][:2]
    words = "AUC, 0.5 is no ranking"
    return Check("Ranking", "Decisions", words, now, "equal" if after == now else after, about)


def failing(checks: Sequence[Check]) -> tuple[str, ...]:
    """The names of what does not hold after what is recommended."""
    return tuple(check.name for check in checks if check.after == FAILS)
