"""Results of slices and periods, each computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from calib.analysis import Analysis
from calib.analysis.decisions import DecisionTable
from calib.analysis.periods import Periods, PeriodTable, cut_periods, period_table
from calib.analysis.slices import (
    SliceCalibration,
    SliceErrorRates,
    SliceGaps,
    Slicing,
    calibrate_matrix_slices,
    calibrate_slices,
    slice_by,
    slice_error_rates,
    slice_gaps,
    slice_reliability,
)
from calib.core.predictions import Predictions
from calib.curves.reliability import ReliabilityCurve
from calib.ui.choices import N_RANGES, UNIT
from calib.ui.state import HEAVY, Session

# A slice has fewer rows than all have: its bins must not become too small to trust.
ROWS_A_BIN = 50


def slicing(session: Session, rows: Predictions, columns: tuple[str, ...]) -> Slicing:
    """Every row's slice."""
    n_ranges = session[N_RANGES]
    key = (rows.fingerprint, columns, n_ranges)
    return session.cuts.get_or_make(key, lambda: slice_by(rows.columns, columns, n_ranges=n_ranges))


def scored(cut: Any, rows: Predictions) -> Any:
    """The slices or periods of the rows that are scored."""
    return cut if rows.test is None else cut.rows(rows.test)


def _key(session: Session, rows: Predictions, *more: Any) -> tuple[Any, ...]:
    settings = session.settings
    return (rows.fingerprint, settings.fitting(), settings.confidence_level, *more)


def gaps(
    session: Session, analysis: Analysis, rows: Predictions, cut: Slicing, methods: Sequence[str]
) -> dict[str, SliceGaps]:
    """Observed minus predicted of each slice, by method."""
    held_out, at = analysis.held_out, session.settings.confidence_level
    assert held_out is not None

    def make(method: str) -> SliceGaps:
        view, own = held_out.row_view(method), scored(cut, rows)
        return slice_gaps(view, view.score, own, confidence_level=at)

    def key(method: str) -> tuple[Any, ...]:
        return _key(session, rows, "gaps", cut.columns, session[N_RANGES], method)

    return {m: session.findings.get_or_make(key(m), partial(make, m)) for m in methods}


def error_rates(
    session: Session,
    analysis: Analysis,
    rows: Predictions,
    cut: Slicing,
    table: DecisionTable,
    methods: Sequence[str],
) -> dict[str, tuple[SliceErrorRates, SliceErrorRates]]:
    """Error rates of the slices, and of all rows, by method."""
    held_out, at = analysis.held_out, session.settings.confidence_level
    assert held_out is not None

    def make(method: str) -> tuple[SliceErrorRates, SliceErrorRates]:
        view = held_out.row_view(method)
        flagged = held_out.row_values(table.methods[method].flag(held_out.scores[method]))
        each = [scored(cut, rows), Slicing.whole(len(view))]
        first, second = (slice_error_rates(view, flagged, own, confidence_level=at) for own in each)
        return first, second

    common = _key(session, rows, "rates", cut.columns, session[N_RANGES], table.costs)
    return {m: session.findings.get_or_make((*common, m), partial(make, m)) for m in methods}


def curves(
    session: Session,
    analysis: Analysis,
    rows: Predictions,
    cut: Slicing,
    picked: Sequence[int],
    method: str = "uncalibrated",
) -> Mapping[str, ReliabilityCurve]:
    """Reliability curves of some slices, by name."""
    held_out, settings = analysis.held_out, session.settings
    assert held_out is not None

    def make(number: int) -> ReliabilityCurve:
        view, member = held_out.row_view(method), scored(cut, rows).member(number)
        return slice_reliability(
            view,
            view.score,
            member,
            n_bins=min(settings.n_bins, max(2, int(member.sum()) // ROWS_A_BIN)),
            strategy=settings.strategy,
            confidence_level=settings.confidence_level,
        )

    bins = (settings.n_bins, settings.strategy)
    found = {}
    for number in picked:
        key = _key(session, rows, "curve", cut.columns, session[N_RANGES], method, number, bins)
        found[cut.names[number]] = session.findings.get_or_make(key, partial(make, number))
    return found


def apart(
    session: Session, analysis: Analysis, rows: Predictions, cut: Slicing, number: int, method: str
) -> SliceCalibration:
    """A slice calibrated by a map of its own, against the map of all rows."""
    settings, member = session.settings, cut.member(number)
    at = settings.confidence_level

    def make() -> SliceCalibration:
        with HEAVY:
            if analysis.multiclass is not None:
                matrix = analysis.multiclass.held_out
                assert matrix is not None
                return calibrate_matrix_slices(rows, member, matrix, method, confidence_level=at)
            held_out, view = analysis.held_out, rows.view(settings.view)
            assert held_out is not None
            return calibrate_slices(view, member, held_out, method, confidence_level=at)

    key = _key(session, rows, "apart", cut.columns, session[N_RANGES], method, number)
    return session.findings.get_or_make(key, make)


def periods(session: Session, rows: Predictions, column: str) -> Periods:
    """Every row's period."""
    unit: Any = session[UNIT] or None
    if rows.columns[column].dtype.kind != "M":
        unit = None
    key = (rows.fingerprint, column, unit)
    return session.cuts.get_or_make(key, lambda: cut_periods(rows.columns[column], unit))


def period_tables(
    session: Session,
    analysis: Analysis,
    rows: Predictions,
    column: str,
    cut: Periods,
    methods: Sequence[str],
) -> dict[str, PeriodTable]:
    """Calibration of each period, by method."""
    held_out, at = analysis.held_out, session.settings.confidence_level
    assert held_out is not None

    def make(method: str) -> PeriodTable:
        own = scored(cut, rows)
        with HEAVY:
            view = held_out.row_view(method)
            return period_table(view, view.score, own, confidence_level=at)

    found = {}
    for method in methods:
        key = _key(session, rows, "periods", column, session[UNIT], method)
        found[method] = session.findings.get_or_make(key, partial(make, method))
    return found
