"""Checks of the scores: are they probabilities, and those of the right class or classes?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.data.cells import REVERSED, ScoreCells, clearly_low_auc
from calib.data.checks import ROW_SUM_TOLERANCE
from calib.loading.checking.classes import class_question
from calib.loading.checking.mapped_rows import Rows
from calib.loading.checking.outcomes import other_label, positive_question
from calib.loading.checking.rows import FEW, leave_out, parts
from calib.loading.columns import Labels
from calib.loading.file_options import ColumnMapping, Transform
from calib.loading.guessing.class_columns import Classes, rows_sum, shortened
from calib.loading.guessing.evidence import has_complement
from calib.loading.guessing.labels import telling_labels
from calib.loading.name_patterns import is_logarithm
from calib.loading.problems import Choice, Problem, error, note, question, warning
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, chunks
from calib.numerics.class_scores import LEAST_NORMAL_FLOAT
from calib.text import joined, listed, number, percent, plural, quoted, significant

# A score this far outside [0, 1] may still be meant as a probability.
OUTSIDE_TOLERANCE = 0.05
# Percentages that are spread over 0 to 100 have a hundredth of their values below 1. With this
# share or more beside values above 10, those below 1 may be on another scale.
MIN_MIXED_SHARE = 0.1
# Each problem is repaired by a transform, and has the text of a button and a sentence.
CONVERSIONS: dict[str, tuple[Transform, str, str]] = {
    "slightly-outside": (
        "clip",
        "Clip to [0, 1]",
        "They are only slightly outside the range: clip them, or look for the cause.",
    ),
    "logit": (
        "logit",
        "Apply the sigmoid",
        "They look like log-odds or raw decision scores: the sigmoid turns log-odds into "
        "probabilities; for raw scores it is a first approximation.",
    ),
    "logarithms": (
        "exp",
        "Apply the exponential",
        "They look like logarithms of probabilities, of which the exponential is the probability.",
    ),
    "ratings": (
        "tenths",
        "Divide by 10",
        "They look like ratings or classes, not probabilities. Choose the column that holds the "
        "probability; or divide ratings by 10 and calibrate them.",
    ),
    "percent": ("percent", "Divide by 100", ""),
    "thousandths": (
        "thousandths",
        "Divide by 1,000",
        "They may be scores from 0 to 1,000: divide them by 1,000 and calibrate them; or choose "
        "the column that holds the probability.",
    ),
    "logits": ("softmax", "Apply the softmax", ": the softmax turns them into probabilities."),
}
# A logarithm of a probability of 1 may be rounded to a number just above 0.
LOGARITHM_TOLERANCE = 1e-6
# With a lower AUC, reversed scores or labels are likelier than a bad model. Closer to 0.5 the model
# may only be weak.
LOW_AUC = 0.4
PROBABILITIES = "Choose the column of probabilities; in scikit-learn, predict_proba returns them."
MAX_LABEL_LENGTH = 30  # Longer labels are cut in the text of a button.
# Counting scores in this many ranges usually shows, without a sort, that the AUC is not low.
N_RANGES = 4096


def score_problems(rows: Rows) -> Iterator[Problem]:
    """Problems of the range of the scores and of their relation to the outcome."""
    score = np.asarray(rows.of_usable(rows.score), dtype=np.float64)
    if not len(score):
        return
    low, high = float(score.min()), float(score.max())
    if low < 0.0 or high > 1.0:
        yield _outside(rows, low, high)
    elif low == high:
        yield constant(rows.mapping, low)
    else:
        if rows.mapping.transform == "none" and is_logarithm(str(rows.mapping.score)):
            yield no_logarithms(rows.mapping)
        yield from _labels_only(rows, score)
        of_classes = [*_swapped(rows, score)] or [*_unnamed_class(rows, score)]
        yield from of_classes
        if not any(problem.severity == "question" for problem in of_classes):
            yield from positive_question(rows, float(score.mean()))


def _outside(rows: Rows, low: float, high: float) -> Problem:
    outside = rows.usable & ((rows.score < 0.0) | (rows.score > 1.0))
    whole = bool((rows.score[rows.usable] % 1.0 == 0.0).all())
    where = f", first in {rows.where(outside)}"
    n_fractions = int((rows.usable & (rows.score > 0.0) & (rows.score < 1.0)).sum())
    score = rows.score[rows.usable]
    n_highest = int((score == high).sum())
    # Numbers such as 999 stand for missing ones in few rows.
    is_code = n_highest < FEW * len(score) and score[score < high].max(initial=0.0) <= 100.0
    return outside_problem(
        rows.mapping,
        int(outside.sum()),
        low,
        high,
        whole=whole,
        where=where,
        n_fractions=n_fractions,
        n_highest=n_highest if is_code else 0,
    )


def outside_problem(
    mapping: ColumnMapping,
    n: int,
    low: float,
    high: float,
    *,
    whole: bool,
    where: str = "",
    n_fractions: int = 0,
    n_highest: int = 0,
) -> Problem:
    """Make the error about `n` scores outside [0, 1], and the conversion that repairs them.

    `whole` says whether all scores are whole numbers, `n_fractions` how many lie between 0 and 1,
    and `n_highest` how many few rows have the highest one if all others are at most 100, as far as
    that is known.
    """
    ends = f"from {significant(low, 4)} to {significant(high, 4)}"
    lead = (
        f"Column {quoted(mapping.score)} has {plural(n, 'value')} outside [0, 1] ({ends}){where}. "
    )
    near = low >= -OUTSIDE_TOLERANCE and high <= 1.0 + OUTSIDE_TOLERANCE
    logarithms = high <= LOGARITHM_TOLERANCE and is_logarithm(str(mapping.score))
    if problem := _transformed_or_near(mapping, lead, near=near and not logarithms):
        return problem
    if logarithms:
        return _converted(mapping, "logarithms", lead)
    if high <= 0.0:
        return _which_logarithms(lead)
    if low < 0.0:
        return _converted(mapping, "logit", lead)
    if high > 100.0:
        return _above_100(mapping, lead, high, n_highest)
    if high <= 10.0 and whole:
        return _converted(mapping, "ratings", lead)
    if high > 10.0 and n_fractions > MIN_MIXED_SHARE * n:
        return _mixed_scales(lead, n_fractions)
    if high > 10.0:
        text = lead + "They look like percentages: divide them by 100."
        return _converted(mapping, "percent", text)
    # Scores of at most 10 could also be odds or ratings.
    text = "If they are percentages, divide them by 100; else choose another column."
    return _converted(mapping, "percent", lead + text)


def _above_100(mapping: ColumnMapping, lead: str, high: float, n_highest: int) -> Problem:
    """Make the error about scores that are no percentages, or about a code such as 999."""
    if n_highest:
        text = (
            f"{lead}{plural(n_highest, 'row')} {'has' if n_highest == 1 else 'have'} "
            f"{significant(high, 4)} and all others at most 100, so it is probably a code for a "
            "missing score. Empty these cells in the file, and read it again."
        )
        return error("missing-code", text)
    if high <= 1000.0:
        return _converted(mapping, "thousandths", lead)
    text = (
        f"{lead}They are not probabilities. Choose the column that holds the probability, or write "
        "the probability of each row, or its log-odds, into a new column."
    )
    return error("not-probabilities", text)


def _mixed_scales(lead: str, n_fractions: int) -> Problem:
    """Ask whether scores between 0 and 1 beside larger ones are percentages too."""
    text = (
        f"They look like percentages, and stand beside {plural(n_fractions, 'value')} between 0 "
        "and 1. If all values are percentages, divide all by 100. If those between 0 and 1 are "
        "probabilities already, divide only the others by 100 in the file, and read it again."
    )
    choice = Choice("All are percentages: divide by 100", {"transform": "percent"})
    return error("mixed-scales", lead + text, choices=(choice,))


def _which_logarithms(lead: str) -> Problem:
    """Ask how scores that are never above 0 become probabilities."""
    choices = (
        Choice("Logarithms of probabilities: apply the exponential", {"transform": "exp"}),
        Choice("Log-odds: apply the sigmoid", {"transform": "logit"}),
    )
    text = "None is above 0: they may be logarithms of probabilities, or log-odds. Which is it?"
    return error("which-logarithms", lead + text, choices=choices)


def _transformed_or_near(mapping: ColumnMapping, lead: str, *, near: bool) -> Problem | None:
    """The error about scores that a transform put outside [0, 1], or that are nearly inside."""
    if mapping.transform != "none" or mapping.swap:
        none = replace(mapping, transform="none", swap=False)
        text = lead + f"The transform {mapping.transform!r} does not fit these scores."
        return error("outside", text, none, "Undo the transform")
    return _converted(mapping, "slightly-outside", lead) if near else None


def _converted(mapping: ColumnMapping, code: str, lead: str) -> Problem:
    transform, label, text = CONVERSIONS[code]
    return error(code, lead + text, replace(mapping, transform=transform), label)


def constant(mapping: ColumnMapping, value: float) -> Problem:
    """Warn that all scores have the same value."""
    return warning(
        "constant",
        f"All scores of {quoted(mapping.score)} are {significant(value, 4)}. Only their "
        "mean can be compared with the outcome; choose another column if this is not intended.",
    )


def _labels_only(rows: Rows, score: FloatArray) -> Iterator[Problem]:
    if ((score != 0.0) & (score != 1.0)).any():
        return
    outcome = rows.of_usable(rows.outcome)
    counts = np.bincount(2 * outcome + score.astype(np.int64), minlength=4)[:4]
    yield labels_only(rows.mapping, counts.reshape(2, 2))


def no_logarithms(mapping: ColumnMapping) -> Problem:
    """Warn that scores are probabilities although their name says that they are logarithms."""
    return warning(
        "no-logarithms",
        f"Column {quoted(mapping.score)} has the name of logarithms of probabilities, but its "
        "values lie in [0, 1]. They are read as probabilities.",
    )


def labels_only(mapping: ColumnMapping, counts: NDArray[np.integer]) -> Problem:
    """Make the error that all scores are 0 or 1: there is no probability to calibrate.

    `counts` are the rows by outcome and score.
    """
    name, total = quoted(mapping.score), int(counts.sum())
    right = int(counts[0, 0] + counts[1, 1])
    if right == total:
        text = f"Column {name} equals the outcome in every row: it is the label, not a score."
    else:
        text = (
            f"Column {name} holds only 0 and 1: predicted labels, not probabilities. They are "
            f"right in {right:,} of {total:,} rows ({percent(right / total)}): {counts[1, 1]:,} of "
            f"{counts[1].sum():,} positive rows and {counts[0, 0]:,} of {counts[0].sum():,} "
            "negative rows."
        )
    return error("labels-only", f"{text} {PROBABILITIES}")


def _swapped(rows: Rows, score: FloatArray) -> Iterator[Problem]:
    outcome = rows.of_usable(rows.outcome)
    if outcome.min() < 0 or outcome.max() > 1:
        return
    n_positive = int(np.count_nonzero(outcome))
    pairs = n_positive * (len(outcome) - n_positive)
    if not pairs:
        return
    # A lower bound of the AUC usually shows, without a sort, that the scores are not reversed.
    if _auc_bound(outcome, score, pairs) < clearly_low_auc(len(outcome), pairs):
        cells = ScoreCells.from_arrays(outcome, score)
        guessed = bool({"score", "positive"} & set(rows.mapping.guessed))
        if cells.is_reversed and cells.auc < LOW_AUC and guessed:
            yield _which_class(rows, cells)
        else:
            yield from swapped(rows.mapping, cells)


def _which_class(rows: Rows, cells: ScoreCells) -> Problem:
    """Ask whether the scores or the labels are reversed. Each answer shows its rate and AUC."""
    mapping, rate, auc = rows.mapping, cells.base_rate, cells.auc
    column = quoted(mapping.score)
    scores = "Do not use 1 − score" if mapping.swap else "Use 1 − score"
    choices = [_answer(scores, rate, 1.0 - auc, {"swap": not mapping.swap})]
    doubt = f"column {column} may hold the probability that it is wrong"
    if mapping.predicted is None:
        doubt = f"column {column} may hold the probability of the other class"
        if other := other_label(rows):
            doubt += f", or {quoted(other)} may be the positive class"
            choices.append(_answer(_as_positive(other), 1.0 - rate, 1.0 - auc, {"positive": other}))
    arguments = {"score": mapping.score, "positive": mapping.positive}
    unchanged = {role: value for role, value in arguments.items() if value is not None}
    choices.append(_answer("Analyse as it is", rate, auc, unchanged))
    sentence = f"{REVERSED} (AUC {number(auc, 3)}): {doubt}. Which is it?"
    return question("which-class", sentence, choices=tuple(choices))


def _unnamed_class(rows: Rows, score: FloatArray) -> Iterator[Problem]:
    """Ask which class is positive, if only the size of the scores tells."""
    mapping, other, outcome = rows.mapping, other_label(rows), rows.of_usable(rows.outcome)
    if "positive" not in mapping.guessed or mapping.swap or telling_labels(rows.labels):
        return
    if not other or outcome.min() == outcome.max() or _has_other_class(rows):
        return
    cells = ScoreCells.from_arrays(outcome, score)
    rate, auc, label = cells.base_rate, cells.auc, str(mapping.positive)
    yield question(
        "which-class",
        f"Column {quoted(mapping.outcome)} has the labels {listed(rows.labels.names)}, and no name "
        f"says which is positive. Which one is {quoted(mapping.score)} the probability of?",
        choices=(
            _answer(_as_positive(label), rate, auc, {"positive": label}),
            _answer(
                _as_positive(other),
                1.0 - rate,
                1.0 - auc,
                # The score is named too, so that the low AUC of this answer is not asked about.
                {"positive": other, "score": mapping.score},
            ),
        ),
    )


def _has_other_class(rows: Rows) -> bool:
    """Whether another column holds the scores of the other class, so that their order tells."""
    frame, score = rows.frame, rows.mapping.score
    return isinstance(score, str) and has_complement(frame, score)


def _as_positive(label: str) -> str:
    return f"Positive class: {label[:MAX_LABEL_LENGTH]}"


def _answer(action: str, rate: float, auc: float, arguments: Mapping[str, Any]) -> Choice:
    return Choice(f"{action} ({percent(rate)} positive, AUC {number(auc, 3)})", arguments)


def swapped(mapping: ColumnMapping, cells: ScoreCells) -> Iterator[Problem]:
    """Warn if positive rows have lower scores. `cells` count rows without weights."""
    if cells.is_reversed:
        other = "of the negative class" if mapping.predicted is None else "that it is wrong"
        yield warning(
            "swapped",
            f"{REVERSED} (AUC {number(cells.auc, 3)}): column "
            f"{quoted(mapping.score)} may hold the probability {other}. Swap the classes if so.",
            replace(mapping, swap=not mapping.swap),
            "Swap the classes",
        )


def _auc_bound(outcome: IntArray, score: FloatArray, pairs: int) -> float:
    """A lower bound of the AUC, for which pairs in the same range of scores count as wrong."""
    count = np.zeros(2 * N_RANGES)
    for part in chunks(len(score)):
        code = 2 * (score[part] * (N_RANGES - 1)).astype(np.int64) + outcome[part]
        count += np.bincount(code, minlength=2 * N_RANGES)
    below = np.cumsum(count[0::2]) - count[0::2]
    return float(count[1::2] @ below) / pairs


MAX_LISTED_CLASSES = 5


def matrix_problems(rows: Rows) -> Iterator[Problem]:
    """Problems of the classes of the labels, of the scores' range and of the sums of rows."""
    yield from _class_labels(rows)
    if rows.usable.any():
        yield from _matrix_scores(rows)


