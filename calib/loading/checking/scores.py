"""Checks of a score: is it a probability, and that of the right class?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.data.cells import ScoreCells, clearly_low_auc
from calib.data.file_options import Columns, Transform
from calib.loading.checking.mapped_rows import Rows
from calib.loading.checking.outcomes import MAX_LABEL_LENGTH, OutcomeFacts, positive_question
from calib.loading.checking.rows import FEW
from calib.loading.guessing.class_columns import telling_labels
from calib.loading.guessing.evidence import has_complement
from calib.loading.name_patterns import is_logarithm
from calib.loading.problems import Choice, Places, Problem, error, question, warning
from calib.numerics.arrays import FloatArray, IntArray, chunks
from calib.text import number, percent

# A score this far outside [0, 1] may still be meant as a probability.
OUTSIDE_TOLERANCE = 0.05
# Percentages that are spread over 0 to 100 have a hundredth of their values below 1. With this
# share or more beside values above 10, those below 1 may be on another scale.
MIN_MIXED_SHARE = 0.1
# Each problem is repaired by a transform, and has the text of a button.
CONVERSIONS: dict[str, tuple[Transform, str]] = {
    "slightly-outside": ("clip", "Clip to [0, 1]"),
    "logit": ("logit", "Apply the sigmoid"),
    "logarithms": ("exp", "Apply the exponential"),
    "ratings": ("tenths", "Divide by 10"),
    "percent": ("percent", "Divide by 100"),
    "thousandths": ("thousandths", "Divide by 1,000"),
    "logits": ("softmax", "Apply the softmax"),
}
# A logarithm of a probability of 1 may be rounded to a number just above 0.
LOGARITHM_TOLERANCE = 1e-6
# With a lower AUC, reversed scores or labels are likelier than a bad model. Closer to 0.5 the model
# may only be weak.
LOW_AUC = 0.4
# Counting scores in this many ranges usually shows, without a sort, that the AUC is not low.
N_RANGES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Scores outside [0, 1]: how many, and of rows in memory also where.

    `whole` says whether all scores are whole numbers, `n_fractions` how many lie between 0 and 1,
    and `n_highest` how many few rows have the highest one if all others are at most 100, as far as
    that is known.
    """

    count: int
    whole: bool
    n_fractions: int = 0
    n_highest: int = 0
    rows: Places | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScoreFacts:
    """What the checks of a score ask about the usable rows, in memory or in an engine.

    `right` has the rows by outcome and score if all scores are 0 or 1. `cells` counts rows without
    weights. If `may_be_reversed` is False, the AUC is known not to be low. `has_other_class` says
    whether another column has the scores of the other class, so that their order tells.
    """

    low: float
    high: float
    mean: float
    rate: float
    cells: Callable[[], ScoreCells]
    right: NDArray[np.integer] | None = None
    may_be_reversed: bool = True
    has_other_class: Callable[[], bool] = bool


def scores_of_rows(rows: Rows, of_outcome: OutcomeFacts) -> Iterator[Problem]:
    """Problems of the scores of rows in memory."""
    score = np.asarray(rows.of_usable(rows.score), dtype=np.float64)
    if not len(score):
        return
    low, high = float(score.min()), float(score.max())
    if low < 0.0 or high > 1.0:
        yield outside_problem(rows.mapping, low, high, _outside(rows))
        return
    if rows.partly:
        return
    outcome = rows.of_usable(rows.outcome)
    # Without a positive label, the outcome has the codes of its labels.
    binary = bool(outcome.min() >= 0 and outcome.max() <= 1)
    n_positive = int(np.count_nonzero(outcome))
    pairs = n_positive * (len(outcome) - n_positive) if binary else 0
    right = None
    if not ((score != 0.0) & (score != 1.0)).any():
        counts = np.bincount(2 * outcome + score.astype(np.int64), minlength=4)[:4]
        right = counts.reshape(2, 2)
    facts = ScoreFacts(
        low=low,
        high=high,
        mean=float(score.mean()),
        rate=float(outcome.mean()),
        cells=lambda: ScoreCells.from_arrays(outcome, score),
        right=right,
        # A lower bound of the AUC usually shows, without a sort, that the scores are not reversed.
        may_be_reversed=pairs > 0
        and _auc_bound(outcome, score, pairs) < clearly_low_auc(len(outcome), pairs),
        has_other_class=lambda: has_complement(rows.frame, str(rows.mapping.score)),
    )
    yield from score_problems(of_outcome, facts)


