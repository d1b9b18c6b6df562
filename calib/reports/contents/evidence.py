"""Evidence: the counts that a report contains, so that others can recompute its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from calib.analysis.slices import Slicing
from calib.data.aggregate import Aggregate
from calib.data.cells import ScoreCells
from calib.data.strict_json import added
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray
from calib.numerics.cells import CellTable

Grade = Literal["guarded", "exact"]
GRADES: tuple[Grade, ...] = get_args(Grade)
CONTAINS: Mapping[Grade, str] = {
    "guarded": "This report contains no individual records.",
    "exact": "This report contains every distinct score with its numbers of rows and of positive "
    "rows, also within each slice and period that it shows, and no other column.",
}
# A calibrator was fitted on these, but the counts do not have them. The sentences of `needs_rows`
# say it for people.
Uncounted = Literal["unknown", "nothing", "clusters", "classes", "log_odds"]
# These name the columns of `Evidence.methods`; the number of a slice is its place in
# `Parts.slices`.
TIME, SLICE = "time", "slice:{}"
CLUSTERS = (
    "Rows come in clusters. Fits, intervals, tests, bands and the verdict depend on which rows "
    "belong together, and need the rows."
)
JUDGE = (
    "The pass rate uses the scores of all judged rows, of which the counts have only the labelled "
    "ones."
)
MODELS = (
    "The counts are those of the shown model, so the metrics of the other models and their "
    "differences need the rows."
)
PLAN = (
    "The counts do not have the days of the rows, so the recommended plan for rows since a day "
    "needs the rows."
)
LOG_ODDS = (
    "Some log-odds are so far from 0 that their probabilities are 0 or 1. The counts have the "
    "probabilities: log losses, fits on the log-odds and the verdict need the rows."
)
MATRIX = (
    "The calibrators use all classes of a row together. Their fits, the metrics of all classes, "
    "intervals, tests and the verdict need the rows."
)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Counts of rows by score and outcome, from which an exact report is analysed again."""

    # If it is "guarded", every cell has at least ten rows. If it is "exact", each cell is one
    # score.
    grade: Grade
    # These count the uncalibrated scores: all that were analysed, or in a guarded report those of
    # the rows that were scored.
    cells: Aggregate
    # These count the held-out scores of every method, whose key is the name of the model. In an
    # exact report, the methods shown as before and after are also counted by its slices and
    # periods, in the columns "slice:0", "slice:1", ... and "time".
    methods: Aggregate
    # Each sentence says what cannot be recomputed from counts, and why.
    needs_rows: tuple[str, ...]
    # Versions 0.1 and 1.0 wrote a digest of the rows, which stays in their reports.
    rows_sha256: str = added("")
    uncounted: Uncounted = added("unknown")

    @property
    def contains(self) -> str:
        """What of the rows the report contains, in words."""
        return CONTAINS[self.grade]

    @property
    def can_be_refitted(self) -> bool:
        """Whether the whole analysis can be recomputed from the cells.

        Reports of version 0.1 do not have `uncounted`. They can be refitted if they need no rows at
        all: their sentences are not evidence.
        """
        return self.uncounted == "nothing" or (self.uncounted == "unknown" and not self.needs_rows)

    @property
    def is_refitted(self) -> bool:
        """Whether `calib verify` fits the calibrators again: merged cells would give others."""
        return self.grade == "exact" and self.can_be_refitted

    @property
    def columns(self) -> tuple[str, ...]:
        return self.methods.columns

    def table(self, method: str, column: str = "") -> tuple[tuple[str, ...], CellTable]:
        """The values of a column, and the held-out scores of a method by these values as strata."""
        parts = self.methods.parts
        of_column = [
            i for i, part in enumerate(parts) if (part.model, part.column) == (method, column)
        ]
        place = np.full(len(parts), -1)
        place[of_column] = np.arange(len(of_column))
        at = place[self.methods.strata.part[self.methods.table.stratum]]
        table = self.methods.table.pick(at >= 0)
        return tuple(parts[i].value for i in of_column), replace(table, stratum=at[at >= 0])

    def rows(self, method: str, column: str = "") -> tuple[BinaryView, Slicing]:
        """The same scores as entries, and the slicing that gives each entry its value."""
        names, table = self.table(method, column)
        weighted = self.methods.weighted
        rows = BinaryView(
            outcome=table.outcome,
            score=table.low if table.exact else _mean_scores(table),
            weight=table.weight if weighted else None,
            count=table.rows.astype(np.float64),
            weight_sq=table.weight_sq if weighted else None,
            step=(self.methods.steps or {}).get(method, 0.0),
        )
        return rows, Slicing((column,), names, table.stratum)

    def scores(self, method: str) -> ScoreCells:
        return self.rows(method)[0].cells()


def _mean_scores(table: CellTable) -> FloatArray:
    """Mean score of the cell of each entry: exactly the same number for both outcomes."""
    at = np.column_stack([table.stratum, table.key])
    cell = np.unique(at, axis=0, return_inverse=True)[1].reshape(-1)
    mean = np.bincount(cell, table.score_sum) / np.bincount(cell, table.weight)
    return np.clip(mean[cell], table.low, table.high)
