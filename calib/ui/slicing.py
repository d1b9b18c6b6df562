"""Slices and periods: their controls, and their results, each computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from calib.analysis import Analysis
from calib.curves.reliability import ReliabilityCurve
from calib.decisions import DecisionTable
from calib.periods import UNITS, Periods, PeriodTable, cut_periods, period_table
from calib.predictions import Predictions
from calib.slices import (
    Apart,
    SliceErrorRates,
    SliceGaps,
    Slicing,
    calibrate_apart,
    slice_by,
    slice_error_rates,
    slice_gaps,
    slice_reliability,
)
from calib.ui import state
from calib.ui.links import N_RANGES
from calib.ui.state import HEAVY, Session
from calib.ui.widgets import show_value
from calib.ui.words import method_label

NONE = "None"
AUTOMATIC = "Automatic"
MOST_PICKED = 6
# A slice has fewer rows than all have: its bins must not become too small to trust.
ROWS_A_BIN = 50
# A list of thousands of slices is no control: the strongest evidence comes first.
MOST_OFFERED = 200


def after(session: Session, analysis: Analysis) -> str:
    """The calibrator that is set against the uncalibrated scores; "" where none is compared."""
    calibrated = [key for key in analysis.methods if key != "uncalibrated"]
    if session.look.after in calibrated:
        return session.look.after
    recommended = analysis.recommendation.method
    if recommended in calibrated:
        return recommended
    losses = {key: analysis.methods[key].metrics["log_loss"].value for key in calibrated}
    return min(losses, key=losses.__getitem__, default="")


def after_control(session: Session, analysis: Analysis) -> tuple[str, ...]:
    """Pick that calibrator; returns the methods to show, the uncalibrated scores first."""
    chosen = after(session, analysis)
    if not chosen:
        return ("uncalibrated",)
    show_value("after", chosen)
    st.selectbox(
        "After calibration by",
        [key for key in analysis.methods if key != "uncalibrated"],
        format_func=method_label,
        key="after",
        on_change=state.changer,
        args=("after", "after"),
        help="Its held-out scores, beside the scores as they are.",
    )
    return ("uncalibrated", chosen)


def columns_control(session: Session, rows: Predictions) -> tuple[str, ...]:
    """Pick one column, or two to cross; returns them."""
    names = list(rows.columns)
    wanted = session.look.slice_by
    first = wanted if wanted in names else names[0]
    _column("Slice by", "slice_by", names, first)
    others = [name for name in names if name != first]
    crossed = session.look.cross if session.look.cross in others else None
    if others:
        _column("Crossed with", "cross", [None, *others], crossed)
    return (first,) if crossed is None else (first, crossed)


def _column(label: str, key: str, options: Sequence[str | None], value: str | None) -> None:
    show_value(key, value)
    st.selectbox(
        label,
        options,
        format_func=lambda name: NONE if name is None else name,
        placeholder=NONE,
        key=key,
        on_change=_cut_anew,
        args=(key,),
    )


def _cut_anew(key: str) -> None:
    """Take a control of the cutting; numbers of the old slices mean nothing any more."""
    session = state.current()
    session.change(key, st.session_state[key] or "")
    session.reset("picked")
    session.reset("apart")


def missing_columns(session: Session, rows: Predictions) -> list[str]:
    """Columns that the link asks for and these data do not have."""
    look = session.look
    wanted = (look.slice_by, look.cross, look.time)
    return [name for name in dict.fromkeys(wanted) if name and name not in rows.columns]


def ranges_control(session: Session) -> None:
    """Number of ranges of a column of many numbers."""
    show_value("n_ranges", session.look.n_ranges)
    st.slider(
        "Ranges of a number",
        *N_RANGES,
        key="n_ranges",
        on_change=_cut_anew,
        args=("n_ranges",),
        help="A column of more than 12 different numbers is cut in ranges of about equally many "
        "rows.",
    )


def picked_control(session: Session, gaps: SliceGaps) -> tuple[int, ...]:
    """Pick slices to lay over each other; returns their numbers, the two strongest at first."""
    numbers = _offered(gaps)
    chosen = [number for number in session.look.picked if number in numbers] or numbers[:2]
    show_value("picked", chosen)
    st.multiselect(
        "Slices laid over each other",
        numbers,
        format_func=_namer(gaps),
        max_selections=MOST_PICKED,
        key="picked",
        on_change=state.changer,
        args=("picked", "picked", tuple),
    )
    return tuple(chosen[:MOST_PICKED])


def apart_control(session: Session, gaps: SliceGaps) -> int:
    """Pick the slice that is calibrated apart; returns its number, the strongest at first."""
    numbers = _offered(gaps)
    chosen = session.look.apart if session.look.apart in numbers else numbers[0]
    show_value("apart", chosen)
    st.selectbox(
        "Slice with a map of its own",
        numbers,
        format_func=_namer(gaps),
        key="apart",
        on_change=state.changer,
        args=("apart", "apart"),
    )
    return chosen


def _offered(gaps: SliceGaps) -> list[int]:
    return [int(gaps.number[i]) for i in gaps.order[:MOST_OFFERED]]


def _namer(gaps: SliceGaps) -> Any:
    names = {int(number): name for number, name in zip(gaps.number, gaps.names, strict=True)}
    return lambda number: names.get(number, str(number))


def time_control(session: Session, rows: Predictions) -> str:
    """Pick the time column; returns it, "" where none is chosen."""
    names = list(rows.columns)
    mapped = session.upload.mapping.time if session.upload else None
    wanted = session.look.time or mapped
    chosen = wanted if wanted in names else None
    show_value("time", chosen)
    st.selectbox(
        "Time column",
        names,
        index=None,
        placeholder=NONE,
        key="time",
        on_change=state.changer,
        args=("time", "time", lambda name: name or ""),
        help="Dates, seasons, or any column whose order is that of time.",
    )
    return chosen or ""


def unit_control(session: Session, rows: Predictions, column: str) -> None:
    """Pick the length of a period, where the column holds dates."""
    if not column or rows.columns[column].dtype.kind != "M":
        return
    show_value("unit", session.look.unit or AUTOMATIC)
    st.selectbox(
        "Period",
        [AUTOMATIC, *UNITS],
        format_func=str.capitalize,
        key="unit",
        on_change=state.changer,
        args=("unit", "unit", lambda unit: "" if unit == AUTOMATIC else unit),
        help="Automatic: the shortest with at most 36 periods of 100 rows in the median.",
    )


def slicing(session: Session, rows: Predictions, columns: tuple[str, ...]) -> Slicing:
    """Every row's slice."""
    n_ranges = session.look.n_ranges
    key = (rows.fingerprint, columns, n_ranges)
    return session.cuts.get_or_make(key, lambda: slice_by(rows.columns, columns, n_ranges=n_ranges))