def _outside(rows: Rows) -> Outside:
    outside = rows.usable & ((rows.score < 0.0) | (rows.score > 1.0))
    score = rows.of_usable(rows.score)
    highest = score == score.max()
    # Numbers such as 999 stand for missing ones in few rows.
    is_code = highest.mean() < FEW and score[~highest].max(initial=0.0) <= 100.0
    return Outside(
        count=int(outside.sum()),
        whole=bool((score % 1.0 == 0.0).all()),
        n_fractions=int(((score > 0.0) & (score < 1.0)).sum()),
        n_highest=int(highest.sum()) if is_code else 0,
        rows=rows.places(outside),
    )


def score_problems(of_outcome: OutcomeFacts, facts: ScoreFacts) -> Iterator[Problem]:
    """Problems of scores in [0, 1], and of their relation to the outcome."""
    mapping = of_outcome.mapping
    if facts.low == facts.high:
        yield warning("constant", column=mapping.score, value=facts.low)
        return
    if mapping.transform == "none" and is_logarithm(str(mapping.score)):
        yield warning("no-logarithms", column=mapping.score)
    if facts.right is not None:
        yield _labels_only(mapping, facts.right)
    of_classes = list(_reversed(of_outcome, facts)) or list(_unnamed_class(of_outcome, facts))
    yield from of_classes
    if not any(problem.severity == "question" for problem in of_classes):
        yield from positive_question(of_outcome, facts.rate, facts.mean)


def outside_problem(mapping: Columns, low: float, high: float, outside: Outside) -> Problem:
    """Make the error about scores outside [0, 1], and the conversion that repairs them."""
    given: dict[str, Any] = {
        "column": mapping.score,
        "count": outside.count,
        "low": low,
        "high": high,
        "rows": outside.rows,
    }
    near = low >= -OUTSIDE_TOLERANCE and high <= 1.0 + OUTSIDE_TOLERANCE
    logarithms = high <= LOGARITHM_TOLERANCE and is_logarithm(str(mapping.score))
    if mapping.transform != "none" or mapping.swap:
        return unfit_transform("outside", mapping, **given)
    if logarithms:
        return converted("logarithms", mapping, **given)
    if near:
        return converted("slightly-outside", mapping, **given)
    if high <= 0.0:
        exp = Choice("Logarithms of probabilities: apply the exponential", {"transform": "exp"})
        logit = Choice("Log-odds: apply the sigmoid", {"transform": "logit"})
        return error("which-logarithms", choices=(exp, logit), **given)
    if low < 0.0:
        return converted("logit", mapping, **given)
    if high <= 10.0:
        # Scores of at most 10 could also be odds or ratings.
        return converted("ratings" if outside.whole else "percent.perhaps", mapping, **given)
    return _above_10(mapping, outside, given)


def _above_10(mapping: Columns, outside: Outside, given: Mapping[str, Any]) -> Problem:
    """Make the error about percentages, larger numbers, or a code such as 999."""
    high, n_fractions = given["high"], outside.n_fractions
    if high > 100.0 and outside.n_highest:
        return error("missing-code", n=outside.n_highest, **given)
    if high > 1000.0:
        return error("not-probabilities", **given)
    if high > 100.0:
        return converted("thousandths", mapping, **given)
    if n_fractions > MIN_MIXED_SHARE * outside.count:
        choice = Choice("All are percentages: divide by 100", {"transform": "percent"})
        return error("mixed-scales", n_fractions=n_fractions, choices=(choice,), **given)
    return converted("percent", mapping, **given)


def unfit_transform(key: str, mapping: Columns, **facts: Any) -> Problem:
    """Make the error that a transform has put scores outside [0, 1]."""
    none = replace(mapping, transform="none", swap=False)
    given = facts | {"transform": mapping.transform}
    return error(key, repair=none, label="Undo the transform", **given)


def converted(key: str, mapping: Columns, **facts: Any) -> Problem:
    """Make the error about scores that a transform turns into probabilities."""
    transform, label = CONVERSIONS[key.partition(".")[0]]
    return error(key, repair=replace(mapping, transform=transform), label=label, **facts)


