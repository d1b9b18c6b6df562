"""Aggregate: predictions that were counted into cells, without the rows."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar
from weakref import ref

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from calib.data import aggregate_file
from calib.data.base import Data
from calib.data.counted import CountedRows
from calib.data.file_options import Columns, Transform
from calib.data.origin import Origin, Remark
from calib.data.slicing import (
    MISSING,
    NO_SLICE,
    Part,
    Slicing,
    Strata,
    crossed_name,
    crossing_of,
    joined_strata,
)
from calib.data.views import BinaryView
from calib.numerics.arrays import IntArray, Locked, arrays_of
from calib.numerics.cells import (
    MAX_CELLS,
    MAX_EXACT_SCORES,
    CellTable,
    add_tables,
    cell_scores,
)
from calib.numerics.score_grid import step_of
from calib.text import quoted


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False)
class Aggregate(Data):
    """Predictions counted into cells by score, outcome and part of the data, without the rows.

    `calib.aggregate` and `calib.scan` make it. Aggregates of disjoint rows can be added:
    ``march + april``. With at most 200,000 distinct scores, every cell is one score and no
    information about the scores is lost. With more, scores are grouped in the cells of a fixed
    grid, which does not depend on the data.

    Attributes
    ----------
    parts : tuple of Part
    strata : Strata
    table : CellTable
        The counts. Its `stratum` is a position in `strata`.
    view_key : str
        The binary view of the predictions that was counted.
    name, score_name, outcome_name, positive_name : str
        Names of the data, its columns and the positive class. `score_name` is "" if there is one
        score column per model.
    class_names : tuple of str
    time_name : str
        Name of the time column, or "" if there is none.
    time_kind : str
        ``dtype.kind`` of the time column in NumPy. Dates ("M") are counted by day.
    weighted : bool
        Whether rows have weights.
    set_aside : mapping of str to int
        Number of rows that were not counted, by reason. With several models the keys are
        "model: reason".
    sources : tuple of str
        Fingerprints of the data that were counted, in order.
    fold_names : tuple of str
        Names of the named folds, empty if there are none.
    max_scores : int
        If there are at most this many distinct scores, every cell is one score.
    transform : str
    swap : bool
        How scores were converted to probabilities before they were counted, as in `calib.load`. An
        exported calibrator begins with this conversion.
    noticed : mapping of str to tuple of Remark
        Remarks about the rows that `calib.scan` counted, by model. Each is a sentence with a code.
        A saved file and a sum of aggregates have none.
    steps : mapping of str to float
        The step of which all scores of a model are multiples, by model; see
        `calib.numerics.score_grid`. Models of full precision have no entry, and counts that were
        saved by version 0.1 have none at all. By default the steps are found.
    """

    has_rows: ClassVar[bool] = False
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
    max_scores: int = MAX_EXACT_SCORES
    transform: Transform = "none"
    swap: bool = False
    noticed: Mapping[str, tuple[Remark, ...]] = field(default_factory=dict)
    steps: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if self.steps is None:
            object.__setattr__(self, "steps", self._steps_of_scores() if self.exact else {})

    def _steps_of_scores(self) -> dict[str, float]:
        of_entry = np.array([part.model for part in self.parts])[
            self.strata.part[self.table.stratum]
        ]
        steps = {model: step_of(self.table.low[of_entry == model]) for model in self.models}
        return {model: step for model, step in steps.items() if step}

    @property
    def exact(self) -> bool:
        """Whether every cell is one score, so that metrics are exact."""
        return self.table.exact

    @property
    def n_rows(self) -> int:
        """Number of rows that were counted, summed over the models."""
        whole = np.array([not part.column for part in self.parts])
        return int(self.table.rows[whole[self.strata.part[self.table.stratum]]].sum())

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the sources. If there is one source, its fingerprint."""
        if len(self.sources) == 1:
            return self.sources[0]
        return hashlib.sha256("\n".join(self.sources).encode()).hexdigest()

    @property
    def identity(self) -> Hashable:
        """A weak reference: counts are compared by identity."""
        return ref(self)

    @property
    def default_view(self) -> str:
        """The view that was counted."""
        return self.view_key

    @property
    def is_matrix(self) -> bool:
        """Always False: an aggregate holds one binary view, which has one score per row."""
        return False

    @property
    def is_split(self) -> bool:
        """Whether calibration and test rows are counted separately."""
        return bool((self.strata.test != NO_SLICE).any())

    @property
    def origin(self) -> Origin | None:
        """The conversion of the scores. Counts keep nothing else of how the rows were read."""
        conversion = Origin(Columns(transform=self.transform, swap=self.swap))
        return None if conversion == Origin() else conversion

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Remarks about the rows of all models."""
        return tuple(remark for of_model in self.noticed.values() for remark in of_model)

    def check_view(self, view: str) -> None:
        """Raise a ValueError if another view was counted."""
        if view != self.view_key:
            raise ValueError(f"They were counted only in the view {self.view_key}.")

    def view_label(self, _view: str) -> str:
        """Description of the positive rows."""
        return self.positive_name

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models. If there is only one model, its name is empty."""
        return tuple(dict.fromkeys(part.model for part in self.parts))

    @property
    def columns(self) -> tuple[str, ...]:
        """Slice and time columns by which the rows were counted, without crossings."""
        crossed = set(map(crossed_name, self.crossings))
        return tuple(column for column in self._counted_columns() if column not in crossed)

    @property
    def crossings(self) -> tuple[tuple[str, str], ...]:
        """Pairs of columns that were counted together. Pass their `crossed_name` to `by`."""
        counted = self._counted_columns()
        return tuple(pair for name in counted if (pair := crossing_of(name, counted)))

    def _counted_columns(self) -> dict[str, None]:
        return dict.fromkeys(part.column for part in self.parts if part.column)

    def __add__(self, other: Aggregate) -> Aggregate:
        """Add the counts of two aggregates. No row may be counted in both.

        Raises
        ------
        ValueError
            If views, columns, folds or the conversions of the scores differ, or rows have clusters
            (an aggregate does not keep their names).
        """
        _check_addable(self, other)
        both = (self, other)
        parts, strata, numbers = joined_strata(*((one.parts, one.strata) for one in both))
        table = add_tables(
            *(
                replace(one.table, stratum=number[one.table.stratum])
                for one, number in zip(both, numbers, strict=True)
            )
        )
        max_scores = max(self.max_scores, other.max_scores)
        if table.exact and table.n_cells > max_scores:
            table = table.bounded()
        set_aside = Counter(self.set_aside)
        set_aside.update(other.set_aside)
        return replace(
            self,
            parts=parts,
            strata=strata,
            table=table,
            name=self.name if self.name == other.name else f"{self.name} + {other.name}",
            weighted=self.weighted or other.weighted,
            set_aside=dict(set_aside),
            sources=tuple(sorted((*self.sources, *other.sources))),
            max_scores=max_scores,
            noticed={},
            steps=_steps_of_both(self, other),
        )

    def of_model(self, model: str) -> Aggregate:
        """The counts of one of several models, as if it had been counted alone.

        Parameters
        ----------
        model : str
            One of `models`.

        Raises
        ------
        ValueError
            If nothing was counted for that model.

        Examples
        --------
        >>> import pandas as pd
        >>> import calib
        >>> rows = pd.DataFrame({"y": [0, 1], "p_old": [0.2, 0.7], "p_new": [0.1, 0.8]})
        >>> counted = calib.scan(rows, outcome="y", models=["p_old", "p_new"])
        >>> counted.models, counted.of_model("p_new").frame()["score"].tolist()
        (('p_old', 'p_new'), [0.1, 0.8])
        """
        self._check_model(model)
        chosen = [i for i, part in enumerate(self.parts) if part.model == model]
        place = np.full(len(self.parts), -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        strata = np.flatnonzero(place[self.strata.part] >= 0)
        stratum = np.full(len(self.strata.part), -1, dtype=np.int64)
        stratum[strata] = np.arange(len(strata))
        part, *codes_of_strata = (codes[strata] for codes in arrays_of(self.strata).values())
        entries = self.table.pick(stratum[self.table.stratum] >= 0)
        return replace(
            self,
            parts=tuple(replace(self.parts[i], model="") for i in chosen),
            strata=Strata(place[part], *codes_of_strata),
            table=replace(entries, stratum=stratum[entries.stratum]),
            name=f"{self.name}: {model}" if model else self.name,
            score_name=self.score_name or model,
            steps={"": self.steps[model]} if self.steps and model in self.steps else {},
            set_aside=self._set_aside_of(model),
            noticed={"": self.noticed[model]} if model in self.noticed else {},
            sources=tuple(sorted(_source_of(source, model) for source in self.sources)),
        )

    def _set_aside_of(self, model: str) -> dict[str, int]:
        """Rows of a model that were not counted, by reason."""
        if not model:
            return dict(self.set_aside)

        def owner(reason: str) -> str:
            fitting = (name for name in self.models if reason.startswith(f"{name}: "))
            return max(fitting, key=len, default="")

        return {
            reason.removeprefix(f"{model}: "): n
            for reason, n in self.set_aside.items()
            if owner(reason) == model
        }

    def _check_model(self, model: str) -> None:
        if model not in self.models:
            names = ", ".join(map(repr, self.models[:10]))
            raise ValueError(
                f"model must be one of those that were counted ({names}), got {model!r}. "
                "Aggregate.of_model gives the counts of one model."
            )

    def rows(self, model: str = "") -> CountedRows:
        """The counts of all rows of a model.

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
        """The counts of all rows of a model, separately for each value of a column.

        More than 50,000 distinct scores are grouped on the grid, as in an analysis.

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
        self._check_model(model)
        chosen = [i for i, p in enumerate(self.parts) if (p.model, p.column) == (model, column)]
        if not chosen:
            columns = ", ".join(sorted({part.column for part in self.parts} - {""})) or "none"
            raise ValueError(
                f"column must be among those that were counted ({columns}), got {column!r}."
            )
        position = np.full(len(self.parts), -1)
        position[chosen] = np.arange(len(chosen))
        is_chosen = position[self.strata.part[self.table.stratum]] >= 0
        names = tuple(self.parts[i].value for i in chosen)
        entries = self.table.pick(is_chosen)
        if self.exact and self.table.n_cells > MAX_CELLS:
            entries = entries.bounded()
        if (self.strata.group[entries.stratum] != NO_SLICE).any():
            entries = self._in_order_of_rows(entries.as_rows())
        _, *codes_of_strata = arrays_of(self.strata).values()
        test, fold, group = (self._if_any(is_chosen, entries) for is_chosen in codes_of_strata)
        rows = CountedRows.of_table(
            entries,
            weighted=self.weighted,
            test=None if test is None else test == 1,
            fold=fold,
            group=group,
            step=(self.steps or {}).get(model, 0.0),
        )
        return CountedColumn(rows, names, position[self.strata.part[entries.stratum]])

    def _in_order_of_rows(self, rows: CellTable) -> CellTable:
        """Rows of clusters, sorted as `CountedRows.of_rows` sorts them: sums have the same digits.

        Sums of rows in another order are rounded in another way. A fit can make a difference of
        1e-9 of it, and a bin that ends at another row.
        """
        group, fold = (codes[rows.stratum] for codes in (self.strata.group, self.strata.fold))
        return rows.pick(np.lexsort([group, fold, rows.weight, rows.outcome, cell_scores(rows)]))

    def counted(self, view: str) -> CountedRows:
        """The counts of all rows. Raises ValueError if another view was counted."""
        if view != self.view_key:
            raise ValueError(
                "The view of the settings must be the one that was counted, "
                f"{self.view_key!r}, got {view!r}. Count the predictions again in that view."
            )
        return self.rows()

    def crossable_with(self, column: str) -> list[str]:
        """Columns that were counted together with this one."""
        pairs = (pair for pair in self.crossings if column in pair)
        return [name for pair in pairs for name in pair if name != column]

    def holds_dates(self, column: str) -> bool:
        """Whether a column is the time column and has dates."""
        return column == self.time_name and self.time_kind == "M"

    def sliced(
        self, columns: Sequence[str], _view: str, _n_ranges: int
    ) -> tuple[Slicing, BinaryView]:
        """The slices by which rows were counted, and their entries.

        Raises ValueError if they were not counted by the column, or by the crossing of two. They
        were cut into ranges when they were counted, so the number of ranges has no effect.
        """
        # The names of crossed slices have the values in the order of counting.
        names = self._crossing(columns) if len(columns) > 1 else tuple(columns)
        counted = self.by(crossed_name(names))
        return Slicing(names, counted.names, counted.codes), counted.rows.entries

    def _crossing(self, columns: Sequence[str]) -> tuple[str, str]:
        """These columns in the order in which their crossing was counted."""
        pair = next((pair for pair in self.crossings if set(pair) == set(columns)), None)
        if pair is None:
            crossings = "; ".join(map(crossed_name, self.crossings)) or "none"
            raise ValueError(
                f"These columns were not counted together: {' and '.join(map(quoted, columns))} "
                f"(crossings that were counted: {crossings}). Count them again, with "
                f"slices=[..., {tuple(columns)!r}]."
            )
        return pair

    def timed(self, column: str, _view: str) -> tuple[NDArray[Any], BinaryView]:
        """The values of a time column, read from their names, and the entries."""
        counted = self.by(column)
        names = [None if name == MISSING else name for name in counted.names]
        kind = self.time_kind if column == self.time_name else ""
        dtype = np.float64 if kind in ("i", "u", "f") else object
        values = np.array(names, dtype="datetime64[D]" if kind == "M" else dtype)
        return values[counted.codes], counted.rows.entries

    def _if_any(self, values: IntArray, entries: CellTable) -> IntArray | None:
        codes = values[entries.stratum]
        return None if (codes == NO_SLICE).all() else codes

    def frame(self) -> pd.DataFrame:
        """One row per entry: part, split, fold, cluster, score, outcome, and sums over its rows."""
        table, at = self.table, self.table.stratum
        parts = [self.parts[i] for i in self.strata.part]
        columns = {
            name: np.array([getattr(part, name) for part in parts], dtype=object)[at]
            for name in ("model", "column", "value")
        }
        columns |= {name: getattr(self.strata, name)[at] for name in ("test", "fold", "group")}
        columns |= {"score": table.score_sum / table.weight, "outcome": table.outcome.astype(int)}
        sums = ("rows", "weight", "weight_sq", "low", "high")
        return pd.DataFrame(columns | {name: getattr(table, name) for name in sums})

    def save(self, path: str | Path) -> None:
        """Write everything to one Parquet file.

        Parameters
        ----------
        path : str or Path
        """
        pq.write_table(self.to_arrow(), Path(path), compression="zstd", write_page_checksum=True)

    def to_arrow(self) -> pa.Table:
        """Return the aggregate as one PyArrow table, as `save` writes it; see `from_arrow`."""
        return aggregate_file.to_arrow(self._written())

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Aggregate:
        """Read the result of `to_arrow`, and check every value.

        Raises
        ------
        ValueError
            If it is something else, or contradicts itself.
        """
        return cls(**aggregate_file.from_arrow(table, "The table"))

    def _written(self) -> dict[str, Any]:
        """All attributes but sentences, which a file could forge."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "noticed"}
        if not self.steps:  # Files of version 0.1 have no steps, and must keep their bytes.
            del values["steps"]
        return values

    def to_json(self) -> dict[str, Any]:
        """Return the aggregate as values that JSON can hold, without rounding; see `from_json`.

        Examples
        --------
        >>> from calib.data.predictions import Predictions
        >>> from calib.data.aggregating import aggregate
        >>> counted = aggregate(Predictions.from_arrays([0, 1], [0.2, 0.7]))
        >>> Aggregate.from_json(counted.to_json()).frame().equals(counted.frame())
        True
        """
        return aggregate_file.to_json(self._written())

    @classmethod
    def from_json(cls, data: Any) -> Aggregate:
        """Read the result of `to_json`, and check every value.

        Raises
        ------
        ValueError
            If an entry is missing or unknown, or cells contradict each other.
        """
        return cls(**aggregate_file.from_json(data))

    @staticmethod
    def is_saved_at(path: str | Path | BinaryIO) -> bool:
        """Whether a file is a saved aggregate, according to its metadata.

        Parameters
        ----------
        path : str, Path or binary file
        """
        return aggregate_file.is_written_at(path)

    @classmethod
    def load(cls, path: str | Path | BinaryIO) -> Aggregate:
        """Read a file that `save` wrote.

        Parameters
        ----------
        path : str, Path or binary file

        Raises
        ------
        ValueError
            If the file is not an aggregate, is damaged, or is from a later version of calib.
        """
        return cls(**aggregate_file.read(path))


@dataclass(frozen=True, slots=True, eq=False)
class CountedColumn(Locked):
    """Counted rows, and the value of a column that each entry has.

    Attributes
    ----------
    rows : CountedRows
    names : tuple of str
        Values of the column.
    codes : ndarray of int, shape (e,)
        Position of each entry's value in `names`.
    """

    rows: CountedRows
    names: tuple[str, ...]
    codes: IntArray


def _source_of(source: str, model: str) -> str:
    """Fingerprint of one model's rows."""
    return hashlib.sha256(f"{source}\n{model}".encode()).hexdigest() if model else source


def _steps_of_both(one: Aggregate, other: Aggregate) -> dict[str, float]:
    """The steps of a sum. A multiple of a usual step is a multiple of every smaller one."""
    finer = {}
    for model in (*one.models, *other.models):
        steps = [
            (added.steps or {}).get(model, 0.0) for added in (one, other) if model in added.models
        ]
        finer[model] = min(steps)
    return {model: step for model, step in finer.items() if step}


def _check_addable(one: Aggregate, other: Aggregate) -> None:
    for name in ("view_key", "class_names", "time_name", "time_kind", "fold_names"):
        first, second = getattr(one, name), getattr(other, name)
        if first != second:
            raise ValueError(
                f"Only aggregates of the same {name} can be added, got {first!r} and {second!r}."
            )
    first, second = (
        f"transform={aggregate.transform!r}, swap={aggregate.swap}" for aggregate in (one, other)
    )
    if first != second:
        raise ValueError(
            "Only aggregates whose scores were converted in the same way can be added, because an "
            f"exported calibrator has one conversion; got {first} and {second}. Convert the scores "
            "to probabilities in the data, and count them again."
        )
    columns, others = ({part.column for part in aggregate.parts} for aggregate in (one, other))
    if columns != others:
        only_in_one = min(columns ^ others)
        raise ValueError(
            "Only aggregates that were counted by the same columns can be added; one of these was "
            f"not counted by {only_in_one!r}."
        )
    if any((aggregate.strata.group != NO_SLICE).any() for aggregate in (one, other)):
        raise ValueError(
            "Aggregates with clusters cannot be added: whether a cluster has rows in both is not "
            "known. Count all rows together instead."
        )
