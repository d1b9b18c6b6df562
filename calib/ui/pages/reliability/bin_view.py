"""One bin inspected: chosen by a click or by keyboard, then its count, rows and slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from calib.analysis import Analysis, LiveAnalysis
from calib.analysis.slices import SliceMix, row_table, score_in
from calib.crossfit.cross_fitted import CrossFitted
from calib.data.predictions import Predictions, rows_of
from calib.loading import InputError
from calib.reports.render.files import to_csv
from calib.text import count, level, percent, plain, points, score_percent, span
from calib.ui.controls.widgets import ask, control, download, take_answer
from calib.ui.layout import tables
from calib.ui.pages.reliability import chosen_bin
from calib.ui.pages.reliability.chosen_bin import ChosenBin
from calib.ui.session import choices, results, state
from calib.ui.session.session import Session

KEY = "rows_of_a_bin"
ROWS_PER_PAGE = 50
COUNTED = (
    "These data are counts: there are no rows of the bin to list, and none to compare with the "
    "others. Upload the rows to see them."
)
COUNTS_ONLY = "The operator of this server allows only counts of this source, no rows."
ONLY_UNCALIBRATED = (
    "Rows are fetched from the source by their uncalibrated scores. Choose Uncalibrated to see "
    "rows of its bins."
)
ONLY_ONE_COLUMN = (
    "Rows of a bin can be fetched only if each row has one score column. Here the score was made "
    "of several columns, or a column names the model."
)
MAX_SLICES = 100
HINT = "Select a range of scores above, or choose a bin here, to see its rows."
EMPTY = "The bin around {} has no rows. Choose another."
EMPTY_RANGE = "No row has a score of {}. Select another range."


def pick(session: Session, analysis: LiveAnalysis, key: str) -> None:
    """Choose the bin whose dot was clicked. A second click on it clears the choice."""
    take_answer(key, partial(_pick, session, analysis))


def _pick(session: Session, analysis: LiveAnalysis, answer: Mapping[str, Any]) -> None:
    points = answer["selection"]["points"]
    dots = [point["customdata"] for point in points if isinstance(point.get("customdata"), list)]
    if not dots:
        return
    position, method = int(dots[0][0]), str(dots[0][1])
    again = chosen_bin.chosen(session, analysis, (method,)).ring == (method, position)
    _look_into(session, analysis, method, None if again else position)


def _look_into(session: Session, analysis: Analysis, method: str, position: int | None) -> None:
    if position is None:
        session.reset(choices.BIN_AT, choices.BIN_OF, choices.SCORE_RANGE)
        return
    session.change(choices.BIN_AT, score_in(analysis.methods[method].reliability, position))
    session.change(choices.BIN_OF, method)


def show(session: Session, model: state.Model, shown: Sequence[str]) -> None:
    with st.container(key=KEY):
        st.markdown("### Rows of one bin")
    picked = chosen_bin.chosen(session, model.analysis, shown)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        _control(session, model.analysis, picked, shown)
    position = picked.position
    if position is None:
        st.caption(_missing(session, picked))
        return
    st.markdown(_sentence(picked, position))
    if not model.rows.has_rows:
        _counted(session, model, picked, position)
        return
    listed, mixed = st.columns([5, 4], gap="medium")
    with listed:
        _rows(session, rows_of(model.rows), model.analysis.held_out, picked, position)
    with mixed:
        _mix(session, model, picked, position)


def _counted(session: Session, model: state.Model, picked: ChosenBin, i: int) -> None:
    """If a source has the rows, offer to fetch some rows of the bin."""
    connected = None if session.upload is None else session.upload.source
    if connected is None:
        st.caption(COUNTED)
        return
    if not connected.source.rows:
        st.caption(COUNTS_ONLY)
        return
    mapping = connected.mapping
    score = model.name if model.name in mapping.models else mapping.score
    if not isinstance(score, str) or mapping.model is not None:
        st.caption(ONLY_ONE_COLUMN)
        return
    if picked.method != "uncalibrated":
        st.caption(ONLY_UNCALIBRATED)
        return
    low, high = float(picked.curve.low_edge[i]), float(picked.curve.high_edge[i])
    label = f"Fetch up to {ROWS_PER_PAGE} rows with scores {span(low, high)}"
    if not st.button(label, key="fetch_rows", icon=":material/download:"):
        return
    try:
        with st.spinner("Asking the source"):
            rows = connected.some_rows(score, low, high, ROWS_PER_PAGE)
    except InputError as error:
        st.error(plain(str(error)))
        return
    st.dataframe(rows, hide_index=True, height=320, alt=f"{len(rows)} rows of the bin.")


def _missing(session: Session, picked: ChosenBin) -> str:
    if picked.is_range:
        return EMPTY_RANGE.format(span(*session[choices.SCORE_RANGE]))
    score = session[choices.BIN_AT]
    return HINT if score is None else EMPTY.format(score_percent(score))


def _control(session: Session, analysis: Analysis, picked: ChosenBin, shown: Sequence[str]) -> None:
    options = tuple(dict.fromkeys((*shown, picked.method)))
    if len(options) > 1:
        control(session, choices.BIN_OF, options, value=picked.method)
    curve = analysis.methods[picked.method].reliability
    # Other bins need another widget, because an old choice would be read as one of the new bins.
    key = f"bin_at_{picked.method}_{curve.strategy}_{len(curve.rows)}_{curve.n_empty}"

    def name(i: int) -> str:
        n = count(curve.rows[i])
        return f"{i + 1}: scores {span(curve.low_edge[i], curve.high_edge[i])}, {n} rows"

    ask(
        st.selectbox,
        key,
        None if picked.is_range else picked.position,
        partial(_look_into, session, analysis, picked.method),
        label=choices.BIN_AT.label,
        options=range(len(curve.rows)),
        index=None,
        format_func=name,
        placeholder="Selected range" if picked.is_range else "Choose a bin",
    )


def _sentence(picked: ChosenBin, i: int) -> str:
    curve = picked.curve
    n, positive = count(curve.weight[i]), count(curve.positive[i])
    weighted = curve.weight[i] != curve.rows[i]
    rows = f" of weight, {count(curve.rows[i])} rows" if weighted else ""
    return (
        f"**{positive} of {n}{rows} positive.** Mean score {percent(curve.mean_score[i])}, "
        f"observed frequency {percent(curve.observed[i])} ({level(curve.confidence_level)} CI "
        f"{percent(curve.low[i])} to {percent(curve.high[i])})."
    )


def _rows(
    session: Session, rows: Predictions, held_out: CrossFitted, picked: ChosenBin, position: int
) -> None:
    indices = session.memo(results.rows_of_bin, held_out, picked.method, picked.curve, position)
    slot = st.container()
    page = st.pagination(
        -(-len(indices) // ROWS_PER_PAGE),
        key=f"rows_{picked.method}_{indices[0]}_{len(indices)}",
    )
    shown = indices[(page - 1) * ROWS_PER_PAGE : page * ROWS_PER_PAGE]
    slot.dataframe(
        row_table(rows, held_out, picked.method, shown),
        hide_index=True,
        height=320,
        key="table_rows",
        alt=f"Rows of the bin: {len(shown)} of {len(indices):,}, one per line, with every column.",
    )
    # It is made when it is asked for, because a bin may hold all rows of a large file.
    table = partial(row_table, rows, held_out, picked.method, indices)
    rows_of_bin = "this row" if len(indices) == 1 else f"these {len(indices):,} rows"
    label = f"Download {rows_of_bin} (CSV)"
    key = "download_bin"
    download(label, lambda: to_csv(table()), "bin.csv", key, mime="text/csv")


def _mix(session: Session, model: state.Model, picked: ChosenBin, position: int) -> None:
    names = list(model.rows.columns)
    if not names:
        st.caption("These data have no slice columns to compare the bin by.")
        return
    column = control(
        session,
        choices.SLICE_BY,
        names,
        key="mix_by",
        label="Compare this bin with all other rows by",
    )
    cut = results.sliced(session, model, (column,)).scored
    if picked.curve.rows[position] == len(cut.codes):
        st.caption("All rows are in this bin, so there are no other rows to compare it with.")
        return
    chosen = (picked.method, picked.curve, position)
    level = session.settings.confidence_level
    _mix_table(session.memo(results.mix_of_bin, model.analysis.held_out, *chosen, cut, level))


def _mix_table(mix: SliceMix) -> None:
    at = level(mix.confidence_level)
    tables.table(
        "mix",
        [
            {
                "Slice": mix.names[i],
                "In the bin": percent(mix.inside[i]),
                "Elsewhere": percent(mix.outside[i]),
                "Difference (points)": points(mix.difference[i]),
                f"{at} CI": f"{points(mix.low[i])} to {points(mix.high[i])}",
                "Rows in the bin": int(mix.rows_inside[i]),
                "Rows elsewhere": int(mix.rows_outside[i]),
            }
            for i in mix.order[:MAX_SLICES]
        ],
        alt="One row per slice: its share of the bin, its share of all other rows, the difference.",
        formats={"Slice": st.column_config.TextColumn(pinned=True)},
    )
    if len(mix) > MAX_SLICES:
        st.caption(f"The {MAX_SLICES} largest differences of {len(mix):,} slices.")
