"""Aggregate: predictions counted into cells, without their rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from calib.core.counted import CountedRows
from calib.core.views import BinaryView
from calib.numerics.arrays import IntArray, lock
from calib.numerics.canonical import canonical_order
from calib.numerics.cell_table import (
    MAX_CELLS,
    MAX_SCORES,
    CellTable,
    add_tables,
    count_rows,
    cut_cells,
)

SCHEMA_VERSION = 1
METADATA_KEY = b"calib.aggregate"
COLUMN_TYPES: Mapping[str, type] = {
    "stratum": np.int64,
    "key": np.int64,
    "outcome": np.bool_,
    "rows": np.int64,
    "weight": np.float64,
    "weight_sq": np.float64,
    "score_sum": np.float64,
    "low": np.float64,
    "high": np.float64,
}
NONE = -1  # a stratum without a split, a fold or a cluster


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """A part of the data that is counted: all rows of a model, or those with one value of a column.

    Attributes
    ----------
    model : str
        "" where there is one model.
    column, value : str
        Slice or time column and its value; "" for all rows.
    """

    model: str = ""
    column: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """What is kept apart when rows are counted; arrays of shape (s,), -1 where there is none.

    Attributes
    ----------
    part : ndarray of int
        Position in `Aggregate.parts`.
    test : ndarray of int
        1 for test rows, 0 for calibration rows.
    fold, group : ndarray of int
        Named fold, and cluster.
    """

    part: IntArray
    test: IntArray
    fold: IntArray
    group: IntArray

    def __post_init__(self) -> None:
        lock(self)

    def columns(self) -> dict[str, IntArray]:
        """Every array by name."""
        return {"part": self.part, "test": self.test, "fold": self.fold, "group": self.group}

    def kept_apart(self) -> tuple[IntArray, IntArray, IntArray]:
        """Split, fold and cluster of each stratum."""
        return self.test, self.fold, self.group


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    """Predictions counted into cells: per score, outcome and part of the data. No rows.

    Made by `calib.aggregate`. Aggregates of disjoint rows add up: ``march + april``. Where there
    are at most 200,000 distinct scores every cell is one score and nothing is lost. Otherwise cells
    are those of a fixed grid, which does not depend on the data.

    Attributes
    ----------
    parts : tuple of Part
    strata : Strata
    table : CellTable
        Its `stratum` is a position in `strata`.
    view_key : str
        Binary view of the predictions that was counted.
    name, score_name, outcome_name, positive_name : str
    class_names : tuple of str
    time_name : str
        Which column is time, "" where none is.
    time_kind : str
        Kind of its values, as NumPy's ``dtype.kind``: "M" of dates, which are counted by day.
    weighted : bool
        Whether rows have weights.
    set_aside : mapping of str to int
        Reason -> number of rows that are not counted.
    sources : tuple of str
        Fingerprints of the data that were counted, in order.
    fold_names : tuple of str
        Of the named folds; empty where there are none.
    max_scores : int
        Up to so many distinct scores every cell is one score.
    """

    parts: tuple[Part, ...]
    strata: Strata
    table: CellTable
    view_key: str = "class:1"
    name: str = "predictions"
    score_name: str = "score"
    outcome_name: str = "outcome"
    positive_name: str = "1"
    class_names: tuple[str, ...] = ("0", "1")
    time_name: str = ""
    time_kind: str = ""
    weighted: bool = False
    set_aside: Mapping[str, int] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    fold_names: tuple[str, ...] = ()
    max_scores: int = MAX_SCORES

    @property
    def exact(self) -> bool:
        """Whether every cell is one score, so that nothing is lost."""
        return self.table.exact

    @property
    def n_rows(self) -> int:
        """Number of rows that were counted, of all models."""
        whole = np.array([not part.column for part in self.parts])
        return int(self.table.rows[whole[self.strata.part[self.table.stratum]]].sum())

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the sources, or the only source's own."""
        if len(self.sources) == 1:
            return self.sources[0]
        return hashlib.sha256("\n".join(self.sources).encode()).hexdigest()

    @property
    def is_matrix(self) -> bool:
        """Never: one view of a matrix is one score per row."""
        return False

    @property
    def origin(self) -> None:
        """None: how the rows were read is not known."""
        return None

    @property
    def remarks(self) -> tuple[str, ...]:
        """None: what was noticed about the rows is not kept."""
        return ()

    def view_label(self, _view: str) -> str:
        """What a positive row is, in words."""
        return self.positive_name

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models; one empty name where there is only one."""
        return tuple(dict.fromkeys(part.model for part in self.parts))

    @property
    def columns(self) -> tuple[str, ...]:
        """Slice and time columns that were counted by."""
        return tuple(dict.fromkeys(part.column for part in self.parts if part.column))

    def __add__(self, other: Aggregate) -> Aggregate:
        """Both together: of rows that are in one of them only.

        Raises
        ------
        ValueError
            If the two count different things: another view, other columns, other folds, or
            clusters, whose names an aggregate does not keep.
        """
        _check_addable(self, other)
        joined = _Strata.of(self, other)
        table = add_tables(
            replace(self.table, stratum=joined.first[self.table.stratum]),
            replace(other.table, stratum=joined.second[other.table.stratum]),
        )
        most = max(self.max_scores, other.max_scores)
        if table.exact and table.n_cells > most:
            table = table.bounded()
        reasons = dict.fromkeys((*self.set_aside, *other.set_aside))
        return replace(
            self,
            parts=joined.parts,
            strata=joined.strata,
            table=table,
            name=self.name if self.name == other.name else f"{self.name} + {other.name}",
            weighted=self.weighted or other.weighted,
            set_aside={
                reason: self.set_aside.get(reason, 0) + other.set_aside.get(reason, 0)
                for reason in reasons
            },
            sources=tuple(sorted((*self.sources, *other.sources))),
            max_scores=most,
        )

    def rows(self, model: str = "") -> CountedRows:
        """All rows of a model, counted.

        Parameters
        ----------
        model : str
            One of `models`.

        Raises
        ------
        ValueError
            If nothing was counted for that model.
        """
        return self.by("", model).rows

    def by(self, column: str, model: str = "") -> CountedColumn:
        """All rows of a model, counted apart by the values of a column.

        More than 50,000 scores are put on the grid, which is all that an analysis reads.

        Parameters
        ----------
        column : str
            One of the slice columns, or the time column.
        model : str
            One of `models`.

        Raises
        ------
        ValueError
            If nothing was counted by that column, or for that model.
        """
        chosen = [i for i, p in enumerate(self.parts) if (p.model, p.column) == (model, column)]
        if not chosen:
            known = ", ".join(sorted({part.column for part in self.parts} - {""})) or "none"
            raise ValueError(
                f"column must be among those that were counted ({known}) for one of the models "
                f"({', '.join(map(repr, self.models))}), got {column!r} and {model!r}."
            )
        position = np.full(len(self.parts), -1)
        position[chosen] = np.arange(len(chosen))
        own = position[self.strata.part[self.table.stratum]] >= 0
        names = tuple(self.parts[i].value for i in chosen)
        entries = self.table.pick(own)
        if self.exact and self.table.n_cells > MAX_CELLS:
            entries = entries.bounded()
        if (self.strata.group[entries.stratum] != NONE).any():
            entries = entries.as_rows()
        test, fold, group = (self._named(own, entries) for own in self.strata.kept_apart())
        rows = CountedRows.of_table(
            entries,
            weighted=self.weighted,
            test=None if test is None else test == 1,
            fold=fold,
            group=group,
        )
        return CountedColumn(rows, names, position[self.strata.part[entries.stratum]])

    def _named(self, values: IntArray, entries: CellTable) -> IntArray | None:
        own = values[entries.stratum]
        return None if (own == NONE).all() else own

    def frame(self) -> pd.DataFrame:
        """One row per entry: its part, split, fold and cluster, its score, its outcome and sums."""
        at = self.table.stratum
        parts = [self.parts[i] for i in self.strata.part]
        return pd.DataFrame(
            {
                "model": np.array([part.model for part in parts], dtype=object)[at],
                "column": np.array([part.column for part in parts], dtype=object)[at],
                "value": np.array([part.value for part in parts], dtype=object)[at],
                "test": self.strata.test[at],
                "fold": self.strata.fold[at],
                "group": self.strata.group[at],
                "score": self.table.score_sum / self.table.weight,
                "outcome": self.table.outcome.astype(np.int64),
                "rows": self.table.rows,
                "weight": self.table.weight,
                "weight_sq": self.table.weight_sq,
                "low": self.table.low,
                "high": self.table.high,
            }
        )

    def save(self, path: str | Path) -> None:
        """Write everything to one Parquet file.

        Parameters
        ----------
        path : str or Path
        """
        columns = {name: pa.array(values) for name, values in self.table.columns().items()}
        known = json.dumps(_metadata(self), ensure_ascii=False).encode()
        pq.write_table(
            pa.table(columns).replace_schema_metadata({METADATA_KEY: known}),
            Path(path),
            compression="zstd",
        )

    @staticmethod
    def is_saved_at(path: str | Path) -> bool:
        """Whether a file says that it is an aggregate.

        Parameters
        ----------
        path : str or Path
        """
        try:
            return METADATA_KEY in (pq.read_schema(Path(path)).metadata or {})
        except (OSError, ValueError, pa.ArrowException):
            return False

    @classmethod
    def load(cls, path: str | Path) -> Aggregate:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        ValueError
            If the file is none, is damaged, or is of a later version.
        """
        return _read(Path(path))


