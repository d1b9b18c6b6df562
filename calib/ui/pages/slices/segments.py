"""Where it fails: the search for segments, and what it confirms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.analysis.slices import Segments
from calib.blocks.kinds import Action, Table, Tabs, Value, row
from calib.data.slicing import crossed_name
from calib.text import interval, level, number, p_value, percent, plain, plural, points
from calib.ui.controls import widgets
from calib.ui.layout import blocks
from calib.ui.session import choices, results, state
from calib.ui.session.choices import method_label
from calib.ui.session.session import Session
from calib.ui.session.turns import Cancel

READING = (
    "One half of the rows searches all columns and pairs of columns. The other half confirms, and "
    "all numbers are those of that half. The chance of any false segment is at most {}."
)
SAVED = (
    "Log loss per row of the segment that a logistic calibrator of its own saves, and its {} "
    "interval. It was fitted on the half that searched. Below: per row of all data."
)
EVERYWHERE = (
    "The uncalibrated scores are miscalibrated in all rows together ({}), and so in most segments. "
    "Segments that are left after calibration need more than one calibrator for all rows."
)
ADD = "Add to slices"


def button(session: Session) -> None:
    """The button that begins the search, or closes its result."""
    searches = session[choices.SEARCH]
    st.button(
        "Close search" if searches else choices.SEARCH.label,
        key="search_segments",
        icon=":material/close:" if searches else ":material/troubleshoot:",
        help=choices.SEARCH.help,
        on_click=session.change,
        args=(choices.SEARCH, not searches),
    )


def section(session: Session, model: state.Model, shown: tuple[str, ...]) -> None:
    """Search, with the progress and Cancel, and show what is confirmed."""
    segments = _searched(session, model, shown)
    if segments is None:
        return
    first, *others = segments
    st.markdown(f"### {plain(segments[first].sentence)}")
    if segments[first].remark:
        st.markdown(EVERYWHERE.format(p_value(segments[first].p_of_all)))
    for key in others:
        st.markdown(f"**{method_label(key)}**: {plain(segments[key].sentence)}")
    confirmed = {key: one for key, one in segments.items() if len(one)}
    # A browser can send any text as the row whose button was pressed.
    rows = {f"{key} {i}": (one, i) for key, one in confirmed.items() for i in range(len(one))}
    if confirmed and (pressed := blocks.show(_tables(confirmed))) in rows:
        _add(session, model, *rows[pressed])
    _notes(segments[first])


def _searched(
    session: Session, model: state.Model, shown: tuple[str, ...]
) -> Mapping[str, Segments] | None:
    close = partial(session.change, choices.SEARCH, False)
    slot, cancel = st.empty(), Cancel("cancel_segments", close)
    segments: dict[str, Segments] = {}

    def progress(share: float, text: str) -> None:
        slot.progress((len(segments) + share) / len(shown), f"{plain(text)} …")
        cancel.after_a_while()

    try:
        for key in shown:
            segments[key] = results.segments(session, model, key, progress)
    except ValueError as error:
        cancel.withdraw()
        slot.info(plain(str(error)))
        return None
    slot.empty()
    cancel.withdraw()
    return segments


def _tables(segments: Mapping[str, Segments]) -> Tabs:
    """A table per method, whose actions are the method and the position of a segment."""
    at = level(next(iter(segments.values())).confidence_level)
    meanings = {
        "Predicted": "Mean score.",
        "Observed": "Share of positive rows.",
        "Difference (points)": "Observed minus predicted.",
        "Kuiper error": "Largest gap over any interval of scores.",
        "p (Holm)": "Kuiper test, after the correction for the segments that were tested.",
        "Log loss saved": SAVED.format(at),
    }
    tables = {
        method_label(key): Table(
            "",
            ("Segment", *meanings),
            tuple(_row(one, i) for i in range(len(one))),
            meanings=meanings,
            actions=tuple(Action(f"{key} {i}", ADD) for i in range(len(one))),
        )
        for key, one in segments.items()
    }
    return Tabs("Segments", tables)


def _row(of: Segments, i: int) -> tuple[Value, ...]:
    saved = of.saved_estimate(i)
    details = f"{interval(saved, 3)}\n{number(of.saved_in_all[i])} in all rows"
    return row(
        Value(of.names[i], plural(of.rows[i], "row")),
        percent(of.mean_score[i]),
        Value(percent(of.observed[i]), f"{of.rows_confirming[i]:,} rows"),
        points(of.gap[i]),
        percent(of.kuiper[i]),
        p_value(of.p_adjusted[i]),
        Value("–", "one class only") if of.one_class[i] else Value(number(saved.value), details),
    )


def _add(session: Session, model: state.Model, of: Segments, i: int) -> None:
    """Cut the rows by the columns of a segment, and overlay its slice."""
    columns = of.columns[i]
    session.change(choices.SLICE_BY, columns[0])
    session.change(choices.CROSS, columns[1] if len(columns) > 1 else "")
    names = results.sliced(session, model, columns).slicing.names
    session.change(choices.PICKED, (names.index(crossed_name(of.values[i])),))
    widgets.assign_again(*(key for key in ("slice_by", "cross", "picked")))
    st.rerun()


def _notes(of: Segments) -> None:
    if of.left_out:
        reasons = " ".join(f"{name}: {reason}" for name, reason in of.left_out.items())
        st.caption(plain(f"Not searched: {reasons}"))
    chance = percent(1.0 - of.confidence_level, 0)
    st.caption(READING.format(chance))


def place(session: Session) -> DeltaGenerator | None:
    """The place of the result, above the slices; None while nothing is searched."""
    if not session[choices.SEARCH]:
        return None
    # A container is drawn only if something is in it, and the place must be kept free.
    kept = st.container(key="searched")
    kept.html("<div></div>")
    return kept