def _class_labels(rows: Rows) -> Iterator[Problem]:
    classes, labels = rows.classes, rows.labels
    assert classes is not None
    outside = (labels.codes >= 0) & (rows.outcome < 0)
    if classes.doubtful:
        yield class_question(rows.mapping, classes, labels)
    if not classes.readings[0].complete and len(classes.readings) > 1:
        return
    if 2 * outside.sum() > (labels.codes >= 0).sum():
        yield other_classes(classes, labels)
        return
    if outside.any() and not rows.mapping.drop_missing:
        yield _outside_classes(rows, outside)
    for part, in_part in parts(rows).items():
        counts = np.bincount(rows.outcome[in_part], minlength=len(classes.names))
        if counts.any():
            yield from seen_classes(classes, counts, part)
        elif rows.test is None:
            yield error("no-rows", "No row is left that can be used.")


def other_classes(classes: Classes, labels: Labels) -> Problem:
    """Make the error that most labels are not classes of the score columns."""
    names = classes.names
    shown = [quoted(name) for name in labels.names[:MAX_LISTED_CLASSES]]
    return error(
        "class-columns",
        f"The labels {joined(shown, len(labels))} are not the {plural(len(names), 'class')} of the "
        f"score columns ({listed(names, MAX_LISTED_CLASSES)}), nor numbers "
        f"0 to {len(names) - 1:,}. Name each column after its label, or choose another outcome.",
    )


