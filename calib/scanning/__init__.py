"""Counting where the data live: an engine runs one GROUP BY per column, and only cells come back.

The only place that imports engines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from calib.core.aggregate import Aggregate
from calib.core.counting import joined_pieces
from calib.core.progress import Progress
from calib.loading.guessing.class_columns import shortened
from calib.loading.loader import as_label_text, as_label_texts
from calib.loading.options import ColumnMapping, Transform
from calib.loading.problems import refuse
from calib.numerics.cell_table import MAX_SCORES
from calib.scanning.counting import Counter, Pieces
from calib.scanning.describing import Description, check_columns, collected, describe
from calib.scanning.expressions import SCORE, probability
from calib.scanning.matrix import describe_view
from calib.scanning.models import ModelRows, count_models
from calib.scanning.query import scan_sql
from calib.scanning.remarks import remarks_of
from calib.scanning.results import is_result, read_result
from calib.scanning.sources import opened
from calib.scanning.watching import Steps, watched

__all__ = ["is_result", "read_result", "rows_between", "scan", "scan_sql"]


def scan(
    source: Any,
    *,
    outcome: str = "",
    score: str | Sequence[str] = "",
    view: str = "",
    models: Sequence[str] = (),
    model: str | None = None,
    slices: Sequence[str] = (),
    time: str | None = None,
    weight: str | None = None,
    positive: object = None,
    transform: Transform = "none",
    swap: bool = False,
    drop_missing: bool = False,
    split: str | None = None,
    test_value: object = None,
    fold: str | None = None,
    group: str | None = None,
    table: str | None = None,
    name: str | None = None,
    n_ranges: int = 5,
    max_scores: int = MAX_SCORES,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Aggregate:
    """Count predictions where they are stored; no rows are returned.

    It gives the cells that `calib.aggregate` gives of the same rows. A path is read by DuckDB, in
    bounded memory; a frame by its own engine, with one lazy query per slice column.

    Parameters
    ----------
    source : path, glob, folder or frame
        Parquet, CSV or Arrow files; a folder of them, also of Hive partitions; a DuckDB database;
        or a frame: a DuckDB relation, a Polars DataFrame or LazyFrame, a PyArrow table or
        dataset, or a frame of pandas, Dask, Ibis or PySpark. Or the result of the query that
        `calib.scan_sql` prints, as CSV or Parquet: of what follows it needs `positive` only.
    outcome, score : str
        Columns of the labels, and of the scores of the positive class; or one score column per
        class, of which a view is counted. Labels are matched to columns as `calib.load` does it.
    view : str
        Of one score column per class: "top:1" (the default), the largest score against "is it that
        class", or "class:k", the score of class k against "is it k".
    models : sequence of str
        Instead of `score`, the score columns of several models, each of which is counted by itself:
        `Aggregate.of_model` takes one out of the result.
    model : str, optional
        Column that names the model of each row, 1 to 100 models; rows without a name are left out
        or are an error, as `drop_missing` says.
    slices : sequence of str
        Columns to count by. Numbers are cut in ranges as `calib.load` and `calib.aggregate` do.
    time : str, optional
        Column of time; dates are counted by day.
    weight : str, optional
        Column of row weights.
    positive : object, optional
        Label that counts as positive, or several. If None, a label such as 1 or "yes".
    transform : str
        How scores are converted to probabilities: "percent", "tenths", "logit" or "clip"; with one
        column per class also "softmax" or "normalize".
    swap : bool
        Use 1 - score.
    drop_missing : bool
        Leave out rows whose outcome, score, weight, split, fold or group is missing; they are
        counted in `Aggregate.set_aside`. Otherwise such rows are an error.
    split : str, optional
        Column that marks test rows and calibration rows.
    test_value : object, optional
        Its value that marks test rows.
    fold : str, optional
        Column of cross-validation folds.
    group : str, optional
        Column of clusters. More than 1,000 are put together at random, by a hash, into 512 groups
        of whole clusters, which intervals and folds then take as the clusters.
    table : str, optional
        Table of a DuckDB database.
    name : str, optional
        What the data are called.
    n_ranges : int
        Ranges of a slice column of many numbers.
    max_scores : int
        With at most this many distinct scores each cell is one score, and counts are lossless.
    progress : callable, optional
        Called with the share of the work that is done and what is being done, ten times a second.
    cancel : callable, optional
        Called as often, without arguments; once it returns True the running query is interrupted
        (DuckDB of files, Spark) or is the last one (other engines), and an InputError is raised.

    Returns
    -------
    Aggregate

    Raises
    ------
    InputError
        A ValueError. Its message says what is wrong, and which argument repairs it.

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
        made = read_result(source, positive)
        return replace(made, name=name or made.name, sources=(_fingerprint(made),))
    scores = score if isinstance(score, str) else tuple(score)
    mapping = ColumnMapping(
        outcome=outcome,
        score=scores[0] if len(scores) == 1 else scores,
        models=tuple(models),
        model=model,
        positive=as_label_texts(positive),
        weight=weight,
        group=group,
        split=split,
        test_value=as_label_text(test_value),
        fold=fold,
        slices=tuple(each for each in slices if each != time),
        time=time,
        transform=transform,
        swap=swap,
        drop_missing=drop_missing,
    )
    one_score = not isinstance(mapping.score, tuple)
    chosen = view or ("class:1" if one_score else "top:1")
    if one_score and chosen != "class:1":
        raise refuse("view", f"view={view!r} needs one score column per class: `score`.")
    steps = Steps()
    names = [*mapping.slices, *(each for each in (outcome, split, fold, group, model) if each)]
    with opened(source, table, names) as (rows, called, engine):

        def count(one: ModelRows) -> Aggregate:
            steps(0.0, 0.1, "Checking the columns")
            if isinstance(one.mapping.score, tuple):
                found = describe_view(one.rows, one.mapping, chosen, max_scores)
            else:
                found = describe(one.rows, one.mapping, max_scores)
            counted = Counter(found, one.mapping, n_ranges, steps).count()
            made = _aggregate(found, counted, one.mapping, name or called, max_scores)
            remarks = remarks_of(made, found, one.mapping, counted.warnings)
            return replace(made, view_key=chosen, noticed={"": remarks} if remarks else {})

        made = watched(
            lambda: count_models(rows, mapping, count, steps), engine, steps, progress, cancel
        )
    return replace(made, sources=(_fingerprint(made),))


