"""From rows to an Aggregate, and the sum of Aggregates of disjoint rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from calib.data.aggregate import Aggregate
from calib.data.base import Data, check_data
from calib.data.origin import conversion_of
from calib.data.predictions import Predictions, rows_of
from calib.data.slicing import (
    MAX_VALUES,
    NO_SLICE,
    Part,
    Strata,
    crossed_name,
    days_or_values,
    joined_strata,
    singles_and_pairs,
    slice_by,
    too_many,
)
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray, canonical_order, run_starts
from calib.numerics.cells import (
    MAX_EXACT_SCORES,
    CellTable,
    count_rows,
    cut_cells,
    join_tables,
    merge_entries,
)
from calib.text import count


def aggregate(
    predictions: Predictions,
    slices: Sequence[str | tuple[str, str]] | None = None,
    *,
    view: str = "",
    n_ranges: int = 5,
    max_scores: int = MAX_EXACT_SCORES,
) -> Aggregate:
    """Count predictions into cells. The result contains no rows.

    Parameters
    ----------
    predictions : Predictions
    slices : sequence of str or pair of str, optional
        Slice columns by which rows are counted. Two columns in a tuple are crossed. Default: all
        columns, without crossings.
    view : str
        Binary view that is counted, see `Predictions.view`. Default: class 1 for one score per row,
        and the top label for a matrix.
    n_ranges : int
        Number of ranges into which a slice column with many numbers is cut.
    max_scores : int
        If there are at most this many distinct scores, every cell is one score. With more, scores
        are grouped in the cells of a fixed grid.

    Raises
    ------
    ValueError
        If a slice column is unknown, it or a crossing has more than 1,000 values, or the view does
        not exist.

    Examples
    --------
    >>> predictions = Predictions.from_arrays(
    ...     [0, 1, 1], [0.2, 0.7, 0.7], columns={"site": ["north", "north", "south"]}
    ... )
    >>> aggregate(predictions).frame()[["column", "value", "score", "outcome", "rows"]]
      column  value  score  outcome  rows
    0                  0.2        0     1
    1                  0.7        1     2
    2   site  north    0.2        0     1
    3   site  north    0.7        1     1
    4   site  south    0.7        1     1
    """
    check_data(predictions)
    if predictions.far is not None and predictions.far.n_beyond:
        warnings.warn(
            f"Counts hold probabilities. {predictions.far.beyond}, so log losses and fits on the "
            "log-odds change. Analyse the rows to keep them.",
            RuntimeWarning,
            stacklevel=2,
        )
    chosen = view or predictions.default_view
    names_of_slices = [name for name in predictions.columns if name != predictions.time_name]
    time = predictions.time_name
    singles, pairs = singles_and_pairs(names_of_slices if slices is None else slices, time)
    columns = {}
    for names in (*((name,) for name in singles), *pairs):
        cut = slice_by(predictions.columns, names, n_ranges=n_ranges)
        if len(cut) > MAX_VALUES:
            raise ValueError(too_many(names, len(cut)))
        columns[crossed_name(names)] = cut.names, cut.codes
    if time:
        columns[time] = days_or_values(predictions.columns[time])
    return aggregate_rows(
        predictions.view(chosen),
        columns,
        max_scores=max_scores,
        view_key=chosen,
        name=predictions.name,
        score_name=predictions.score_name,
        outcome_name=predictions.outcome_name,
        positive_name=predictions.view_label(chosen),
        class_names=predictions.class_names,
        time_name=time,
        time_kind=predictions.columns[time].dtype.kind if time else "",
        set_aside=dict(predictions.set_aside),
        sources=predictions.sources,
        fold_names=predictions.fold_names,
        **conversion_of(predictions.origin),
    )


def aggregate_rows(
    rows: BinaryView,
    columns: Mapping[str, tuple[tuple[str, ...], IntArray]],
    *,
    max_scores: int = MAX_EXACT_SCORES,
    model: str = "",
    **attributes: Any,
) -> Aggregate:
    """Count rows: all of them, and apart by each column.

    `columns` gives the values of each column by its name, and which of them each row has. Up to
    `max_scores` distinct scores, every cell is one score. `attributes` are further ones of the
    Aggregate.
    """
    kept = _kept_apart(rows)
    parts = [Part(model)]
    whole = _count(rows, kept, 0, None, max_scores, None)
    pieces = [whole]
    cut = None if whole[1].exact else cut_cells(whole[1])
    for column, (names, codes) in columns.items():
        pieces.append(_count(rows, kept, len(parts), codes, max_scores, cut))
        parts += [Part(model, column, name) for name in names]
    return joined_pieces(
        parts, pieces, weighted=rows.weight is not None, max_scores=max_scores, **attributes
    )


def aggregate_all(data: Data, view: str, *, max_scores: int, **attributes: Any) -> Aggregate:
    """All rows of a view as one part, without clusters. `attributes` are those of the Aggregate."""
    if isinstance(data, Aggregate):
        whole = np.array([not part.column for part in data.parts])
        table = data.table.pick(whole[data.strata.part[data.table.stratum]])
        if table.exact and table.n_cells > max_scores:
            table = table.bounded()
        strata, table = merged_strata(data.strata, table, part=0, group=NO_SLICE)
        return Aggregate(
            (Part(),), strata, table, weighted=data.weighted, max_scores=max_scores, **attributes
        )
    rows = replace(rows_of(data).view(view), group=None)
    return aggregate_rows(rows, {}, max_scores=max_scores, **attributes)


def merged_strata(strata: Strata, table: CellTable, **same: int) -> tuple[Strata, CellTable]:
    """Give strata the `same` values, and merge those that then differ in nothing."""
    alike = {name: np.full(len(strata.part), value) for name, value in same.items()}
    _, strata, (number,) = joined_strata(((Part(),), replace(strata, **alike)))
    return strata, merge_entries(replace(table, stratum=number[table.stratum]))


def joined_pieces(
    parts: Sequence[Part], pieces: Sequence[tuple[Strata, CellTable]], **attributes: Any
) -> Aggregate:
    """An aggregate of what was counted column by column.

    Each table has its own strata, numbered from 0. `attributes` are further ones of the Aggregate.
    """
    strata, tables = [], []
    n_before = 0
    for strata_of_piece, table in pieces:
        strata.append(strata_of_piece)
        tables.append(replace(table, stratum=table.stratum + n_before))
        n_before += len(strata_of_piece.part)
    return Aggregate(
        tuple(parts),
        Strata(*(np.concatenate([getattr(s, n) for s in strata]) for n in Strata.__slots__)),
        join_tables(tables),
        **attributes,
    )


def with_clusters_by_content(data: Aggregate) -> Aggregate:
    """The same counts of one model, whose clusters have the numbers that rows would give them.

    Folds and resamples of clusters follow their numbers.
    """
    rows = data.by("").rows.entries
    if rows.group is None:
        return data
    columns = (rows.score, rows.weight, rows.fold)
    order, codes = canonical_order(columns, rows.outcome, rows.group)
    number = np.full(int(rows.group.max()) + 1, NO_SLICE)
    number[rows.group[order]] = codes
    numbered = replace(data.strata, group=number[data.strata.group])
    parts, strata, (position,) = joined_strata((data.parts, numbered))
    table = replace(data.table, stratum=position[data.table.stratum])
    return replace(data, parts=parts, strata=strata, table=merge_entries(table))


def join_models(models: Mapping[str, Aggregate]) -> Aggregate:
    """Counts of several models as one aggregate; `Aggregate.of_model` takes one out of it.

    The models must be counted in the same way. If one is on the grid, all are put on it. Raises
    ValueError if two have other classes, folds or times.
    """
    first_name, first = next(iter(models.items()))
    exact = all(counted.exact for counted in models.values())
    parts: list[Part] = []
    pieces = []
    for model, one in models.items():
        for name in ("class_names", "positive_name", "fold_names", "time_kind"):
            if getattr(one, name) != getattr(first, name):
                raise ValueError(
                    f"Models that are counted together must have the same {name}, got "
                    f"{getattr(first, name)!r} of {first_name!r} and {getattr(one, name)!r} of "
                    f"{model!r}. Count them one at a time."
                )
        table = one.table if exact else one.table.bounded()
        pieces.append((replace(one.strata, part=one.strata.part + len(parts)), table))
        parts += [replace(part, model=model) for part in one.parts]
    joined = joined_pieces(parts, pieces)
    steps = {model: (one.steps or {}).get("", 0.0) for model, one in models.items()}
    own_scores = len({one.score_name for one in models.values()}) > 1
    return replace(
        first,
        parts=joined.parts,
        strata=joined.strata,
        table=joined.table,
        steps={model: step for model, step in steps.items() if step},
        score_name="" if own_scores else first.score_name,
        set_aside={
            f"{model}: {reason}": n
            for model, one in models.items()
            for reason, n in one.set_aside.items()
        },
        noticed={model: one.remarks for model, one in models.items() if one.remarks},
    )


def _kept_apart(view: BinaryView) -> dict[str, IntArray]:
    splits = {"test": view.test, "fold": view.fold}
    kept = {name: values.astype(np.int64) for name, values in splits.items() if values is not None}
    if view.group is not None:
        # Clusters get the numbers that `CountedRows` gives them.
        columns = (view.score, view.weight, view.fold)
        order, codes = canonical_order(columns, view.outcome, view.group)
        assert codes is not None
        kept["group"] = codes[np.argsort(order)]
    return kept


def _count(
    view: BinaryView,
    kept: Mapping[str, IntArray],
    first_part: int,
    codes: IntArray | None,
    max_scores: int,
    cut: IntArray | None,
) -> tuple[Strata, CellTable]:
    """One pass over the rows, and the strata that they are counted in."""
    keys = ([] if codes is None else [codes]) + list(kept.values())
    stratum, firsts = _number(keys)
    rows = (view.score, view.outcome, view.weight, stratum)
    table = count_rows(*rows, max_scores=max_scores, cut=cut)
    by_stratum = {name: values[firsts] for name, values in kept.items()}
    none = np.full(len(firsts), NO_SLICE, dtype=np.int64)
    part = first_part + (np.zeros(len(firsts), dtype=np.int64) if codes is None else codes[firsts])
    return Strata(part, *(by_stratum.get(name, none) for name in ("test", "fold", "group"))), table


def _number(keys: list[IntArray]) -> tuple[IntArray | None, IntArray]:
    """Number of each row's combination of codes, and a row that has it."""
    if not keys:
        return None, np.zeros(1, dtype=np.int64)
    code = keys[0]
    for other in keys[1:]:
        code = code * (int(other.max()) + 1) + other
    _, firsts, stratum = np.unique(code, return_index=True, return_inverse=True)
    return stratum.astype(np.int64), firsts