def _scored(cut: Any, rows: Predictions) -> Any:
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
        own = _scored(cut, rows)
        return slice_gaps(held_out.rows, held_out.scores[method], own, confidence_level=at)

    def key(method: str) -> tuple[Any, ...]:
        return _key(session, rows, "gaps", cut.columns, session.look.n_ranges, method)

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
        flagged = table.methods[method].flag(held_out.scores[method])
        each = [_scored(cut, rows), Slicing.whole(len(held_out.rows))]
        first, second = (
            slice_error_rates(held_out.rows, flagged, own, confidence_level=at) for own in each
        )
        return first, second

    common = _key(session, rows, "rates", cut.columns, session.look.n_ranges, table.costs)
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
        member = _scored(cut, rows).member(number)
        return slice_reliability(
            held_out.rows,
            held_out.scores[method],
            member,
            n_bins=min(settings.n_bins, max(2, int(member.sum()) // ROWS_A_BIN)),
            strategy=settings.strategy,
            confidence_level=settings.confidence_level,
        )

    bins = (settings.n_bins, settings.strategy)
    found = {}
    for number in picked:
        key = _key(session, rows, "curve", cut.columns, session.look.n_ranges, method, number, bins)
        found[cut.names[number]] = session.findings.get_or_make(key, partial(make, number))
    return found


def apart(
    session: Session, analysis: Analysis, rows: Predictions, cut: Slicing, number: int, method: str
) -> Apart:
    """A slice calibrated by a map of its own, against the map of all rows."""
    held_out, settings = analysis.held_out, session.settings
    assert held_out is not None

    def make() -> Apart:
        with HEAVY:
            return calibrate_apart(
                rows.view(settings.view),
                cut.member(number),
                held_out,
                method,
                confidence_level=settings.confidence_level,
            )

    key = _key(session, rows, "apart", cut.columns, session.look.n_ranges, method, number)
    return session.findings.get_or_make(key, make)


def periods(session: Session, rows: Predictions, column: str) -> Periods:
    """Every row's period."""
    unit: Any = session.look.unit or None
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
        own = _scored(cut, rows)
        with HEAVY:
            return period_table(held_out.rows, held_out.scores[method], own, confidence_level=at)

    found = {}
    for method in methods:
        key = _key(session, rows, "periods", column, session.look.unit, method)
        found[method] = session.findings.get_or_make(key, partial(make, method))
    return found
