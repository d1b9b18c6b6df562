"""Where it fails: the search for segments, and what it confirms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from calib.blocks.kinds import Action, Table, Tabs, Value, row
from calib.data.base import Data, Progress
from calib.data.slicing import crossed_name
from calib.features.segments.choices import SEARCH
from calib.features.segments.search import Segments, find_segments
from calib.text import interval, level, number, p_value, percent, plain, plural, points
from calib.ui.controls import widgets
from calib.ui.layout import blocks
from calib.ui.session import choices, results, state
from calib.ui.session.choices import N_RANGES, method_label
from calib.ui.session.memo import WithProgress
from calib.ui.session.session import Session
from calib.ui.session.turns import Cancel, in_other_process

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


def section(session: Session, model: state.Model) -> None:
    """The button that begins the search; then its progress, and what is confirmed."""
    if not (model.rows.columns and model.rows.has_rows):
        return
    searches = session[SEARCH]
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.button(
            "Close search" if searches else SEARCH.label,
            key="search_segments",
            icon=":material/close:" if searches else ":material/troubleshoot:",
            on_click=session.change,
            args=(SEARCH, not searches),
        )
        st.caption(SEARCH.help)
    if searches:
        _result(session, model)


def _result(session: Session, model: state.Model) -> None:
    after = widgets.after(session, model.analysis) if model.plan is None else ""
    segments = _searched(session, model, ("uncalibrated", *filter(None, [after])))
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
    close = partial(session.change, SEARCH, False)
    slot, cancel = st.empty(), Cancel("cancel_segments", close)
    segments: dict[str, Segments] = {}

    def progress(share: float, text: str) -> None:
        slot.progress((len(segments) + share) / len(shown), f"{plain(text)} …")
        cancel.after_a_while()

    try:
        for key in shown:
            segments[key] = session.memo.heavy(
                WithProgress(_find, progress=progress),
                model.rows,
                held_out=model.analysis.held_out,
                method=key,
                n_ranges=session[N_RANGES],
                confidence_level=session.settings.confidence_level,
                seed=session.settings.seed,
            )
    except ValueError as error:
        cancel.withdraw()
        slot.info(plain(str(error)))
        return None
    slot.empty()
    cancel.withdraw()
    return segments


def _find(rows: Data, *, progress: Progress, **options: Any) -> Segments:
    return in_other_process(find_segments, rows, n_rows=rows.n_rows, progress=progress, **options)


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
