"""The classes of a matrix as slices: which are miscalibrated, and in which direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import streamlit as st

from calib.analysis.verdict import SIGNIFICANCE
from calib.blocks.slices import MAX_DRAWN
from calib.crossfit.matrix import MatrixFits
from calib.figures.slice_rows import RowsFrame, SliceRow, slice_rows
from calib.metrics.by_class import Classwise
from calib.text import UNKNOWN, count, level, p_value, percent, plain, plural, points
from calib.ui.controls import widgets
from calib.ui.controls.widgets import plain_name
from calib.ui.layout import frame, notes, tables
from calib.ui.session import choices, results, state
from calib.ui.session.choices import method_label
from calib.ui.session.session import Session
from calib.words.measures import KS

# Okabe and Ito's vermillion and blue: colour-blind eyes can tell them apart on white and on black.
TOO_HIGH, TOO_LOW, SIZE = "213, 94, 0", "0, 114, 178", "127, 127, 127"
MAX_SHADE = 0.6
FEW_GREY = {"light": "#5A6570", "dark": "#A9B4BF"}
COLUMNS: dict[str, Any] = {
    "class": st.column_config.TextColumn("Class", pinned=True),
    "n_rows": st.column_config.NumberColumn("Rows"),
    "ks_error": st.column_config.NumberColumn(
        KS, help="Largest cumulative gap of the class's own score."
    ),
    "bias": st.column_config.NumberColumn(
        "Bias (points)",
        help="Observed minus mean score, in percentage points. Blue: scores are too low, orange: "
        "too high.",
    ),
    "ece": st.column_config.NumberColumn(
        "ECE", help="ECE of the class's own score with 15 uniform bins."
    ),
    "ece_noise_floor": st.column_config.NumberColumn(
        "Chance level", help="Average ECE of calibrated scores of the class."
    ),
    "p_adjusted": st.column_config.NumberColumn(
        "p (Holm)", help="p-value of the KS test, corrected for all tests of the verdict (Holm)."
    ),
    "base_rate": st.column_config.NumberColumn("Observed", help="Share of rows of this class."),
    "mean_score": st.column_config.NumberColumn("Mean score"),
}
# A cell shows this text. The column is sorted by the number.
CELL_TEXTS: dict[str, Callable[[float], str]] = {
    "n_rows": count,
    **dict.fromkeys(("ks_error", "ece", "ece_noise_floor", "base_rate", "mean_score"), percent),
    "bias": points,
    "p_adjusted": lambda p: UNKNOWN if math.isnan(p) else p_value(p),
}
NUMBERS = "class_numbers"
TESTED = (
    "p: the KS test of the class's own score, after Holm's correction for all classes and the "
    "five tests of the view."
)
READING = f"""
- Classes are sorted by **{KS}**, worst first. Click a heading to sort. Select a row, or press
  Shift and Space on it, to open its class.
- **p** is corrected for the number of classes and for the five tests of the shown view, as the
  verdict is. It is not computed for classes with fewer than 30
  observed or expected rows; these rows are grey.
- **Bias** is observed minus mean score, in percentage points. A class without bias can still
  be miscalibrated, with some scores too high and others too low; KS and ECE show this.
