"""From an analysis to the evidence of its report: exact cells, or cells of at least ten rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from calib.analysis import LiveAnalysis
from calib.analysis.periods import timed_rows
from calib.analysis.slices import sliced_rows
from calib.crossfit.cross_fitted import CrossFitted
from calib.data.aggregate import Aggregate
from calib.data.aggregating import aggregate_all, joined_pieces, merged_strata
from calib.data.origin import conversion_of
from calib.data.strata import NONE, Part, Strata
from calib.data.views import BinaryView
from calib.numerics.arrays import IntArray
from calib.numerics.cell_table import MAX_CELLS, CellTable, merge_entries
from calib.numerics.sorting import run_starts
from calib.reports.contents.disclosure import (
    MIN_ROWS,
    merged_periods,
    merged_slices,
)
from calib.reports.contents.evidence import (
    CLUSTERS,
    GRADES,
    JUDGE,
    LOG_ODDS,
    MATRIX,
    PLAN,
    SLICE,
    TIME,
    Evidence,
    Grade,
    Uncounted,
)
from calib.reports.contents.structure import Parts, shown_methods
from calib.reports.proof.guarding import guarded_cells, guarded_table

DIGEST_DIGITS = 6  # A file with scores of fewer digits than a double must give the same digest.


def entry_table(view: BinaryView, stratum: IntArray | None = None) -> CellTable:
    """Count rows or entries by stratum, score and outcome. Each cell is one score."""
    score, weight = view.score + 0.0, view.weights
    return merge_entries(
        CellTable(
            exact=True,
            stratum=np.zeros(len(view), dtype=np.int64) if stratum is None else stratum,
            key=score.view(np.int64),
            outcome=view.outcome,
            rows=view.counts.astype(np.int64),
            weight=weight,
            weight_sq=view.squared_weights,
            score_sum=weight * score,
            low=score,
            high=score,
        )
    )


def evidence_of(analysis: LiveAnalysis, parts: Parts | None, grade: Grade) -> Evidence:
    """Count what an analysis was made of, and what it gave, also in the slices and periods."""
    if grade not in GRADES:
        raise ValueError(f"grade must be 'guarded' or 'exact', got {grade!r}.")
    guarded = grade == "guarded"
    uncounted = _uncounted(analysis)
    needs = [JUDGE] if parts is not None and parts.judge is not None else []
    sentences = {"classes": [MATRIX], "clusters": [CLUSTERS], "log_odds": [LOG_ODDS]}
    needs += sentences.get(uncounted, [])
    needs += [PLAN] if analysis.recommendation.plan is not None else []
    counted: list[tuple[Strata, CellTable]] = []
    parts_counted: list[Part] = []

    def add(key: str, column: str, names: tuple[str, ...], table: CellTable) -> None:
        counted.append((_strata(part=np.arange(len(names)) + len(parts_counted)), table))
        parts_counted.extend(Part(key, column, name) for name in names)

    for key in analysis.methods:
        view = analysis.held_out.view
        add(key, "", ("",), guarded_cells(analysis, key) if guarded else entry_table(view(key)))
    uncalibrated = counted[0][1]
    for key, column, names, table in _tables(analysis, parts, needs):
        add(key, column, names, guarded_table(table) if guarded else table)
    methods = joined_pieces(parts_counted, counted, **_names(analysis, "uncalibrated"))
    cells = _guarded_cells(analysis, uncalibrated) if guarded else _exact_cells(analysis)
    return Evidence(grade, cells, methods, tuple(needs), _digest(analysis), uncounted)


def _digest(analysis: LiveAnalysis) -> str:
    """SHA-256 of rounded scores and outcomes. It does not depend on the order of the rows."""
    held_out, digest = analysis.held_out, hashlib.sha256()
    counted = [held_out.cells["uncalibrated"]]
    if held_out.protocol == "test rows":
        counted.append(held_out.fitted_on)
    for cells in counted:
        score = np.round(cells.score, DIGEST_DIGITS)
        starts = run_starts(score)
        sums = (
            np.add.reduceat(values, starts) for values in (cells.rows, cells.weight, cells.positive)
        )
        for values in (score[starts], *(np.round(total / total.sum(), 9) for total in sums)):
            digest.update(np.asarray(values + 0.0, dtype="<f8").tobytes())
    return digest.hexdigest()


def _uncounted(analysis: LiveAnalysis) -> Uncounted:
    if analysis.multiclass is not None:
        return "classes"
    if analysis.held_out.rows.group is not None:
        return "clusters"
    return "nothing" if analysis.held_out.rows.far is None else "log_odds"


def _strata(**numbers: IntArray) -> Strata:
    none = np.full(len(next(iter(numbers.values()))), NONE, dtype=np.int64)
    return Strata(**dict.fromkeys(Strata.__slots__, none) | numbers)


Counted = tuple[str, str, tuple[str, ...], CellTable]
Column = tuple[str, tuple[str, ...], IntArray, CrossFitted]


def _tables(analysis: LiveAnalysis, parts: Parts | None, needs: list[str]) -> Iterator[Counted]:
    """Held-out scores of the methods shown, counted by slices and periods."""
    for column, names, codes, held_out in _columns(analysis, parts, needs):
        kept = codes >= 0
        for key in shown_methods(analysis):
            rows = held_out.row_view(key).rows(kept)
            yield key, column, names, entry_table(rows, codes[kept])


def _columns(analysis: LiveAnalysis, parts: Parts | None, needs: list[str]) -> Iterator[Column]:
    """The slices and periods that the report shows, and which of them each scored row lies in."""
    if parts is None:
        return
    data, held_out = analysis.source, analysis.held_out
    for number, part in enumerate(parts.slices):
        if part.n_left_out:
            columns = " and ".join(part.columns)
            needs.append(f"Of the slices of {columns} only the hundred that are shown are known.")
            continue
        sliced = sliced_rows(data, held_out, part.columns, n_ranges=parts.n_ranges)
        cut, _ = merged_slices(sliced.scored, sliced.held_out.given_rows.count)
        yield SLICE.format(number), cut.names, cut.codes, sliced.held_out
    if parts.periods is not None:
        timed, whole = timed_rows(data, held_out, parts.periods.column, parts.unit or None)  # type: ignore[arg-type]
        merged = merged_periods(whole, timed.given_rows.count)
        assert merged is not None
        yield TIME, merged.names, merged.codes, timed


def _names(analysis: LiveAnalysis, scores: str = "") -> dict[str, Any]:
    """Attributes of the counts. `scores` is the name of the scores among the counted methods."""
    source, step = analysis.source, analysis.held_out.rows.step
    return {
        "view_key": analysis.settings.view,
        "name": source.name,
        "score_name": source.score_name,
        "outcome_name": source.outcome_name,
        "positive_name": analysis.data.positive_name,
        "class_names": source.class_names,
        "weighted": analysis.data.weighted,
        "set_aside": dict(source.set_aside),
        "sources": source.sources,
        "max_scores": MAX_CELLS,
        "steps": {scores: step} if step else {},
        **conversion_of(source.origin),
    }


def _exact_cells(analysis: LiveAnalysis) -> Aggregate:
    """The cells that the analysis read, without clusters."""
    cells = _counted_cells(analysis)
    if not cells.exact:
        raise ValueError(
            f"An exact report holds at most {MAX_CELLS:,} distinct scores, got more. Make a "
            "guarded one, grade='guarded'."
        )
    return cells


def _counted_cells(analysis: LiveAnalysis) -> Aggregate:
    arguments = _names(analysis) | {"fold_names": analysis.source.fold_names}
    del arguments["weighted"]
    return aggregate_all(analysis.source, analysis.settings.view, **arguments)


def _guarded_cells(analysis: LiveAnalysis, uncalibrated: CellTable) -> Aggregate:
    """Cells of at least ten rows, by split or named fold if there is one."""
    held_out, fold_names = analysis.held_out, analysis.source.fold_names
    one = _strata(part=np.zeros(1, dtype=np.int64))
    if held_out.protocol == "test rows":
        exact = _counted_cells(analysis)
        strata, table = exact.strata, exact.table
        if fold_names:
            strata, table = merged_strata(strata, table, fold=NONE)
        return Aggregate((Part(),), strata, guarded_table(table), **_names(analysis))
    rows = held_out.view("uncalibrated")
    if not fold_names or rows.fold is None or np.bincount(rows.fold, rows.counts).min() < MIN_ROWS:
        return Aggregate((Part(),), one, uncalibrated, **_names(analysis))
    numbers, stratum = np.unique(rows.fold, return_inverse=True)
    strata = _strata(part=np.zeros_like(numbers), fold=numbers)
    table = guarded_table(entry_table(rows, stratum.astype(np.int64)))
    return Aggregate((Part(),), strata, table, **_names(analysis), fold_names=fold_names)