@dataclass(frozen=True, slots=True, eq=False)
class CountedColumn:
    """Counted rows, and which value of a column each entry has.

    Attributes
    ----------
    rows : CountedRows
    names : tuple of str
        Values of the column.
    codes : ndarray of int, shape (e,)
        Position in `names` of each entry.
    """

    rows: CountedRows
    names: tuple[str, ...]
    codes: IntArray

    def __post_init__(self) -> None:
        lock(self)


def aggregate_rows(
    rows: BinaryView,
    columns: Mapping[str, tuple[tuple[str, ...], IntArray]],
    *,
    max_scores: int = MAX_SCORES,
    model: str = "",
    **named: Any,
) -> Aggregate:
    """Count rows: all of them, and apart by each column.

    Parameters
    ----------
    rows : BinaryView
    columns : mapping of str to (tuple of str, ndarray of int of shape (n,))
        Values of each column, and which of them each row has.
    max_scores : int
        Up to so many distinct scores every cell is one score.
    model : str
    **named
        Further attributes of `Aggregate`.
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
        parts, pieces, weighted=rows.weight is not None, max_scores=max_scores, **named
    )


def joined_pieces(
    parts: Sequence[Part], pieces: Sequence[tuple[Strata, CellTable]], **named: Any
) -> Aggregate:
    """An aggregate of what was counted column by column.

    Parameters
    ----------
    parts : sequence of Part
    pieces : sequence of (Strata, CellTable)
        Each table with its own strata, numbered from 0.
    **named
        Further attributes of `Aggregate`.
    """
    strata, tables = [], []
    n_before = 0
    for own, table in pieces:
        strata.append(own)
        tables.append(replace(table, stratum=table.stratum + n_before))
        n_before += len(own.part)
    return Aggregate(
        tuple(parts),
        Strata(*(np.concatenate([getattr(s, n) for s in strata]) for n in Strata.__slots__)),
        CellTable(
            tables[0].exact,
            **{
                name: np.concatenate([getattr(table, name) for table in tables])
                for name in COLUMN_TYPES
            },
        ),
        **named,
    )


def _kept_apart(view: BinaryView) -> dict[str, IntArray]:
    found = {"test": view.test, "fold": view.fold}
    kept = {name: own.astype(np.int64) for name, own in found.items() if own is not None}
    if view.group is not None:
        # Numbered as `CountedRows` numbers clusters.
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
    own = {name: values[firsts] for name, values in kept.items()}
    none = np.full(len(firsts), NONE, dtype=np.int64)
    part = first_part + (np.zeros(len(firsts), dtype=np.int64) if codes is None else codes[firsts])
    return Strata(part, *(own.get(name, none) for name in ("test", "fold", "group"))), table


def _number(keys: list[IntArray]) -> tuple[IntArray | None, IntArray]:
    """Number of each row's combination of codes, and a row that has it."""
    if not keys:
        return None, np.zeros(1, dtype=np.int64)
    code = keys[0]
    for other in keys[1:]:
        code = code * (int(other.max()) + 1) + other
    _, firsts, stratum = np.unique(code, return_index=True, return_inverse=True)
    return stratum.astype(np.int64), firsts