def _outside_classes(rows: Rows, outside: BoolArray) -> Problem:
    assert rows.classes is not None
    codes = dict.fromkeys(rows.labels.codes[outside][:1_000].tolist())
    shown = listed([rows.labels.name(code) for code in list(codes)[:MAX_LISTED_CLASSES]])
    names = rows.classes.names
    return error(
        "outside-classes",
        f"The outcome {quoted(rows.mapping.outcome)} is not one of the {len(names):,} classes in "
        f"{plural(int(outside.sum()), 'row')}, such as {shown} in {rows.where(outside)}; they go "
        f"from {quoted(names[0])} to {quoted(names[-1])}. Leave these rows out, or choose the "
        "columns of all classes.",
        replace(rows.mapping, drop_missing=True),
        leave_out(int(outside.sum()), len(outside)),
    )


def seen_classes(classes: Classes, counts: IntArray, part: str) -> Iterator[Problem]:
    """Problems of classes without a row in `part`, such as "the rows"."""
    names = classes.names
    absent = np.flatnonzero(counts == 0)
    if len(absent) == len(names) - 1:
        yield error(
            "one-class",
            f"All of {part} ({int(counts.sum()):,}) have the label "
            f"{quoted(names[int(counts.argmax())])}. Calibration compares classes: upload "
            "rows of others as well, or choose another outcome column.",
        )
    elif len(absent):
        verb, their = ("has", "Its") if len(absent) == 1 else ("have", "Their")
        yield warning(
            "unseen-classes",
            f"{plural(len(absent), 'class')} of {len(names):,} {verb} no row among {part}: "
            f"{listed([names[i] for i in absent], MAX_LISTED_CLASSES)}. {their} scores cannot "
            "be fitted or tested on these rows.",
        )