def _labels_only(mapping: Columns, counts: NDArray[np.integer]) -> Problem:
    """Make the error that all scores are 0 or 1: there is no probability to calibrate."""
    (negative, _), (_, positive) = counts.tolist()
    total, right = int(counts.sum()), negative + positive
    n_negative, n_positive = counts.sum(axis=1).tolist()
    return error(
        "labels-only.outcome" if right == total else "labels-only",
        column=mapping.score,
        right=right,
        total=total,
        share=right / total,
        positive=positive,
        n_positive=n_positive,
        negative=negative,
        n_negative=n_negative,
    )


def _reversed(of_outcome: OutcomeFacts, facts: ScoreFacts) -> Iterator[Problem]:
    """Warn if positive rows have lower scores, or ask what is reversed if columns were guessed."""
    if not facts.may_be_reversed or not (cells := facts.cells()).is_reversed:
        return
    mapping = of_outcome.mapping
    given = {"auc": cells.auc, "column": mapping.score}
    if cells.auc < LOW_AUC and {"score", "positive"} & set(mapping.guessed):
        yield _which_class(of_outcome, cells, given)
        return
    yield warning(
        "swapped" if mapping.predicted is None else "swapped.predicted",
        repair=replace(mapping, swap=not mapping.swap),
        label="Swap the classes",
        **given,
    )


def _which_class(of_outcome: OutcomeFacts, cells: ScoreCells, given: Mapping[str, Any]) -> Problem:
    """Ask whether the scores or the labels are reversed. Each answer shows its rate and AUC."""
    mapping, rate, auc = of_outcome.mapping, cells.base_rate, cells.auc
    scores = "Do not use 1 − score" if mapping.swap else "Use 1 − score"
    choices = [_answer(scores, rate, 1.0 - auc, {"swap": not mapping.swap})]
    other = of_outcome.other_label if mapping.predicted is None else ""
    if other:
        choices.append(_answer(_as_positive(other), 1.0 - rate, 1.0 - auc, {"positive": other}))
    arguments = {"score": mapping.score, "positive": mapping.positive}
    unchanged = {role: value for role, value in arguments.items() if value is not None}
    choices.append(_answer("Analyse as it is", rate, auc, unchanged))
    key = "which-class" if mapping.predicted is None else "which-class.predicted"
    return question(key, choices=choices, other=other, **given)


def _unnamed_class(of_outcome: OutcomeFacts, facts: ScoreFacts) -> Iterator[Problem]:
    """Ask which class is positive, if only the size of the scores tells."""
    mapping, other, labels = of_outcome.mapping, of_outcome.other_label, of_outcome.labels
    if "positive" not in mapping.guessed or mapping.swap or telling_labels(labels):
        return
    if not other or facts.rate in (0.0, 1.0) or facts.has_other_class():
        return
    cells, label = facts.cells(), str(mapping.positive)
    rate, auc = cells.base_rate, cells.auc
    # The score is named too, so that the low AUC of the second answer is not asked about.
    exchanged = {"positive": other, "score": mapping.score}
    yield question(
        "which-class.labels",
        outcome=mapping.outcome,
        labels=labels.names,
        column=mapping.score,
        choices=(
            _answer(_as_positive(label), rate, auc, {"positive": label}),
            _answer(_as_positive(other), 1.0 - rate, 1.0 - auc, exchanged),
        ),
    )


def _as_positive(label: str) -> str:
    return f"Positive class: {label[:MAX_LABEL_LENGTH]}"


def _answer(action: str, rate: float, auc: float, arguments: Mapping[str, Any]) -> Choice:
    return Choice(f"{action} ({percent(rate)} positive, AUC {number(auc, 3)})", arguments)


def _auc_bound(outcome: IntArray, score: FloatArray, pairs: int) -> float:
    """A lower bound of the AUC, for which pairs in the same range of scores count as wrong."""
    count = np.zeros(2 * N_RANGES)
    for part in chunks(len(score)):
        code = 2 * (score[part] * (N_RANGES - 1)).astype(np.int64) + outcome[part]
        count += np.bincount(code, minlength=2 * N_RANGES)
    below = np.cumsum(count[0::2]) - count[0::2]
    return float(count[1::2] @ below) / pairs