@dataclass(frozen=True, slots=True, eq=False)
class _Strata:
    """Strata of two aggregates as one list, and where each one's own lie in it."""

    parts: tuple[Part, ...]
    strata: Strata
    first: IntArray
    second: IntArray

    @classmethod
    def of(cls, one: Aggregate, other: Aggregate) -> _Strata:
        parts = tuple(dict.fromkeys((*one.parts, *other.parts)))
        place = {part: i for i, part in enumerate(parts)}
        rows = [_moved(each, place) for each in (one, other)]
        both = np.concatenate(rows)
        distinct, number = np.unique(both, axis=0, return_inverse=True)
        number = number.reshape(-1).astype(np.int64)
        n = len(rows[0])
        return cls(parts, Strata(*distinct.T.copy()), number[:n], number[n:])


def _moved(aggregate: Aggregate, place: Mapping[Part, int]) -> NDArray[np.int64]:
    part = np.array([place[part] for part in aggregate.parts], dtype=np.int64)
    strata = aggregate.strata
    return np.column_stack([part[strata.part], strata.test, strata.fold, strata.group])


def _check_addable(one: Aggregate, other: Aggregate) -> None:
    for name in ("view_key", "class_names", "time_name", "time_kind", "fold_names"):
        own, theirs = getattr(one, name), getattr(other, name)
        if own != theirs:
            raise ValueError(
                f"Only aggregates of the same {name} can be added, got {own!r} and {theirs!r}."
            )
    columns, others = ({part.column for part in each.parts} for each in (one, other))
    if columns != others:
        odd = min(columns ^ others)
        raise ValueError(
            "Only aggregates that were counted by the same columns can be added; one of these was "
            f"not counted by {odd!r}."
        )
    if any((each.strata.group != NONE).any() for each in (one, other)):
        raise ValueError(
            "Aggregates with clusters cannot be added: whether a cluster has rows in both is not "
            "known. Count all rows together instead."
        )