def _matrix_scores(rows: Rows) -> Iterator[Problem]:
    matrix, mapping = rows.of_usable(rows.score), rows.mapping
    if mapping.transform == "softmax" and rows_sum(rows.frame[list(mapping.score_columns)]):
        yield softmax_of_probabilities(mapping)
        return
    low, high = float(matrix.min()), float(matrix.max())
    with np.errstate(over="ignore"):
        sums = matrix.sum(axis=1, dtype=np.float64)
    if low < 0.0 or high > 1.0:
        yield _matrix_outside(rows, low, high, sums)
        return
    if mapping.transform == "softmax" and low == LEAST_NORMAL_FLOAT:
        yield _lost_logits(mapping, int(np.count_nonzero(matrix == low)))
    off = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    if off.any():
        yield _row_sums(rows, off, sums)
    elif _all_certain(matrix):
        right = int((matrix.argmax(axis=1) == rows.of_usable(rows.outcome)).sum())
        yield error(
            "labels-only",
            f"The class scores {quoted(shortened(rows.mapping.score_columns))} hold only 0 and 1: "
            f"predicted labels, not probabilities. They are right in {right:,} of {len(matrix):,} "
            f"rows ({percent(right / len(matrix))}). {PROBABILITIES}",
        )


def _lost_logits(mapping: ColumnMapping, n: int) -> Problem:
    return note(
        "lost-logits",
        f"{plural(n, 'logit')} of {quoted(shortened(mapping.score_columns))} are more than 708 "
        "below the largest of their row. Their probabilities are too small for float64, and are "
        "all read as 2.2e-308.",
    )


