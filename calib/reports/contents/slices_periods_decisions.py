"""parts_of: slices, periods and decisions of a report, which do not show single rows.

recounted_parts: the same slices and periods again, from the counts of an exact report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from calib.analysis import Analysis, LiveAnalysis
from calib.analysis.decisions import (
    Certificate,
    CertifiedSide,
    Costs,
    Decision,
    DecisionTable,
    ErrorLimit,
    certify,
    cost_curves,
    decide,
    net_benefit,
)
from calib.analysis.model_comparison import ModelComparison
from calib.analysis.periods import Periods, PeriodTable, period_table, timed_rows
from calib.analysis.periods.cutting import Unit
from calib.analysis.slices import SliceGaps, SliceTests, slice_gaps, slice_tests, sliced_rows
from calib.analysis.summary import shown_methods
from calib.crossfit.settings import Settings
from calib.data.base import Data
from calib.data.slicing import Slicing
from calib.data.views import BinaryView, rows_by_code
from calib.metrics.observed_expected import intercept_estimate
from calib.numerics.arrays import FloatArray, IntArray, arrays_of
from calib.numerics.intervals import Estimate
from calib.reports.contents.disclosure import (
    MIN_ROWS,
    coarse_score,
    merged_cells,
    merged_periods,
    merged_slices,
)
from calib.reports.contents.evidence import SLICE, TIME, Evidence
from calib.reports.contents.structure import (
    DecisionPart,
    ModelPart,
    Parts,
    PeriodPart,
    SlicePart,
)

MAX_SLICES = 100
# Gaps and tests of slices are shortened by the same rule.
Table = TypeVar("Table", SliceGaps, SliceTests)
NO_ESTIMATE = Estimate(float("nan"))


def parts_of(
    predictions: Data,
    analysis: Analysis,
    *,
    slices: Sequence[tuple[str, ...]] | None = None,
    n_ranges: int = 5,
    time: str | None = None,
    unit: Unit | None = None,
    costs: Costs | None = None,
    error_limit: ErrorLimit | None = None,
    models: ModelComparison | None = None,
    model: str = "",
) -> Parts:
    """Compute slices, periods and decisions of an analysis for a report.

    Nothing is computed from fewer than ten rows: smaller slices are joined into one, smaller
    periods are joined with a neighbour, and a method that flags fewer rows has no decisions.
    Results are shown for the uncalibrated scores and for the recommended method.

    Parameters
    ----------
    predictions : Predictions or Aggregate
        The data. For an aggregate, slices are limited to the columns by which it was counted.
    analysis : LiveAnalysis
        The analysis of these data.
    slices : sequence of tuple of str, optional
        Each entry has one column, or two columns that are crossed. Default: each column except
        time.
    n_ranges : int
        Number of ranges into which a column with many numbers is cut.
    time : str, optional
        Time column, or "" for none. Default: the time column of the predictions.
    unit : {"day", "week", "month", "quarter", "year"}, optional
        Length of the periods, see `calib.periods.cut_periods`.
    costs : Costs, optional
        Costs of decisions. Default: the report has no decisions.
    error_limit : ErrorLimit, optional
        Error rate to certify, see `calib.certify`. Default: the report has no certificate.
    models : ModelComparison, optional
        All models of the data, compared by `calib.compare_models`. Default: the report shows one.
    model : str
        The name among `models` of the model that the analysis is of.

    Raises
    ------
    ValueError
        If a column is unknown, the analysis is of other data, or `model` is not among `models`.

    Examples
    --------
    >>> import calib
    >>> from calib.reports import Report
    >>> predictions = calib.examples.EXAMPLES["logistic"].load()
    >>> analysis = calib.analyze(predictions, calib.Settings(methods=("platt",)))
    >>> parts = parts_of(predictions, analysis, costs=Costs(false_negative=4))
    >>> [part.columns for part in parts.slices], parts.decisions.table.costs.threshold
    ([('smoothness',), ('radius',)], 0.2)
    >>> Report.from_analysis(analysis, parts=parts).parts.slices[1].gaps["platt"].names
    ('large', 'small')
    """
    if (
        not isinstance(analysis, LiveAnalysis)
        or analysis.data.fingerprint != predictions.fingerprint
    ):
        raise ValueError(
            "analysis must be of these predictions, got one of other data or of a report."
        )
    time = predictions.time_name if time is None else time
    if slices is None:
        slices = [(name,) for name in predictions.columns if name != time]
    periods, notes = _periods(predictions, analysis, time, unit)
    certificate, reasons = _certified(predictions, analysis.settings, error_limit)
    return Parts(
        slices=tuple(_slices(predictions, analysis, names, n_ranges) for names in slices),
        n_ranges=n_ranges,
        time=time,
        unit=unit or "",
        periods=periods,
        decisions=decision_part(analysis, costs) if costs else None,
        notes=(*notes, *reasons),
        certificate=certificate,
        models=None if models is None else _models(models, model),
    )


def _models(comparison: ModelComparison, shown: str) -> ModelPart | None:
    """The models of at least ten rows, or None if the shown one is the only one of them."""
    if shown not in comparison.models:
        names = ", ".join(comparison.models)
        raise ValueError(f"model must be one of the models ({names}), got {shown!r}.")
    large = {name: one for name, one in comparison.models.items() if one.n_rows >= MIN_ROWS}
    if len(large) < 2 or shown not in large:
        return None
    # Differences are from the best model, so the others need it.
    if any(comparison.best(method) not in large for method in comparison.methods):
        return None
    kept = [place for place, name in enumerate(comparison.models) if name in large]
    positions = comparison.positions and tuple(comparison.positions[place] for place in kept)
    return ModelPart(shown, replace(comparison, models=large, positions=positions))


def _slices(data: Data, analysis: LiveAnalysis, names: tuple[str, ...], n_ranges: int) -> SlicePart:
    level = analysis.settings.confidence_level
    sliced = sliced_rows(data, analysis.held_out, names, n_ranges=n_ranges)
    held_out = sliced.held_out
    cut, n_merged = merged_slices(sliced.scored, held_out.given_rows.count)
    rows = {key: held_out.row_view(key) for key in shown_methods(analysis)}
    gaps = {k: slice_gaps(v, v.score, cut, confidence_level=level) for k, v in rows.items()}
    tests = {key: _tests(view, cut, level) for key, view in rows.items()}
    intercepts = _intercepts(rows["uncalibrated"], cut, level)
    first = gaps["uncalibrated"]
    kept = np.sort(first.order[:MAX_SLICES])
    return SlicePart(
        {key: _chosen_slices(table, kept) for key, table in gaps.items()},
        n_merged,
        len(first) - len(kept),
        {key: _chosen_slices(table, kept) for key, table in tests.items()},
        tuple(intercepts[i] for i in kept),
    )


def _intercepts(rows: BinaryView, cut: Slicing, level: float) -> tuple[Estimate, ...]:
    """The intercept at slope 1 of each slice that has rows."""
    parts = rows_by_code(rows, cut.codes, len(cut))
    return tuple(intercept_estimate(part, level) for part in parts.values())


def _tests(rows: BinaryView, cut: Slicing, level: float) -> SliceTests:
    """The tests of slices without their names, which reports of earlier versions do not have."""
    return replace(slice_tests(rows, rows.score, cut, confidence_level=level), test=())


def _chosen_slices(table: Table, kept: IntArray) -> Table:
    chosen: dict[str, Any] = {name: values[kept] for name, values in arrays_of(table).items()}
    return replace(table, **chosen, names=tuple(table.names[i] for i in kept))


def _periods(
    data: Data, analysis: LiveAnalysis, column: str, unit: Unit | None
) -> tuple[PeriodPart | None, tuple[str, ...]]:
    if not column:
        return None, ()
    if column not in data.columns:
        columns = ", ".join(data.columns) or "none"
        raise ValueError(f"time must be one of the columns ({columns}), got {column!r}.")
    try:
        held_out, cut = timed_rows(data, analysis.held_out, column, unit)
    except ValueError as error:
        return None, (f"There is no calibration over time: {error}",)
    merged = merged_periods(cut, held_out.given_rows.count)
    if merged is None:
        return None, ("There is no calibration over time: too few rows have a time.",)
    level = analysis.settings.confidence_level
    tables = {
        key: period_table(
            rows := held_out.row_view(key), rows.score, merged, confidence_level=level
        )
        for key in shown_methods(analysis)
    }
    return PeriodPart(column, tables), ()


def recounted_parts(parts: Parts, evidence: Evidence, n_rows: int) -> Parts:
    """Slices and periods made again from the counts; what was not counted stays."""
    slices = (
        _recounted_slices(part, evidence, column)
        if (column := SLICE.format(i)) in evidence.columns
        else part
        for i, part in enumerate(parts.slices)
    )
    periods = parts.periods
    if periods is not None and TIME in evidence.columns:
        tables = {
            key: _recounted_periods(table, evidence, key, n_rows)
            for key, table in periods.tables.items()
        }
        periods = replace(periods, tables=tables)
    return replace(parts, slices=tuple(slices), periods=periods)


def _recounted_slices(part: SlicePart, evidence: Evidence, column: str) -> SlicePart:
    gaps, tests, intercept = {}, {}, part.intercept
    for key, printed in part.gaps.items():
        rows, cut = evidence.rows(key, column)
        cut, level = replace(cut, columns=part.columns), printed.confidence_level
        gaps[key] = slice_gaps(rows, rows.score, cut, confidence_level=level)
        tests[key] = _tests(rows, cut, level)
        if key == "uncalibrated" and intercept:  # Earlier reports have none.
            intercept = _intercepts(rows, cut, level)
    return replace(part, gaps=gaps, tests=tests, intercept=intercept)


def _recounted_periods(
    printed: PeriodTable, evidence: Evidence, key: str, n_rows: int
) -> PeriodTable:
    rows, cut = evidence.rows(key, TIME)
    place = dict(zip(printed.names, printed.position.tolist(), strict=True))
    position = np.array([place.get(name, 0) for name in cut.names], dtype=np.int64)
    periods = Periods(printed.unit, cut.names, position, cut.codes)
    level = printed.confidence_level
    table = period_table(rows, rows.score, periods, confidence_level=level)
    return replace(table, n_missing=n_rows - int(table.rows.sum()))


def decision_part(analysis: LiveAnalysis, costs: Costs) -> DecisionPart:
    """Decisions by held-out scores; a method that flags fewer than ten rows has none."""
    held_out = analysis.held_out
    table = decide(held_out, costs, confidence_level=analysis.settings.confidence_level)
    left_out = tuple(
        key
        for key, decision in table.methods.items()
        if _is_few(decision.flag(held_out.scores[key]), held_out.rows.counts)
    )
    shown = shown_methods(analysis)
    merged = {key: merged_cells(cells) for key, cells in held_out.cells.items()}
    stepped = replace(held_out, cells=merged)
    cost, benefit = cost_curves(stepped, costs), net_benefit(stepped)
    return DecisionPart(
        table=_without_methods(table, left_out),
        cost=replace(cost, cost={key: cost.cost[key] for key in shown}),
        benefit=replace(benefit, benefit={key: benefit.benefit[key] for key in shown}),
        left_out=left_out,
    )


def _certified(
    data: Data, settings: Settings, limit: ErrorLimit | None
) -> tuple[Certificate | None, tuple[str, ...]]:
    """The certificate, or why there is none."""
    if limit is None:
        return None, ()
    try:
        certificate = certificate_part(data, settings, limit)
    except ValueError as error:
        return None, (f"There is no certified threshold: {error}",)
    if certificate is None:
        few = "its thresholds divide off fewer than ten rows."
        return None, (f"There is no certified threshold in this report: {few}",)
    return certificate, ()


def certificate_part(data: Data, settings: Settings, limit: ErrorLimit) -> Certificate | None:
    """A certificate without the other thresholds; None if it shows fewer than ten rows."""
    made = certify(
        data,
        limit.max_error,
        limit.confidence,
        sides=limit.sides,
        view=settings.view,
        seed=settings.seed,
    )
    shown = [rows for side in made.sides for rows in _shown_rows(side)]
    shown += [made.n_rows - rows for rows in shown]
    shown.append(made.n_rows - sum(side.n_rows for side in made.sides))
    if any(0 < rows < MIN_ROWS for rows in shown):
        return None
    below = made.below and _at_threshold(made.below)
    return replace(made, above=_at_threshold(made.above), below=below)


def _shown_rows(side: CertifiedSide) -> list[int]:
    """Numbers of rows whose errors are shown: the decided ones, or those of the first tests."""
    if side.threshold is not None:
        return [side.n_rows]
    return [test.n_rows for test in side.first_tests]


def _at_threshold(side: CertifiedSide) -> CertifiedSide:
    """The same side with at most one point, because neighbouring points show single rows."""
    at = side.curve_rows == side.n_rows
    tests = side.first_tests if side.threshold is None else ()
    curves: dict[str, Any] = {name: values[at] for name, values in arrays_of(side).items()}
    # The lowest accepted score is that of a row.
    curves["curve_threshold"] = np.full(at.sum(), side.threshold or np.nan)
    return replace(side, first_rows=side.n_rows, first_tests=tests, **curves)


def _is_few(flagged: FloatArray, rows: FloatArray) -> bool:
    """Whether one to nine rows are flagged, or one to nine are not flagged."""
    counts = (rows[flagged > 0.0].sum(), rows[flagged < 1.0].sum())
    return any(0 < count < MIN_ROWS for count in counts)


def _without_methods(table: DecisionTable, left_out: Sequence[str]) -> DecisionTable:
    # Another cost minus its change is the cost of the uncalibrated scores, so no change is shown.
    unknown: dict[str, Any] = {"change": NO_ESTIMATE} if "uncalibrated" in left_out else {}
    by_capacity = table.costs.capacity is not None
    kept = {
        key: replace(_coarsened(decision, by_capacity), **unknown)
        for key, decision in table.methods.items()
        if key not in left_out
    }
    return replace(table, methods=kept)


def _coarsened(decision: Decision, by_capacity: bool) -> Decision:
    """Thresholds that are the score of a row, with three digits."""
    if by_capacity:
        return replace(decision, threshold=coarse_score(decision.threshold))
    if decision.hindsight <= 1.0:
        return replace(decision, hindsight=coarse_score(decision.hindsight))
    return decision