"""


def part(session: Session, kind_control: Callable[[Session], None]) -> None:
    """Draw the classes instead of the slices of columns."""
    model = frame.model(session)
    body(session, model, kind_control)
    notes.below(session, model)


def body(session: Session, model: state.Model, kind_control: Callable[[Session], None]) -> None:
    analysis = model.analysis
    matrix = analysis.multiclass
    if matrix is None:
        return
    now, after = shown_tables(session, model, matrix.held_out)
    st.markdown(f"## {finding(now, 'uncalibrated')}")
    said = [worst_class(now), *(finding(table, key) for key, table in after.items())]
    st.markdown(" ".join(filter(None, said)))
    with widgets.toolbar("classes"):
        kind_control(session)
        if after:
            options = [key for key in analysis.methods if key != "uncalibrated"]
            widgets.control(session, choices.CLASSES, options, value=next(iter(after)))
    opened = draw_rows(session, model, now, after)
    with st.expander("Numbers of all classes", key=NUMBERS, on_change="rerun") as at:
        if at.open:
            for place, (key, table) in zip(
                st.tabs([method_label(key) for key in ("uncalibrated", *after)]),
                {"uncalibrated": now, **after}.items(),
                strict=True,
            ):
                with place:
                    chosen = show(model, table, key)
                    opened = chosen if opened is None else opened
            frame.reading(READING)
    if opened is not None:
        session.change(choices.VIEW, f"class:{opened}")
        st.switch_page("pages/reliability.py", query_params=session.link())


def shown_tables(
    session: Session, model: state.Model, held_out: MatrixFits
) -> tuple[Classwise, dict[str, Classwise]]:
    """The classes under the uncalibrated scores, and after calibration if there is a calibrator."""
    analysis, names = model.analysis, model.rows.class_names

    def table(method: str) -> Classwise:
        made = session.memo.heavy(MatrixFits.classwise, held_out, method, names)
        return results.classwise(made, analysis, method)

    wanted = session[choices.CLASSES]
    chosen = wanted if wanted in analysis.methods and wanted != "uncalibrated" else ""
    method = chosen or widgets.after(session, analysis)
    with st.spinner("Computing classes …"):
        return table("uncalibrated"), {method: table(method)} if method else {}


def draw_rows(
    session: Session, model: state.Model, now: Classwise, after: dict[str, Classwise]
) -> int | None:
    """Draw the classes with the largest KS errors; returns the class that is opened."""
    matrix = model.analysis.multiclass
    assert matrix is not None
    drawn = tuple(int(k) for k in now.index[:MAX_DRAWN])
    scores = [
        results.class_scores(session, matrix.held_out, key, table, drawn)
        for key, table in {"uncalibrated": now, **after}.items()
    ]
    rows = tuple(
        SliceRow(
            plain_name(model.rows, k),
            matrix.held_out.scored.scores.shape[0],
            int(now.n_rows[i]),
            before=scores[0][i],
            after=scores[1][i] if after else None,
            opens=str(k),
        )
        for i, k in enumerate(drawn)
    )
    n_classes = len(now.index)
    cut = [f"The {len(drawn)} classes with the largest errors, of {n_classes:,}."]
    label = method_label(next(iter(after))) if after else ""
    about = RowsFrame(
        "Class, largest error first",
        level(session.settings.confidence_level),
        method_label("uncalibrated"),
        f"{label}, held-out rows",
        "of this class",
        notes=[TESTED, *(cut if len(drawn) < n_classes else [])],
    )
    copied = tables.rows_of(now.frame())
    with st.container(key="slice_rows"):
        pressed = tables.with_buttons("class_rows", "classes", copied, slice_rows(rows, about))
    return int(pressed) if pressed in {row.opens for row in rows} else None


def finding(table: Classwise, method: str) -> str:
    label, n = method_label(method), len(table.index)
    judged = sum(not math.isnan(p) for p in table.p_adjusted)
    if not judged:
        return f"{label}: none of {n:,} classes has enough rows to be tested."
    off = int((table.p_adjusted < SIGNIFICANCE).sum())
    few = f" {n - judged:,} more have too few rows." if judged < n else ""
    if not off:
        return f"{label}: no error found in any of {plural(judged, 'class')}.{few}"
    are = "is" if off == 1 else "are"
    counted = f"{off:,} of {plural(judged, 'class')}"
    return f"{label}: {counted} {are} significantly miscalibrated.{few}"


def worst_class(table: Classwise) -> str:
    """The class with the largest KS error of those that are miscalibrated, or ""."""
    off = table.p_adjusted < SIGNIFICANCE
    if not off.any():
        return ""
    worst = int(off.argmax())
    return (
        f"Worst: **{plain(table.class_name[worst])}**, KS calibration error "
        f"{percent(table.ks_error[worst])} ({p_value(float(table.p_adjusted[worst]))} after Holm's "
        f"correction); mean prediction {percent(float(table.mean_score[worst]))}, observed "
        f"{percent(float(table.base_rate[worst]))}."
    )


def show(model: state.Model, table: Classwise, method: str) -> int | None:
    """Draw the table; returns the class of the selected row, if there is one."""
    frame = table.frame()
    frame["class"] = [plain_name(model.rows, k) for k in table.index]
    selected = st.dataframe(
        frame.style.apply(_shades, axis=None).format(CELL_TEXTS),
        column_order=list(COLUMNS),
        column_config=COLUMNS,
        hide_index=True,
        height=min(38 + 35 * len(frame), 560),
        key=f"table_classes_{method}",
        on_select="rerun",
        selection_mode="single-row",
        placeholder="–",
        alt=f"One row per class: rows, observed frequency, mean score, bias, {KS}, ECE and p.",
    )
    tables.with_buttons(
        f"classes_{method}", f"classes, {method_label(method)}", tables.rows_of(frame)
    )
    rows = selected["selection"]["rows"]
    return int(table.index[rows[0]]) if rows else None


def _shades(frame: Any) -> Any:
    """The style of each cell. Stronger colours are worse; grey letters mean too few rows."""
    styles = frame.copy().astype(object)
    styles.loc[:, :] = ""
    for name in ("ks_error", "ece"):
        largest = frame[name].max()
        styles[name] = [_shade(SIZE, value, largest) for value in frame[name]]
    largest = frame["bias"].abs().max()
    styles["bias"] = [
        _shade(TOO_LOW if value > 0 else TOO_HIGH, abs(value), largest) for value in frame["bias"]
    ]
    grey = FEW_GREY["dark" if st.context.theme.type == "dark" else "light"]
    styles.loc[frame["few"], :] = f"color: {grey}"
    return styles


def _shade(color: str, value: float, largest: float) -> str:
    if not largest or math.isnan(value):
        return ""
    return f"background-color: rgba({color}, {MAX_SHADE * value / largest:.3f})"
