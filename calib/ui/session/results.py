"""Results of slices, periods and decisions, each computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calib.analysis import LiveAnalysis
from calib.analysis.decisions import Costs, DecisionTable, decide
from calib.analysis.periods import Periods, PeriodTable, period_table
from calib.analysis.periods.table import timed_rows
from calib.analysis.slices import (
    SliceCalibration,
    SlicedRows,
    SliceErrorRates,
    SliceGaps,
    SliceTests,
    Slicing,
    calibrate_slices,
    slice_error_rates,
    slice_gaps,
    slice_reliability,
    slice_tests,
    sliced_rows,
)
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.settings import Strategy
from calib.curves.reliability import ReliabilityCurve
from calib.ui.session.choices import CAPACITY, COST_FN, COST_FP, N_RANGES, UNIT, Chosen
from calib.ui.session.memo import keep
from calib.ui.session.session import Session
from calib.ui.session.state import Model

# A slice gets fewer bins than all rows if its bins would be smaller than this.
MIN_ROWS_PER_BIN = 50
keep(4)(sliced_rows)
keep(4)(timed_rows)


def sliced(session: Session, model: Model, columns: tuple[str, ...]) -> SlicedRows:
    rows, held_out, n_ranges = model.rows, model.analysis.held_out, session[N_RANGES]
    return session.memo(sliced_rows, rows, held_out, columns, n_ranges=n_ranges)


def scored(session: Session, cut: SlicedRows) -> Slicing:
    return session.memo(_scored, cut)


@keep(4)
def _scored(cut: SlicedRows) -> Slicing:
    return cut.scored


def gaps(session: Session, cut: SlicedRows, methods: Sequence[str]) -> dict[str, SliceGaps]:
    held_out, slicing, at = cut.held_out, scored(session, cut), session.settings.confidence_level
    return {m: session.memo(_gaps, held_out, m, slicing, at) for m in methods}


def _gaps(held_out: CrossFitted, method: str, slicing: Slicing, at: float) -> SliceGaps:
    view = held_out.row_view(method)
    return slice_gaps(view, view.score, slicing, confidence_level=at)


def slice_tests_of(
    session: Session, cut: SlicedRows, methods: Sequence[str]
) -> dict[str, SliceTests]:
    held_out, slicing, at = cut.held_out, scored(session, cut), session.settings.confidence_level
    return {m: session.memo.heavy(_slice_tests, held_out, m, slicing, at) for m in methods}


def _slice_tests(held_out: CrossFitted, method: str, slicing: Slicing, at: float) -> SliceTests:
    view = held_out.row_view(method)
    return slice_tests(view, view.score, slicing, confidence_level=at)


def error_rates(
    session: Session, cut: SlicedRows, table: DecisionTable, methods: Sequence[str]
) -> dict[str, tuple[SliceErrorRates, SliceErrorRates]]:
    held_out, slicing, at = cut.held_out, scored(session, cut), session.settings.confidence_level
    return {m: session.memo(_error_rates, held_out, m, slicing, table, at) for m in methods}


def _error_rates(
    held_out: CrossFitted, method: str, slicing: Slicing, table: DecisionTable, at: float
) -> tuple[SliceErrorRates, SliceErrorRates]:
    view = held_out.row_view(method)
    flagged = held_out.row_values(table.methods[method].flag(held_out.scores[method]))
    return (
        slice_error_rates(view, flagged, slicing, confidence_level=at),
        slice_error_rates(view, flagged, Slicing.whole(len(view)), confidence_level=at),
    )


def curves(
    session: Session, cut: SlicedRows, picked: Sequence[int]
) -> Mapping[str, ReliabilityCurve]:
    held_out, slicing, settings = cut.held_out, scored(session, cut), session.settings
    chosen = (settings.n_bins, settings.strategy, settings.confidence_level)
    return {slicing.names[n]: session.memo(_curve, held_out, slicing, n, *chosen) for n in picked}


def _curve(
    held_out: CrossFitted, slicing: Slicing, number: int, n_bins: int, strategy: Strategy, at: float
) -> ReliabilityCurve:
    view, member = held_out.row_view("uncalibrated"), slicing.member(number)
    return slice_reliability(
        view,
        view.score,
        member,
        n_bins=min(n_bins, max(2, int(view.counts[member].sum()) // MIN_ROWS_PER_BIN)),
        strategy=strategy,
        confidence_level=at,
    )


def slice_calibration(
    session: Session, cut: SlicedRows, number: int, method: str
) -> SliceCalibration:
    at = session.settings.confidence_level
    return session.memo.heavy(_slice_calibration, cut, number, method, at)


def _slice_calibration(cut: SlicedRows, number: int, method: str, at: float) -> SliceCalibration:
    member = cut.slicing.member(number)
    return calibrate_slices(cut.rows, member, cut.held_out, method, confidence_level=at)


def period_tables(
    session: Session, model: Model, column: str, methods: Sequence[str]
) -> dict[str, PeriodTable]:
    scores, unit, at = model.analysis.held_out, session[UNIT], session.settings.confidence_level
    held_out, periods = session.memo(timed_rows, model.rows, scores, column, unit or None)
    return {m: session.memo.heavy(_period_table, held_out, m, periods, at) for m in methods}


def _period_table(held_out: CrossFitted, method: str, periods: Periods, at: float) -> PeriodTable:
    view = held_out.row_view(method)
    return period_table(view, view.score, periods, confidence_level=at)


def costs(chosen: Chosen) -> Costs:
    return Costs(chosen[COST_FP], chosen[COST_FN], chosen[CAPACITY])


def decisions(session: Session, analysis: LiveAnalysis) -> DecisionTable:
    chosen, at = costs(session.chosen), session.settings.confidence_level
    return session.memo.heavy(decide, analysis.held_out, chosen, confidence_level=at)