def softmax_of_probabilities(mapping: ColumnMapping) -> Problem:
    """Make the error that scores with the transform softmax are probabilities already."""
    return error(
        "not-logits",
        f"The rows of the class scores {quoted(shortened(mapping.score_columns))} add up, so they "
        "are probabilities already. The softmax is for logits, and would flatten them.",
        replace(mapping, transform="none"),
        "Undo the softmax",
    )


def _all_certain(matrix: NDArray[np.floating]) -> bool:
    # The first rows nearly always show that the scores are not all 0 and 1.
    return bool((matrix[:1_000].max(axis=1) == 1.0).all() and (matrix.max(axis=1) == 1.0).all())


def _matrix_outside(rows: Rows, low: float, high: float, sums: FloatArray) -> Problem:
    near = bool(np.abs(sums - 1.0).max() <= OUTSIDE_TOLERANCE)
    percents = float(np.mean(np.abs(sums - 100.0) < 1.0)) > 0.5
    matrix = rows.of_usable(rows.score)
    if low >= 0.0 and not percents and bool((matrix % 1.0 == 0.0).all()):
        return error(
            "labels-only",
            f"The class scores {quoted(shortened(rows.mapping.score_columns))} are whole numbers "
            f"from {significant(low)} to {significant(high)}: labels or ranks, and neither "
            f"probabilities nor logits. {PROBABILITIES}",
        )
    return matrix_outside(rows.mapping, low, high, near=near, percents=percents)


