"""Count predictions where they are stored: an engine runs one GROUP BY per column.

Only the counts are returned. No other package imports engines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np

from calib.data.aggregate import Aggregate
from calib.data.base import Progress
from calib.data.cells import ScoreCells
from calib.data.file_options import ColumnOptions, Columns, option
from calib.data.origin import Remark
from calib.data.slicing import NO_SLICE, singles_and_pairs
from calib.loading.building.from_rows import column_guess, refused_guess
from calib.loading.checking.outcomes import class_problems
from calib.loading.checking.rows import ALL_ROWS
from calib.loading.checking.scores import ScoreFacts, score_problems
from calib.loading.loader import mapping_of, takes, with_arguments
from calib.loading.name_patterns import PLAIN_PAIRS
from calib.loading.problems import Guess, Problem, refuse
from calib.numerics.arrays import IntArray, arrays_of
from calib.numerics.cells import MAX_EXACT_SCORES, CellTable
from calib.scanning.cell_queries import CellCounter
from calib.scanning.fetching import guessed_columns, rows_between, scan_sample
from calib.scanning.matrix import count_models, screen_view
from calib.scanning.query import is_result, read_result, scan_sql
from calib.scanning.screening import ScreenedRows, screen, zone_note
from calib.scanning.sources import opened
from calib.scanning.watching import Steps, watched

# Columns with these roles hold names, so their values are read as they are written: 007, 1.10.
NAME_ROLES = ("outcome", "split", "fold", "group", "model", "slice", "time")
__all__ = ["is_result", "read_result", "rows_between", "scan", "scan_sample", "scan_sql"]


@dataclass(frozen=True, kw_only=True)
class ScanOptions(ColumnOptions):
    """All options of `scan`."""

    slices: Sequence[str | tuple[str, str]] = option(  # type: ignore[assignment]
        (),
        "Slice columns. Two columns in a tuple are crossed, and also counted one by one. Columns "
        "with many numbers are cut into ranges as in `calib.aggregate`.",
    )
    time: str | None = option(None, "Time column. Dates are counted by day.")
    model: str | None = option(
        None,
        "Column that names the model of each row, with 1 to 100 models. Rows without a name are "
        "treated as `drop_missing` says.",
    )
    group: str | None = option(
        None,
        "Column of clusters. If there are more than 1,000, a hash joins them into 512 random "
        "groups of whole clusters, which intervals and folds then use as clusters.",
    )
    drop_missing: bool = option(
        False,
        "Whether to leave out rows with a missing outcome, score, weight, split, fold or group. "
        "They are counted in `Aggregate.set_aside`. If False, such rows are an error.",
    )
    models: Sequence[str] = option(
        (),
        "Score columns of several models, in place of `score`. Each is counted separately, see "
        "`Aggregate.of_model`.",
    )
    view: str = option(
        "",
        'View of one score column per class. "top:1" (the default): the highest score; the '
        'outcome is whether its class is the true class. "class:k": the score of class k; the '
        "outcome is whether k is the true class.",
    )
    table: str | None = option(None, "Table of a DuckDB database.")
    strict: bool = option(
        False,
        "Raise an error instead of guessing columns that are not named, or a positive class other "
        "than 1 or True.",
    )
    name: str | None = option(None, "Name of the data.")
    n_ranges: int = option(
        5, "Number of ranges into which a slice column with many numbers is cut."
    )
    max_scores: int = option(
        MAX_EXACT_SCORES, "If there are at most this many distinct scores, every cell is one score."
    )
    progress: Progress | None = option(
        None,
        "Called ten times per second as ``progress(share, step)``: the share that is done, 0 to "
        "1, and the current step.",
    )
    cancel: Callable[[], bool] | None = option(
        None,
        "Called ten times per second without arguments. If it returns True, the running query is "
        "interrupted (DuckDB of files, Spark) or no further query is started (other engines), and "
        "an InputError is raised.",
    )


@takes(ScanOptions)
def scan(source: Any, options: ScanOptions) -> Aggregate:
    """Count predictions where they are stored. No rows are returned.

    If the outcome or the score is not named, columns are guessed from a random sample of the rows,
    as `calib.load` guesses them; the notices of the result say so. If both are named, only the
    positive label is guessed. The result has the same cells as `calib.aggregate` of the same rows.
    Only the least and the largest score of an entry are those of its whole cell. Files are read by
    DuckDB in bounded memory. A frame is read by its own engine, with one lazy query per slice
    column.

    Parameters
    ----------
    source : path, glob, folder or frame
        One of: Parquet, CSV or Arrow files; a folder of them, also with Hive partitions; a DuckDB
        database; a DuckDB relation, a Polars DataFrame or LazyFrame, a PyArrow table or dataset, or
        a frame of pandas, Dask, Ibis or PySpark; the result of the query of `calib.scan_sql` as CSV
        or Parquet (then only `positive`, `negative` and `others_negative` are used). Several score
        columns are one per class: a view is counted, and labels are matched to columns as in
        `calib.load`.
    {options}

    Returns
    -------
    Aggregate

    Raises
    ------
    InputError
        If rows or arguments are not allowed. The message says which argument repairs it. It is a
        ValueError.

    Warns
    -----
    InputWarning
        If columns were guessed and could mean something else, as in `calib.load`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame(
    ...     {"y": [0, 1, 1], "p": [0.2, 0.7, 0.7], "site": ["north"] * 2 + ["south"]}
    ... )
    >>> counted = scan(rows, outcome="y", score="p", slices=["site"])
    >>> counted.frame()[["column", "value", "score", "outcome", "rows"]]
      column  value  score  outcome  rows
    0                  0.2        0     1
    1                  0.7        1     2
    2   site  north    0.2        0     1
    3   site  north    0.7        1     1
    4   site  south    0.7        1     1
    """
    if is_result(source):
        result = read_result(source, options.positive, options.negative, options.others_negative)
        return replace(result, name=options.name or result.name, sources=(_fingerprint(result),))
    try:
        singles, pairs = singles_and_pairs(options.slices, options.time)
    except ValueError as error:
        raise refuse("slices", message=str(error)) from None
    mapping = mapping_of(options, slices=singles)
    if isinstance(mapping.score, tuple) and len(mapping.score) == 1:
        mapping = replace(mapping, score=mapping.score[0])
    guesses: tuple[Guess, ...] = ()
    if not (mapping.outcome and mapping.score_columns):
        mapping, guesses = guessed_columns(source, options.table, mapping)
    if options.strict and guesses:
        raise with_arguments([refused_guess(guess) for guess in guesses], mapping)
    one_score = not isinstance(mapping.score, tuple)
    view = options.view or ("class:1" if one_score else "top:1")
    if one_score and view != "class:1":
        raise refuse("view.one-score", view=options.view)
    steps = Steps()
    roles = {name: role for name, role in mapping.columns().items() if role in NAME_ROLES}
    with opened(source, options.table, roles) as (rows, source_name, engine):

        def count(rows: nw.LazyFrame[Any], mapping: Columns) -> Aggregate:
            steps(0.0, 0.1, "Checking the columns")
            if isinstance(mapping.score, tuple):
                screened = screen_view(rows, mapping, view, options.max_scores)
            else:
                screened = screen(rows, mapping, options.max_scores)
                plain = {name.casefold() for name in screened.class_names} in PLAIN_PAIRS
                if options.strict and mapping.positive is None and not plain:
                    guess = column_guess("positive", screened.positive_name)
                    raise with_arguments([refused_guess(guess)], mapping)
            note = zone_note(rows, mapping, data_zone=engine.data_zone)
            screened = replace(screened, zone_note=note)
            counter = CellCounter(screened, mapping, pairs, options.n_ranges, steps)
            name = options.name or source_name
            counted = counter.count(name=name, view_key=view, max_scores=options.max_scores)
            remarks = (
                *(Remark(guess.sentence, "guessed") for guess in guesses),
                *_remarks(counted, screened, counter.warnings.values()),
            )
            return replace(counted, noticed={"": remarks} if remarks else {})

        work = partial(count_models, rows, mapping, count, steps)
        result = watched(work, engine, steps, options.progress, options.cancel)
    return replace(result, sources=(_fingerprint(result),))


def _remarks(
    counted: Aggregate, screened: ScreenedRows, warnings: Iterable[Problem]
) -> tuple[Remark, ...]:
    """Sentences of uploads about rows that are usable but can be misleading.

    A class with a single row is not refused, because counts of other rows may be added later.
    """
    problems = [*screened.warnings, *warnings]
    if screened.of_outcome is not None:
        stratum = counted.table.stratum
        all_rows = np.flatnonzero(counted.strata.part[stratum] == 0)
        cells = counted.table.pick(all_rows)
        parts = _part_counts(cells, counted.strata.test[stratum[all_rows]])
        problems += class_problems(screened.of_outcome, parts)
        problems += score_problems(screened.of_outcome, _score_facts(cells))
    return tuple(Remark(problem.sentence, problem.code) for problem in problems)


def _part_counts(cells: CellTable, test: IntArray) -> dict[str, tuple[int, int]]:
    """The rows of each part, and how many of them are positive."""
    names = {NO_SLICE: ALL_ROWS, 0: "the calibration rows", 1: "the test rows"}
    return {
        part: (int(cells.rows[test == value].sum()), int(cells.rows[of_part & cells.outcome].sum()))
        for value, part in names.items()
        if (of_part := test == value).any()
    }


def _score_facts(cells: CellTable) -> ScoreFacts:
    score, rows = cells.score_sum / cells.weight, cells.rows.astype(np.float64)
    right = None
    if ((cells.low == cells.high) & np.isin(cells.low, (0.0, 1.0))).all():
        code = 2 * cells.outcome.astype(np.int64) + cells.low.astype(np.int64)
        right = np.bincount(code, cells.rows, minlength=4).astype(np.int64).reshape(2, 2)
    n_rows = float(rows.sum())
    return ScoreFacts(
        low=float(cells.low.min()),
        high=float(cells.high.max()),
        mean=float(score @ rows) / n_rows,
        rate=float(rows[cells.outcome].sum()) / n_rows,
        cells=lambda: ScoreCells.from_arrays(cells.outcome, score, rows),
        right=right,
    )


def _fingerprint(aggregate: Aggregate) -> str:
    """SHA-256 of the counts, because engines do not return the bytes of the rows."""
    digest = hashlib.sha256(repr([astuple(part) for part in aggregate.parts]).encode())
    table, strata = aggregate.table, aggregate.strata
    all_rows = strata.part[table.stratum] == 0
    counts = (table.stratum, table.key, table.outcome, table.rows)
    ends = (table.low[all_rows], table.high[all_rows])
    for values in (*arrays_of(strata).values(), *counts, *ends):
        digest.update(np.ascontiguousarray(values).view(np.uint8).data)
    return digest.hexdigest()


def __dir__() -> list[str]:
    return __all__
