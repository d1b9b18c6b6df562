"""Classes: which classes are miscalibrated, and in which direction."""

import streamlit as st

from calib.crossfit.matrix import MatrixFits
from calib.ui.controls import widgets
from calib.ui.layout import frame, words
from calib.ui.pages import classes
from calib.ui.session import choices, state

session = frame.begin("Classes")

if not session.is_matrix:
    frame.source(session)
    st.info("This page needs one score column per class. Your data have a single score.")
    st.page_link("pages/reliability.py", label="**See the reliability diagram**")
    st.stop()

with st.sidebar:
    chosen = widgets.control(session, choices.CLASSES, session.settings.methods)
    widgets.changed(session)


def body(model: state.Model) -> None:
    matrix = model.analysis.multiclass
    if matrix is None:
        return
    method = chosen if chosen in model.analysis.methods else "uncalibrated"
    st.markdown("## Classes")
    with st.spinner("Computing classes …"):
        names = model.predictions.class_names
        table = session.memo.heavy(MatrixFits.classwise, matrix.held_out, method, names)
    table = classes.adjusted(table, model.analysis, method)
    st.markdown(classes.summary(table, method))
    opened = classes.show(model, table)
    frame.reading(classes.READING)
    st.caption(words.protocol(model.analysis))
    if opened is not None:
        session.change(choices.VIEW, f"class:{opened}")
        st.switch_page("pages/reliability.py", query_params=session.link())


frame.show(session, frame.models(session), body)