def matrix_outside(
    mapping: ColumnMapping, low: float, high: float, *, near: bool, percents: bool
) -> Problem:
    """Make the error about class scores outside [0, 1], and the conversion that repairs them.

    `near` says whether all rows sum nearly to 1, `percents` whether most rows sum to 100.
    """
    lead = (
        f"The class scores {quoted(shortened(mapping.score_columns))} go from "
        f"{significant(low, 4)} to {significant(high, 4)}, so they are not probabilities. "
    )
    near = near and low >= -OUTSIDE_TOLERANCE and high <= 1.0 + OUTSIDE_TOLERANCE
    if problem := _transformed_or_near(mapping, lead, near=near):
        return problem
    if low >= 0.0 and percents:
        text = "Their rows sum to 100, as percentages do: divide them by 100."
        return _converted(mapping, "percent", lead + text)
    form = "logarithms of probabilities" if high <= 0.0 else "logits (a network's last layer)"
    return _converted(mapping, "logits", f"{lead}They look like {form}")


def _row_sums(rows: Rows, off: BoolArray, sums: FloatArray) -> Problem:
    off_rows = np.flatnonzero(rows.usable)[off]
    examples = joined([f"{significant(total, 4)}" for total in sums[off][:3]])
    where = f"first in {rows.where(off_rows)} (sums {examples})"
    least = float(sums[off].min())
    return row_sums(rows.mapping, len(off_rows), len(sums), least, where)


def row_sums(mapping: ColumnMapping, n_off: int, n_rows: int, least: float, where: str) -> Problem:
    """Make the error about rows of class scores that do not sum to 1, and the possible repair.

    `least` is the least of their sums, and `where` says where they are, or gives their sums.
    """
    lead = (
        f"The class scores of {plural(n_off, 'row')} of {n_rows:,} do not sum to 1 within "
        f"{ROW_SUM_TOLERANCE}, {where}. "
    )
    if 2 * n_off <= n_rows or mapping.transform != "none" or least <= 0.0:
        text = lead + "Name the columns of all classes, or repair these rows in the file."
        return error("row-sums", text)
    text = lead + (
        "Name the columns of all classes; or, if each score is one-vs-rest, divide each row by "
        "its sum."
    )
    divided = replace(mapping, transform="normalize")
    return error("row-sums", text, divided, "Divide each row by its sum")
