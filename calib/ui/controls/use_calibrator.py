"""Get the code: the calibrator as code or a file, and a person's own scores calibrated."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from pyarrow import Table as ArrowTable
from pyarrow import csv, parquet

from calib.analysis import LiveAnalysis
from calib.analysis.from_model import calibrated_scores
from calib.analysis.plans import PlanChoice
from calib.calibrators import Calibrator, MatrixCalibrator
from calib.data.base import Data
from calib.data.origin import conversion_of
from calib.data.predictions import rows_of
from calib.exports import (
    DIALECTS,
    MAX_DEVIATION,
    TARGETS,
    Condition,
    ExportError,
    Offer,
    offer,
)
from calib.exports.file_formats import CONDITIONAL
from calib.loading import Columns, InputError, read
from calib.loading.building.models import CalibratedTable, calibrate_table, with_calibrated
from calib.loading.table import Table
from calib.text import percent, plain, plural, sentence, significant
from calib.ui.controls.report_files import file_stem
from calib.ui.controls.widgets import download
from calib.ui.session import state
from calib.ui.session.choices import method_label
from calib.ui.session.session import Session

GET_CODE = "Get the code"  # The action has this one name on all pages.
LANGUAGES = {".sql": "sql", ".py": "python", ".js": "javascript", ".json": "json"}
MAX_SHOWN_CHARACTERS = 20_000  # Longer files are cut on the page.
MAX_WHOLE_LINES = 40  # Longer code is shown in a box that scrolls.
CODE, SCORES = "Code for production", "Calibrated scores"
FILES = (("CSV", "csv", csv.write_csv), ("Parquet", "parquet", parquet.write_table))


def button(session: Session, model: state.Model, *, leads: bool) -> None:
    """The button of the calibrators. Its colour stands out if one is recommended and `leads`."""
    if not fitted(model.analysis):
        return
    look: Any = "primary" if leads and model.analysis.advised is not None else "secondary"
    if st.button(GET_CODE, key="use", type=look):
        _dialog(session, model)


def advised_button(session: Session, model: state.Model, *, helps: bool = True) -> None:
    """The button of the recommended calibrator, if there is one, which opens the same dialog.

    Its colour stands out if the calibrator helps with what the page is about.
    """
    method = model.analysis.recommendation.method
    if method not in fitted(model.analysis):
        return
    if st.button(GET_CODE, key="use", type="primary" if helps else "secondary"):
        show(session, model, method)


def row_button(session: Session, model: state.Model, method: str) -> None:
    """The button of one calibrator in a table, which opens the same dialog."""
    if method not in fitted(model.analysis):
        return
    about = f"{method_label(method)} as SQL, Python and more"
    if st.button(GET_CODE, key=f"use_{method}", type="tertiary", help=about):
        show(session, model, method)


def plan_button(session: Session, model: state.Model, plan: PlanChoice, time: str) -> None:
    """The button of a plan for some rows, whose code has its condition."""
    if st.button(GET_CODE, key="use_plan", type="primary"):
        show_plan(session, model, plan, time)


@st.dialog(f"{GET_CODE} for some rows", width="large")
def show_plan(session: Session, model: state.Model, plan: PlanChoice, time: str) -> None:
    plan_code(session, model, plan, time)


def plan_code(session: Session, model: state.Model, plan: PlanChoice, time: str) -> None:
    """The body of the dialog of a plan: its code, with the condition of its rows."""
    chosen, since = plan.plan, plan.since.isoformat()
    calibrator = plan.calibrator
    assert calibrator is not None  # Without one there is no button.
    suffix, dialect = _form(CONDITIONAL, "plan")
    try:
        condition = Condition(time, since, chosen.column, chosen.value)
        made = session.memo.heavy(
            offer,
            calibrator,
            suffix,
            dialect,
            name=_stem(model.analysis.data.name, chosen.method),
            columns=_columns(session, model.rows),
            condition=condition,
        )
    except (ExportError, ValueError) as error:
        st.error(plain(sentence(str(error))))
        return
    if made.missing:
        st.info(plain(made.missing))
        return
    st.markdown(f"For the rows with {plain(condition.words)}. Other rows keep their score.")
    st.markdown(_verified(made))
    download(f"Download {made.file_name}", made.content, made.file_name, "use_plan_file")
    with st.container(height=320, border=False, key="plan_code"):
        st.code(made.code[:MAX_SHOWN_CHARACTERS], language=LANGUAGES[suffix], wrap_lines=True)


def show(session: Session, model: state.Model, method: str) -> None:
    """Open the dialog with this calibrator."""
    _dialog(session, model, method)


def fitted(analysis: LiveAnalysis) -> Mapping[str, Calibrator | MatrixCalibrator]:
    """The calibrators for use, of scores or of whole rows, by method."""
    calibrators = analysis.held_out.calibrators
    return {key: calibrators[key] for key in analysis.methods if key != "uncalibrated"}


@st.dialog(GET_CODE, width="large")
def _dialog(session: Session, model: state.Model, first: str = "") -> None:
    calibrator_code(session, model, first)


def calibrator_code(session: Session, model: state.Model, first: str = "") -> None:
    """The body of the dialog of calibrators: the code and the calibrated scores of one."""
    calibrators = fitted(model.analysis)
    advised, keys = model.analysis.recommendation.method, list(calibrators)
    opened = first or advised
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    with left:
        method = st.selectbox(
            "Calibrator",
            keys,
            index=keys.index(opened) if opened in keys else 0,
            format_func=lambda key: (
                method_label(key) + (" (recommended)" if key == advised else "")
            ),
            key="use_method",
        )
    with right:
        part = st.segmented_control(
            "What for",
            [CODE, SCORES],
            default=CODE,
            required=True,
            key="use_part",
            label_visibility="collapsed",
        )
    if part == CODE:
        _code(session, model, method)
    else:
        _scores(session, model, method)


def _form(suffixes: Iterable[str], key: str) -> tuple[str, str | None]:
    """Choose the form of the code, and the dialect of SQL."""
    left, right = st.columns([2, 3])
    with left:
        suffix = st.segmented_control(
            "Form",
            list(suffixes),
            default=".sql",
            format_func=lambda key: TARGETS[key].label,
            required=True,
            key=f"{key}_form",
        )
    if suffix != ".sql":
        return suffix, None
    with right:
        dialect = st.selectbox(
            "SQL dialect",
            list(DIALECTS),
            format_func=lambda key: DIALECTS[key].name,
            key=f"{key}_dialect",
        )
    return suffix, dialect


def _code(session: Session, model: state.Model, method: str) -> None:
    suffix, dialect = _form(TARGETS, "use")
    try:
        with st.spinner("Running it at its test scores"):
            columns, classes = _columns(session, model.rows), _classes(model.rows)
            made = session.memo.heavy(
                offer,
                fitted(model.analysis)[method],
                suffix,
                dialect,
                name=_stem(model.analysis.data.name, method),
                columns=columns,
                classes=classes,
                analysis=model.analysis,
            )
    except (ExportError, ValueError) as error:
        st.error(plain(sentence(str(error))))
        return
    if made.missing:
        st.info(plain(made.missing))
        return
    st.markdown(_verified(made))
    _facts(model, method)
    label = f"Download {made.file_name}"
    download(label, made.content, made.file_name, "use_download", type="primary")
    if made.code:
        # The container scrolls, because a code element cannot be scrolled by keyboard.
        long = made.code.count("\n") > MAX_WHOLE_LINES
        with st.container(height=320 if long else "content", border=False, key="use_code"):
            shown = made.code[:MAX_SHOWN_CHARACTERS]
            st.code(shown, language=LANGUAGES[suffix], wrap_lines=True)
        if len(made.code) > MAX_SHOWN_CHARACTERS:
            st.caption(f"The first {MAX_SHOWN_CHARACTERS:,} of {len(made.code):,} characters.")


def _columns(session: Session, rows: Data) -> tuple[str, ...]:
    """The score columns of the file that the rows came from."""
    if not rows.is_matrix:
        return (rows.score_name,)
    return session.upload.mapping.score_columns if session.upload else rows.class_names


def _classes(rows: Data) -> tuple[str, ...] | None:
    return rows.class_names if rows.is_matrix else None


def _verified(made: Offer) -> str:
    engine = plain(made.run.engine)
    if made.run.here:
        return (
            f":material/check: Verified: {engine} gives the same probabilities within "
            f"{MAX_DEVIATION:g} at all test scores."
        )
    if not made.run.was_parsed:
        return f":material/info: **Not executed here**: {engine} is not installed."
    return (
        f":material/info: **Not executed here**: no {plain(made.label)} engine is installed. "
        "The text was parsed, and the parsed query gives the same numbers in DuckDB."
    )


def _facts(model: state.Model, method: str) -> None:
    made = fitted(model.analysis)[method]
    facts = f"Fitted on {plural(int(made.n_rows_), 'row')}"
    if isinstance(made, Calibrator):
        low, high = (significant(end) for end in made.fitted_range_)
        facts += (
            f" with scores from {low} to {high} and a base rate of "
            f"{percent(made.fitted_base_rate_[0])}. Scores outside this range are extrapolated"
        )
        if made.monotone:
            facts += ". Monotone: a higher score never gets a lower probability"
    st.caption(plain(f"{facts}."))


def _scores(session: Session, model: state.Model, method: str) -> None:
    if model.rows.has_rows:
        _own_scores(session, model, method)
    else:
        st.caption("These data are counts, so there are no rows to calibrate.")
    st.markdown("##### New scores, without outcomes")
    dropped = st.file_uploader(
        "A file with the same score columns", key="use_new", help="CSV, Parquet, Feather or Arrow."
    )
    if dropped is not None:
        _new_scores(session, model, method, dropped.name, dropped.getvalue())


def _own_scores(session: Session, model: state.Model, method: str) -> None:
    st.markdown("##### The rows of this analysis")
    test = model.rows.is_split
    st.caption(
        "Test rows are scored by a calibrator that was fitted on the other rows. Calibration rows "
        "are marked “fitted on this row”: do not evaluate on them."
        if test
        else "Each row is scored by a calibrator that was fitted without the row's fold."
    )
    stem = _stem(model.analysis.data.name, method)
    _downloads(partial(_own_file, session, model, method), stem, "own")


def _new_scores(
    session: Session, model: state.Model, method: str, name: str, content: bytes
) -> None:
    try:
        table = read(content, name=name)
        mapping = _mapping(session, model, table)
        predict = fitted(model.analysis)[method].predict
        made = calibrate_table(table, mapping, predict, _classes(model.rows) or ())
    except InputError as error:
        st.error(plain(str(error)))
        return
    for reason, rows in made.set_aside.items():
        st.caption(f":material/info: {plural(rows, 'row')} without a calibrated score: {reason}.")
    st.dataframe(made.frame.head(8), hide_index=True, key="use_preview")
    _downloads(lambda: made, _stem(table.name, method), "new")


def _stem(data_name: str, method: str) -> str:
    """The name of a file without its ending."""
    return f"{file_stem(data_name)}-{method}"


def _mapping(session: Session, model: state.Model, table: Table) -> Columns:
    """The score columns are those of the analysed file, or the one that the person names."""
    mapping_of_upload = session.upload.mapping if session.upload else Columns()
    columns = _columns(session, model.rows)
    # Saved counts know how their scores were converted, but not the columns.
    conversion = conversion_of(model.analysis.data.origin)
    mapping = mapping_of_upload.chosen(
        score=columns if model.rows.is_matrix else columns[0], **conversion
    )
    if isinstance(mapping.score, str) and mapping.score not in table.columns:
        chosen = st.selectbox("Which column holds the scores?", table.columns, index=None)
        if chosen is None:
            st.stop()
        mapping = mapping.chosen(score=chosen)
    return mapping


def _downloads(make: Callable[[], CalibratedTable], stem: str, key: str) -> None:
    with st.container(horizontal=True):
        for label, suffix, write in FILES:
            made = partial(_written, write, make)
            download(f"Download {label}", made, f"{stem}.{suffix}", f"use_{key}_{suffix}")


def _own_file(session: Session, model: state.Model, method: str) -> CalibratedTable:
    calibrated = calibrated_scores(model.analysis, rows_of(model.rows), method)
    upload = session.upload
    if upload is None:
        rows = rows_of(model.rows)
        outcome = np.array(rows.class_names)[rows.outcome] if rows.is_matrix else rows.outcome
        names = list(rows.class_names if rows.is_matrix else (rows.score_name,))
        scores = pd.DataFrame(rows.scores.reshape(len(rows), -1), columns=names)
        frame = pd.DataFrame({rows.outcome_name: outcome} | dict(scores) | dict(rows.columns))
        return CalibratedTable(pd.concat([frame, calibrated], axis=1), {})
    number = list(upload.models).index(model.name)
    return with_calibrated(upload.tables, upload.mapping, calibrated, number)


def _written(write: Callable[..., object], make: Callable[[], CalibratedTable]) -> bytes:
    held = io.BytesIO()
    write(ArrowTable.from_pandas(make().frame, preserve_index=False), held)
    return held.getvalue()