def _aggregate(
    found: Description, counted: Pieces, mapping: ColumnMapping, name: str, max_scores: int
) -> Aggregate:
    return joined_pieces(
        counted.parts,
        counted.pieces,
        name=name,
        score_name=shortened(mapping.score_columns),
        outcome_name=str(mapping.outcome),
        positive_name=found.positive_name,
        class_names=found.class_names,
        time_name=mapping.time or "",
        time_kind=counted.time_kind,
        weighted=mapping.weight is not None,
        set_aside=dict(found.set_aside),
        fold_names=counted.fold_names,
        max_scores=max_scores,
    )


def rows_between(
    source: Any,
    low: float,
    high: float,
    *,
    outcome: str,
    score: str,
    transform: Transform = "none",
    swap: bool = False,
    table: str | None = None,
    limit: int = 100,
) -> pd.DataFrame:
    """Some rows of a range of scores, such as a bin, fetched from the source on demand.

    If there are more, the engine decides which ones: it stops as soon as it has enough.

    Parameters
    ----------
    source : path, glob, folder or frame
    low, high : float
        Least and largest probability.
    outcome, score, transform, swap, table
        As for `scan`.
    limit : int
        At most so many rows, 1 to 10,000.

    Returns
    -------
    DataFrame
        With all columns of the source.

    Raises
    ------
    ValueError
        If the range or the limit is invalid, or the source cannot be read.

    Examples
    --------
    >>> rows = pd.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.7, 0.8], "name": ["a", "b", "c"]})
    >>> rows_between(rows, 0.6, 0.75, outcome="y", score="p")
       y    p name
    0  1  0.7    b
    """
    if not 0.0 <= low <= high <= 1.0:
        raise ValueError(f"low and high must fulfil 0 <= low <= high <= 1, got {low} and {high}.")
    if not 1 <= limit <= 10_000:
        raise ValueError(f"limit must be from 1 to 10,000, got {limit}.")
    mapping = ColumnMapping(outcome=outcome, score=score, transform=transform, swap=swap)
    with opened(source, table, [outcome]) as (rows, _, _):
        check_columns(rows, mapping)
        inside = nw.col(SCORE).is_between(low, high)
        rows = rows.with_columns(probability(mapping, rounded=True).alias(SCORE)).filter(inside)
        return collected(rows.drop(SCORE).head(limit)).to_pandas()


def _fingerprint(aggregate: Aggregate) -> str:
    """SHA-256 over what was counted: no engine gives all bytes of all rows."""
    digest = hashlib.sha256(repr([astuple(part) for part in aggregate.parts]).encode())
    table, strata = aggregate.table, aggregate.strata
    for values in (table.key, table.outcome, table.rows, table.low, table.high):
        digest.update(np.ascontiguousarray(values).view(np.uint8).data)
    for codes in (strata.part, *strata.kept_apart()):
        digest.update(np.ascontiguousarray(codes[table.stratum]).view(np.uint8).data)
    return digest.hexdigest()


def __dir__() -> list[str]:
    return __all__