# A file of scores with fewer digits must be recognised as the same rows.
DIGITS = 6
# A file that was written with fewer digits has scores that differ by less.
MAX_DISTANCE_OF_EQUAL_SCORES = 1e-9
# If scores and outcomes are mostly distinct, two samples share at most about 60% of them by chance.
MAX_SHARE_OF_EQUAL_ROWS = 0.9
MAX_ROWS_PER_SCORE = 1.5
# Up to this number of counts, the name of the sum contains all names.
MAX_LISTED_NAMES = 3


def add_counts(counts: Mapping[str, Aggregate]) -> Aggregate:
    """The sum of the counts of disjoint rows.

    Parameters
    ----------
    counts : mapping of str to Aggregate
        Counts of one model by name, for example the name of the file; names are used in messages.

    Raises
    ------
    ValueError
        If two are of the same data, in any order and with scores of fewer digits, or nearly all
        their scores are the same; if only some have weights; or if they cannot be added.

    Examples
    --------
    >>> from calib.data.aggregating import aggregate
    >>> from calib.data.predictions import Predictions
    >>> def counted(scores):
    ...     return aggregate(Predictions.from_arrays([0, 1], scores))
    >>> add_counts({"a": counted([0.2, 0.7]), "b": counted([0.3, 0.7])}).frame()["rows"].tolist()
    [1, 1, 2]
    >>> add_counts({"a": counted([0.2, 0.7]), "b": counted([0.2, 0.7])})
    Traceback (most recent call last):
    ...
    ValueError: a and b are of the same data, so rows would count twice. Leave one out.
    """
    (first, whole), *others = counts.items()
    for name, other in others:
        if whole.weighted != other.weighted:
            weighted, unweighted = (first, name) if whole.weighted else (name, first)
            raise ValueError(
                f"Counts that are added must all have row weights, or none: {weighted} has, and "
                f"{unweighted} has not."
            )
    _check_disjoint(counts)
    for name, other in others:
        try:
            whole = whole + other
        except ValueError as error:
            raise ValueError(f"{first} and {name} cannot be added. {error}") from error
    names = list(dict.fromkeys(one.name for one in counts.values()))
    rest = f" and {len(names) - MAX_LISTED_NAMES} more" if len(names) > MAX_LISTED_NAMES else ""
    return replace(whole, name=" + ".join(names[:MAX_LISTED_NAMES]) + rest)


