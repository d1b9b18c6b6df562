"""read_judged: a judge's scores and gold labels, from files, tables or arrays, matched by row.

Columns are guessed and rows are checked as in `load`. A judge has words of its own for scores and
for labels that pass, and only some rows have a label.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib.data.file_options import Columns, FileFormat, Source
from calib.data.judged import JudgedRows
from calib.data.origin import Origin, read_as
from calib.data.predictions import Predictions
from calib.loading import name_patterns as names
from calib.loading.building.from_rows import clusters
from calib.loading.building.models import structure_problems
from calib.loading.checking.inspection import examine, refuse_errors
from calib.loading.checking.mapped_rows import ROUNDING_TOLERANCE, Rows
from calib.loading.checking.rows import none_usable
from calib.loading.columns import Labels, as_labels, as_numbers, as_outcome, label_text
from calib.loading.guessing.evidence import Facts
from calib.loading.guessing.roles import guess
from calib.loading.logs import combined
from calib.loading.name_patterns import plain_name
from calib.loading.problems import Choice, InputError, Problem, error, refuse
from calib.loading.reading.reader import read
from calib.loading.table import Table, unused
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.transforms import sigmoid
from calib.text import FORMULA, plural, quoted

GUESSED_FORMAT = FileFormat()
SCORE, GOLD = "score", "gold"  # The columns of arrays.
# Usual scales of ratings, the shortest first.
SCALES = ((0.0, 1.0), (1.0, 5.0), (0.0, 5.0), (1.0, 10.0), (0.0, 10.0), (0.0, 100.0))
# These columns of a log may be the judge's opinion, so a person who labels must not see them.
LOG_VERDICTS = ("correct", "confidence")
# A log that asks the same question several times counts them in this column.
EPOCH = "epoch"
# A log may lack what gold labels from elsewhere replace.
REPLACED_BY_LABELS = ("judged", "no-confidence", "no-scores")
# Judged rows without an outcome lack gold labels.
NO_OUTCOME = ("no-outcome", "no-outcomes")
# A person can settle doubts about judged rows by these fields.
ARGUMENTS = {
    *("score", "models", "outcome", "positive", "negative", "others_negative", "decimal", "scale"),
}
Judged: TypeAlias = Source | Predictions | ArrayLike


@dataclass(frozen=True, slots=True, eq=False)
class JudgedParts:
    """Judged rows by judge, by model, or by both ("model, judge").

    `failures` say why the others cannot be used.
    """

    rows: Mapping[str, JudgedRows] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)


def read_judged(
    judged: Judged, gold: Judged | None, columns: Columns, given: FileFormat = GUESSED_FORMAT
) -> JudgedParts:
    """Read the rows of each judge and model. `given` says how files are read.

    Several score columns are several judges. Labels are matched to the judged rows by an id column
    that both have, or by position if they have none. Rows without a score are left out, and a note
    says how many.

    Raises
    ------
    InputError
        If a column cannot be guessed or read, or labels do not match the rows.
    """
    if isinstance(columns.score, tuple):
        columns = replace(columns, score=None, models=columns.score)
    table = _table(judged, SCORE, given)
    labels = None if gold is None else _table(gold, GOLD, given)
    both, mapping, outcome = _joined(table, labels, columns)
    mapping = _guessed(both, mapping, with_labels=labels is not None)
    outcome = outcome or mapping.outcome
    notes = _notes(both, replace(mapping, outcome=outcome), columns, labels)
    # Lists of rows have the id first, and neither scores nor labels.
    row_id, hidden = mapping.row_id, {*mapping.score_columns, outcome, mapping.row_id}
    rest = [column for column in table.columns if column not in hidden]
    shown = rest if row_id is None else [row_id, *rest]
    kept = {column: table.frame[column].to_numpy() for column in shown}
    of_judge = tuple(
        column
        for column in kept
        if column != row_id
        and (
            re.fullmatch(names.JUDGE_WORDS, plain_name(column))
            or (table.log and column in LOG_VERDICTS)
        )
    )
    read_with: dict[str, Any] = {
        "outcome": outcome,
        "row_id": mapping.row_id,
        "group": mapping.group,
    }
    read_with |= {"positive": columns.positive}
    checked = {score: _checked(both, mapping, score) for score in mapping.score_columns or (None,)}
    parts: dict[str, JudgedRows] = {}
    failures: dict[str, Problem] = {}
    for model, in_model in _models(both, mapping):
        for score, (rows, remarks) in checked.items():
            part = ", ".join(filter(None, [model, score if len(checked) > 1 else None]))
            part, usable = part or table.name, rows.usable & in_model
            if not usable.any():
                why = next(
                    why for why, marked in rows.unusable.items() if (marked & in_model).any()
                )
                failures[part] = none_usable(rows.mapping, why)
                continue
            group = clusters(rows, slice(None))
            parts[part] = JudgedRows.from_arrays(
                rows.score[usable],
                np.where(rows.outcome < 0, np.nan, rows.outcome)[usable],
                None if group is None else group[usable],
                columns={column: cells[usable] for column, cells in kept.items()},
                judge_columns=of_judge,
                name=part,
                notes=(*notes, *remarks),
                read_with={k: v for k, v in ({"score": score} | read_with).items() if v},
            )
    if not parts:
        raise InputError([next(iter(failures.values()))])
    return JudgedParts(parts, {part: problem.sentence for part, problem in failures.items()})


def judged_tables(tables: Sequence[Table]) -> tuple[Table, Table | None] | None:
    """The rows of a judge and the table of gold labels, if tables that were dropped are these.

    A judge scores every row, and people label at most half of them. A name must say that there is a
    judge, or that the labels are those of people.
    """
    if any(table.log or table.tests is not None for table in tables):
        return None
    if len(tables) == 1:
        return (tables[0], None) if _few_labels(tables[0], tables[0]) else None
    pairs = (tables, tables[::-1]) if len(tables) == 2 else ()
    for rows, gold in pairs:
        if _id_column(rows, gold, Columns()) is not None and _few_labels(rows, gold):
            return rows, gold
    return None


def _few_labels(rows: Table, labels: Table) -> bool:
    of_judge = _column(rows, names.JUDGE_NAMES[:1])
    of_people = _column(labels, names.GOLD_NAMES[:1])
    score_names = (*names.JUDGE_NAMES, *names.SCORE_NAMES)
    score = of_judge or _column(rows, score_names, [of_people or ""])
    label = of_people or _column(labels, (*names.GOLD_NAMES, *names.OUTCOME_NAMES), [score or ""])
    if not (of_judge or of_people) or score is None or label is None:
        return False
    n_labels = int(labels.frame[label].notna().sum())
    return bool(rows.frame[score].notna().all()) and 0 < 2 * n_labels <= len(rows)


def _table(data: Judged, column: str, given: FileFormat) -> Table:
    """A table of the data; an array becomes its only column."""
    if isinstance(data, Predictions):
        if data.is_matrix or data.weight is not None:
            raise refuse("matrix" if data.is_matrix else "weights.judge")
        frame = pd.DataFrame({column: data.scores if column == SCORE else data.outcome})
        return Table(frame if data.group is None else frame.assign(group=data.group), data.name)
    # Lists, arrays and series hold scores or labels. Tables and texts are read as files.
    is_series = isinstance(data, np.ndarray | pd.Series | list | tuple)
    if not is_series and (
        isinstance(data, Table | str | bytes | pd.DataFrame)
        or any(hasattr(data, name) for name in ("__fspath__", "__arrow_c_stream__", "frame"))
    ):
        return combined([read(data, given=given)])[0]
    values = np.asarray(data)
    if values.ndim != 1 or not len(values):
        raise ValueError(
            f"An array of scores or labels must have one dimension and rows, got {values.shape}."
        )
    return Table(pd.DataFrame({column: values}), "judge")


def _joined(
    table: Table, gold: Table | None, columns: Columns
) -> tuple[Table, Columns, str | None]:
    """The judged rows with their labels, the mapping with the id, and the column of the labels."""
    row_id, outcome = columns.row_id, columns.outcome
    of_rows = Columns(row_id=row_id, model=columns.model)
    of_gold = Columns(row_id=row_id, outcome=outcome)
    for one, needed, where in (
        (table, of_rows, "the judged rows"),
        (gold, of_gold, "the gold labels"),
    ):
        there = needed.columns().keys() if one is None else one.columns
        lacking = {c: role for c, role in needed.columns().items() if c not in there}
        absent = [
            error("no-column", role=role, column=column, where=where)
            for column, role in lacking.items()
        ]
        refuse_errors(absent, columns)
    columns = replace(columns, row_id=row_id or _id_column(table, gold, columns))
    if gold is None:
        return table, columns, outcome
    refuse_errors([note for note in gold.notes if note.code == "judged"], columns)
    if outcome is None:
        model = columns.model if columns.model in gold.columns else None
        by_name = Columns(row_id=columns.row_id, model=model)
        by_load = guess(gold, _by_name(gold, by_name, "outcome", names.GOLD_NAMES))
        doubts = [doubt.problem for doubt in by_load.doubts if doubt.role == "outcome"]
        outcome = by_load.outcome
        refuse_errors([*doubts, *([] if outcome else [error("no-outcome")])], columns, ARGUMENTS)
    assert outcome is not None
    place = _places(table, gold, outcome, columns)
    name = unused(outcome, table.columns)
    cells = gold.frame[outcome].reset_index(drop=True).reindex(place).set_axis(table.frame.index)
    notes = tuple(note for note in table.notes if note.code not in REPLACED_BY_LABELS)
    both = replace(table, frame=table.frame.assign(**{name: cells}), notes=notes)
    return both, replace(columns, outcome=name), outcome


def _by_name(table: Table, mapping: Columns, role: str, patterns: Sequence[str]) -> Columns:
    """The mapping with a column of these names in a role that is empty."""
    column: Any = getattr(mapping, role) or _column(table, patterns, mapping.columns())
    return replace(mapping, **{role: column})


def _column(table: Table, patterns: Sequence[str], taken: Iterable[str] = ()) -> str | None:
    """The column of one of these names, whatever its values are."""
    return Facts(table.frame, {*taken}).find_by_name(patterns, lambda _: True)


def _id_column(table: Table, gold: Table | None, columns: Columns) -> str | None:
    """A column with the name of an id, in both tables, which differs from row to row if one does.

    If none does, labels cannot be matched by it. They are then refused, and not matched by
    position, because the order of repeated ids may differ between the tables.
    """
    meant = {*columns.score_columns, columns.outcome, columns.model}
    shared = [
        column
        for column in table.columns
        if column not in meant
        and re.fullmatch(names.ID_NAMES, plain_name(column))
        and (gold is None or column in gold.columns)
    ]
    model = [] if columns.model is None else [columns.model]
    unique = [column for column in shared if not table.frame.duplicated([column, *model]).any()]
    if unique or gold is None:
        return next(iter(unique), None)
    return next(iter(shared), None)


def _places(table: Table, gold: Table, outcome: str, columns: Columns) -> IntArray:
    """For each judged row the row of its label, or -1 if it has none."""
    frame, row_id = table.frame, columns.row_id
    if row_id is None:
        if len(gold) == len(frame):
            return np.arange(len(frame))
        raise refuse("unmatched.by-position", n=len(gold), n_rows=len(frame))
    keys = [row_id]
    if columns.model is not None and columns.model in gold.columns:
        keys.append(columns.model)
    # Logs repeat an id in each epoch.
    if EPOCH in frame and EPOCH in gold.columns and frame.duplicated(keys).any():
        keys.append(EPOCH)
    wanted, there = _keys(gold.frame, keys, "gold labels"), _keys(frame, keys, "judged rows")
    # A blank label needs no judged row.
    has_label = as_outcome(gold.frame[outcome], columns.positives)[0].codes >= 0
    rows = np.flatnonzero(has_label)
    # These columns may tell rows with the same id apart.
    others = [c for c in (columns.model, EPOCH) if c in frame.columns and c not in keys]
    if others:
        _check_unique(there, row_id, "judged rows", "repeated-id.both", other=others[0])
    name_model = columns.model is None
    _check_unique(there, row_id, "judged rows", "repeated-id", name_model=name_model)
    _check_unique(wanted[rows], row_id, "gold labels", "repeated-id.labels")
    position = there.get_indexer(wanted[rows])
    if (position < 0).any():
        unknown = wanted[rows][position < 0]
        raise refuse("unmatched.ids", n=len(unknown), total=len(rows), id=unknown[0])
    place = np.full(len(frame), -1)
    place[position] = rows
    return place


def _keys(frame: pd.DataFrame, columns: Sequence[str], what: str) -> pd.Index:
    texts = []
    for column in columns:
        labels = as_labels(frame[column])
        if (labels.codes < 0).any():
            row = int(np.flatnonzero(labels.codes < 0)[0]) + 1
            raise refuse("no-id", row=row, what=what, column=column)
        names_of_ids = [label_text(value) for value in labels.values]
        # The file of rows to label next has an apostrophe before an id like a formula.
        plain = [n[1:] if n[:1] == "'" and FORMULA.match(n[1:]) else n for n in names_of_ids]
        texts.append(np.array(plain)[labels.codes])
    return pd.Index(texts[0]) if len(texts) == 1 else pd.MultiIndex.from_arrays(texts)


def _check_unique(keys: pd.Index, column: str, what: str, key: str, **facts: Any) -> None:
    """Refuse ids that are not unique, with the sentence of a key."""
    if keys.is_unique:
        return
    repeated = keys[keys.duplicated()][0]
    raise refuse(key, id=repeated, what=what, column=column, **facts)


def _guessed(table: Table, given: Columns, *, with_labels: bool) -> Columns:
    """The mapping with what `load` guesses of it, after the names that judges use."""
    mapping = given
    if not table.log:
        mapping = _by_name(table, mapping, "outcome", names.GOLD_NAMES)
        if not mapping.models:
            mapping = _by_name(table, mapping, "score", names.JUDGE_NAMES)
    elif with_labels and not mapping.score_columns and table.frame["confidence"].isna().all():
        # The grade of a log without confidence is the answer of the judge.
        mapping = replace(mapping, score="correct")
    by_load = guess(table, mapping, models=bool(table.log and mapping.model))
    doubts = [doubt for doubt in by_load.doubts if doubt.role in ("outcome", "score")]
    if not (with_labels or by_load.outcome):
        doubts = [
            doubt._replace(problem=error("no-gold")) if doubt.problem.code in NO_OUTCOME else doubt
            for doubt in doubts
        ]
    mapping = replace(
        given,
        outcome=by_load.outcome,
        score=by_load.score,
        group=by_load.group,
        drop_missing=True,
        doubts=tuple(doubts),
        guessed=by_load.guessed,
    )
    if mapping.positive is None and mapping.outcome in table.columns:
        mapping = replace(mapping, positive=_label_that_passes(table.frame[mapping.outcome]))
    return mapping


def _notes(table: Table, mapping: Columns, given: Columns, gold: Table | None) -> tuple[str, ...]:
    """What was guessed, how labels are matched, and what is not used."""
    roles = {role: getattr(mapping, role) for role in ("outcome", "score", "row_id", "group")}
    guessed = [r for r, c in roles.items() if c not in (None, SCORE, GOLD, getattr(given, r))]
    notes = []
    if guessed:
        line = read_as(
            Origin(mapping, guessed=tuple(guessed)),
            outcome=mapping.outcome or "",
            score=str(mapping.score or ""),
            positive=" or ".join(mapping.positives),
        )
        notes.append(f"Read as {line}.")
    if gold is not None and mapping.row_id is None and list(gold.columns) != [GOLD]:
        notes.append("The labels are matched to the judged rows by position.")
    weights = (*names.WEIGHT_NAMES, *names.PERHAPS_WEIGHT_NAMES)
    if weight := _column(table, weights, mapping.columns()):
        notes.append(
            f"Weights are not supported: {quoted(weight)} is not used, and each row counts once."
        )
    return tuple(notes)


def _passing(labels: Labels, stated: Sequence[str] = ()) -> FloatArray | None:
    """For each of one or two labels whether it passes; None if that is not clear."""
    words = [name.casefold() for name in labels.names]
    passes = [word in (stated or names.PASS_WORDS) for word in words]
    # C beside I is correct, but alone it may be one of A, B and C.
    unclear = len(words) == 1 and len(words[0]) == 1 and words[0].isalpha()
    telling = {*words} <= names.PASS_WORDS | names.FAIL_WORDS and not unclear
    if len(words) not in (1, 2) or not (telling or stated) or not (any(passes) or len(words) == 1):
        return None
    return np.array(passes, dtype=np.float64)


def _label_that_passes(cells: pd.Series) -> str | tuple[str, ...] | None:
    """The gold label that passes, if its words say which."""
    labels, _ = as_outcome(cells)
    passes = _passing(labels)
    if passes is None:
        return None
    # If all labels fail, none of them is positive.
    return tuple(labels.name(int(code)) for code in np.flatnonzero(passes)) or "pass"


def _checked(table: Table, mapping: Columns, score: str | None) -> tuple[Rows, tuple[str, ...]]:
    """The rows of one judge, and remarks. Raises InputError if they cannot be used."""
    mapping = replace(mapping, score=score, models=())
    of_scale: tuple[Problem, ...] = ()
    if score in table.columns and mapping.outcome in table.columns:
        cells, of_scale = _as_scores(table.frame, mapping)
        table = replace(table, frame=table.frame.assign(**{score: cells}))
    problems, rows = examine(table, mapping, partly=True)
    refuse_errors((*problems, *of_scale), mapping, ARGUMENTS)
    assert rows is not None
    without_model = 0
    if mapping.model is not None:
        without_model = int((as_labels(table.frame[mapping.model]).codes < 0).sum())
    left_out = f"{plural(without_model, 'row')} without a model left out."
    remarks = (*(problem.sentence for problem in problems), left_out)
    return rows, remarks if without_model else remarks[:-1]


def _as_scores(
    frame: pd.DataFrame, mapping: Columns
) -> tuple[pd.Series | FloatArray, tuple[Problem, ...]]:
    """The cells of the score as numbers: answers that pass are 1, and ratings go from 0 to 1.

    The label that passes is meant for the gold labels. It says what the judge means only if both
    use the same words.
    """
    cells = frame[mapping.score]
    numbers = as_numbers(cells, mapping.decimal)
    if len(numbers.text):
        labels, _ = as_outcome(cells)
        stated = [name.casefold() for name in mapping.positives]
        gold = {name.casefold() for name in as_outcome(frame[mapping.outcome])[0].names}
        same = {name.casefold() for name in labels.names} <= gold | {*stated}
        passes = _passing(labels, stated if same else ())
        return (cells if passes is None else np.append(passes, np.nan)[labels.codes]), ()
    values = numbers.values
    finite = values[np.isfinite(values)]
    if not len(finite) or len(numbers.unclear):
        return cells, ()
    least, most = float(finite.min()), float(finite.max())
    holding = [
        ends
        for ends in (mapping.scale, *SCALES)
        if ends[0] - ROUNDING_TOLERANCE <= least and most <= ends[1] + ROUNDING_TOLERANCE
    ]
    # If no usual scale holds the scores, their own range is the only one that can be offered.
    offered = holding[:4] or [(float(np.floor(least)), float(np.ceil(most)))]
    low, high = offered[0]
    scaled = cells if offered[0] == SCALES[0] else (values - low) / (high - low)
    if offered[0] == mapping.scale:
        return scaled, ()
    lowest, highest = mapping.scale
    given = {"column": mapping.score, "least": least, "most": most}
    given |= {"lowest": float(lowest), "highest": float(highest)}
    choices = (Choice(f"From {one[0]:g} to {one[1]:g}", {"scale": one}) for one in offered)
    return scaled, (error("scale", choices=choices, **given),)


def _models(table: Table, mapping: Columns) -> Iterator[tuple[str, BoolArray]]:
    """The name and the rows of each model."""
    if mapping.model is None:
        yield "", np.ones(len(table), dtype=np.bool_)
        return
    refuse_errors(structure_problems([table], mapping), mapping)
    labels = as_labels(table.frame[mapping.model])
    for code in range(len(labels)):
        yield labels.name(code), labels.codes == code


N_ROWS, N_LABELS = 2000, 300
QUESTIONS = (
    "How do I return a parcel?",
    "Can I change the address of my order?",
    "Why was my card declined?",
    "When is the shop open on Sundays?",
    "How do I cancel my subscription?",
)
PRAISE = (
    "Answers the question, and names the page of the manual.",
    "Correct and complete; the tone is friendly.",
    "The steps are in the right order.",
)
BLAME = (
    "Leaves out the deadline.",
    "Answers another question than the one that was asked.",
    "The link does not exist.",
)


@cache
def judged_example() -> JudgedRows:
    """Answers of a customer service, of which about three in five are right.

    The judge's scores are too high on average, and often miss wrong answers.

    Examples
    --------
    >>> rows = judged_example()
    >>> len(rows), int(rows.labelled.sum())
    (2000, 300)
    """
    rng = np.random.default_rng(20)
    passed = rng.random(N_ROWS) < 0.62
    score = sigmoid(rng.normal(np.where(passed, 2.4, 0.9), 1.1)).round(2)
    said = np.where(score >= 0.5, rng.choice(PRAISE, N_ROWS), rng.choice(BLAME, N_ROWS))
    labelled = np.zeros(N_ROWS, dtype=np.bool_)
    labelled[rng.choice(N_ROWS, N_LABELS, replace=False)] = True
    return JudgedRows.from_arrays(
        score,
        np.where(labelled, passed, np.nan),
        columns={
            "id": np.array([f"answer-{number:04d}" for number in range(1, N_ROWS + 1)]),
            "question": rng.choice(QUESTIONS, N_ROWS),
            "explanation": said,
        },
        judge_columns=("explanation",),
        name="example",
    )