def _metadata(aggregate: Aggregate) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "exact": aggregate.exact,
        "parts": [[part.model, part.column, part.value] for part in aggregate.parts],
        "strata": {name: own.tolist() for name, own in aggregate.strata.columns().items()},
        "view_key": aggregate.view_key,
        "name": aggregate.name,
        "score_name": aggregate.score_name,
        "outcome_name": aggregate.outcome_name,
        "positive_name": aggregate.positive_name,
        "class_names": list(aggregate.class_names),
        "time_name": aggregate.time_name,
        "time_kind": aggregate.time_kind,
        "weighted": aggregate.weighted,
        "set_aside": dict(aggregate.set_aside),
        "sources": list(aggregate.sources),
        "fold_names": list(aggregate.fold_names),
        "max_scores": aggregate.max_scores,
    }


def _read(path: Path) -> Aggregate:
    try:
        table = pq.read_table(path)
        known = json.loads((table.schema.metadata or {})[METADATA_KEY])
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise ValueError(
            f"{path.name} is not an aggregate that calib saved, or it is damaged. Count the "
            "predictions again with calib.aggregate."
        ) from error
    version = known.pop("schema_version", None) if isinstance(known, dict) else None
    if version != SCHEMA_VERSION:
        raise ValueError(
            f"{path.name} has schema version {version!r}; this calib reads version "
            f"{SCHEMA_VERSION}. Update calib, or count the predictions again."
        )
    try:
        return _decoded(table, known)
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise ValueError(
            f"{path.name} is damaged: its cells contradict each other. Count the predictions "
            "again with calib.aggregate."
        ) from error


def _decoded(table: pa.Table, known: dict[str, Any]) -> Aggregate:
    columns: dict[str, Any] = {
        name: np.array(table.column(name).to_numpy(), dtype=kind)
        for name, kind in COLUMN_TYPES.items()
    }
    strata = Strata(
        **{k: np.array(v, dtype=np.int64).reshape(-1) for k, v in known.pop("strata").items()}
    )
    parts = tuple(Part(*map(str, part)) for part in known.pop("parts"))
    cells = CellTable(exact=bool(known.pop("exact")), **columns)
    _check_cells(cells, strata, len(parts))
    for name in ("class_names", "sources", "fold_names"):
        known[name] = tuple(map(str, known[name]))
    return Aggregate(parts, strata, cells, **known)


def _check_cells(cells: CellTable, strata: Strata, n_parts: int) -> None:
    """Refuse sums that no rows can have."""
    own = strata.columns().values()
    sound = (
        len(cells) > 0
        and len({len(values) for values in own}) == 1
        and bool(((cells.stratum >= 0) & (cells.stratum < len(strata.part))).all())
        and bool(((strata.part >= 0) & (strata.part < n_parts)).all())
        and bool((cells.rows > 0).all())
        and bool((np.isfinite(cells.weight) & (cells.weight > 0)).all())
        and bool((np.isfinite(cells.weight_sq) & (cells.weight_sq > 0)).all())
        and bool(((cells.low >= 0) & (cells.low <= cells.high) & (cells.high <= 1)).all())
        and bool(np.isfinite(cells.score_sum).all())
    )
    if not sound:
        raise ValueError("Cells must have rows, weights above 0 and scores within [0, 1].")