def _check_disjoint(counts: Mapping[str, Aggregate]) -> None:
    entries = {name: one.rows().entries for name, one in counts.items()}
    rounded = {name: _rounded(rows) for name, rows in entries.items()}
    exact = (name for name, one in counts.items() if one.exact)
    distinct = {name: _mostly_distinct(entries[name]) for name in exact}
    for one, other in combinations(counts, 2):
        same = set(counts[one].sources) & set(counts[other].sources)
        alike = np.array_equal(rounded[one], rounded[other])
        if same or alike:
            reason = "of the same data" if same else "of the same scores and outcomes"
            raise ValueError(
                f"{one} and {other} are {reason}, so rows would count twice. Leave one out."
            )
        fewer, more = sorted((distinct.get(name, np.empty(0)) for name in (one, other)), key=len)
        n_shared = _n_shared(fewer, more) if len(fewer) else 0
        if n_shared > MAX_SHARE_OF_EQUAL_ROWS * len(fewer):
            raise ValueError(
                f"{one} and {other} share {count(n_shared)} of {count(len(fewer))} scores with "
                "their outcomes, so rows would count twice. Add counts of different rows."
            )


def _rounded(rows: BinaryView) -> FloatArray:
    """Rounded scores, and the shares of rows, weights and positive weights that have them."""
    cells = rows.cells()
    score = np.round(cells.score, DIGITS) + 0.0
    starts = run_starts(score)
    sums = (
        np.add.reduceat(values, starts) for values in (cells.rows, cells.weight, cells.positive)
    )
    return np.array([score[starts], *(np.round(total / total.sum(), 9) for total in sums)])


def _mostly_distinct(rows: BinaryView) -> FloatArray:
    """Pairs of score and outcome as numbers; none if many rows have the same pair."""
    pairs = np.unique(rows.score + 2.0 * rows.outcome)  # Scores are at most 1.
    return pairs if rows.n_rows <= MAX_ROWS_PER_SCORE * len(pairs) else np.empty(0)


def _n_shared(fewer: FloatArray, more: FloatArray) -> int:
    after = np.searchsorted(more, fewer)
    beside = (more[np.clip(at, 0, len(more) - 1)] for at in (after - 1, after))
    near = [np.abs(neighbour - fewer) < MAX_DISTANCE_OF_EQUAL_SCORES for neighbour in beside]
    return int(np.any(near, axis=0).sum())
