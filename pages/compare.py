"""Compare: which calibrator is worth it, and is the gain real?"""

from collections.abc import Mapping, Sequence

import streamlit as st

from calib import text
from calib.analysis import Analysis
from calib.analysis.analysis import Result
from calib.curves.reliability import FEW_ROWS
from calib.figures.before_after import before_after_panel
from calib.figures.difference import difference_chart
from calib.figures.words import band_meaning
from calib.ui.controls import use_calibrator, widgets
from calib.ui.layout import charts, frame, tables, words
from calib.ui.layout.tables import MetricColumn
from calib.ui.pages import compare
from calib.ui.session import choices, state

TABLE = (
    "Below each value: its {} confidence interval, and for calibration errors what a calibrated "
    "model of this size shows on average. ★ Best in column. Methods are ranked by log loss, "
    "because ECE depends on the binning."
)
BEFORE_AFTER = (
    "Mean predicted probability (x) against observed frequency (y). The grey area is the "
    f"consistency band: {{}}. Hollow dots have fewer than {FEW_ROWS} rows."
)
DIFFERENCE = """
- **Left of zero** is better than the uncalibrated scores.
- If the interval **includes zero**, the difference is inconclusive. Clipped intervals are given in
  full in the table.
- Differences are paired by row, so their intervals are narrower than those of the losses.
"""
# As many columns leave room for the changes beside the table.
BESIDE = 5

session = frame.begin("Compare")

with st.sidebar:
    widgets.methods(session)
    widgets.control(session, choices.ADDED_METRICS)
    shown = widgets.columns(session)
    below = st.container()
    widgets.binning(session)
    widgets.control(session, choices.CONFIDENCE_LEVEL)
    widgets.folds(session, state.predictions(session))
    widgets.changed(session)


def body(model: state.Model) -> None:
    analysis = model.analysis
    st.markdown("## Compare calibrators")
    recommendation(model)
    if analysis.multiclass:
        st.markdown("### All classes, held-out rows")
        compared = analysis.multiclass
        columns = chosen(analysis, compare.matrix_columns(compared))
        table("all_classes", "Metrics of all classes", analysis, columns, compared.results)
        if len(analysis.methods) > 1:
            compare.matrix_forest(analysis)
        compare.clipped(session, compared)
        st.markdown(f"### This view: {text.plain(analysis.data.positive_name)}")
    else:
        st.markdown("### Metrics on held-out rows")
    metrics(analysis)
    if len(analysis.methods) > 1:
        before_and_after(analysis)


def metrics(analysis: Analysis) -> None:
    columns = chosen(analysis, tables.metric_columns(analysis.columns, analysis.methods))
    with st.container(key=state.key("table_and_changes")):
        # More columns need the width of the page.
        places = (
            st.columns([5, 3], gap="medium") if len(columns) <= BESIDE else [st.container()] * 2
        )
    with places[0]:
        table("metrics", "Metrics", analysis, columns, analysis.methods)
    if len(analysis.methods) > 1:
        with places[1]:
            charts.chart(difference_chart(analysis, "log_loss"), "chart_forest")
            frame.reading(DIFFERENCE, "the changes")


def chosen(analysis: Analysis, columns: Sequence[MetricColumn]) -> Sequence[MetricColumn]:
    known = shown + analysis.settings.metrics
    return [column for column in columns if column.key in known] or columns[:1]


def table(
    name: str,
    about: str,
    analysis: Analysis,
    columns: Sequence[MetricColumn],
    methods: Mapping[str, Result],
) -> None:
    labels = {key: method.label for key, method in methods.items()}
    tables.metric_table(name, about, columns, labels, analysis.recommendation.method)
    at = text.level(analysis.settings.confidence_level)
    frame.once("stars", lambda: st.caption(TABLE.format(at)))


def recommendation(model: state.Model) -> None:
    analysis = model.analysis
    with st.container(border=True, key=state.key("recommendation")):
        st.markdown(f"### {text.plain(analysis.recommendation.sentence)}")
        for reason in analysis.recommendation.reasons:
            st.markdown(f"- {text.plain(reason)}")
        st.caption(words.protocol(analysis))
        use_calibrator.button(session, model)


def before_and_after(analysis: Analysis) -> None:
    st.markdown("### Before and after")
    if reason := words.undrawn(analysis.uncalibrated.reliability):
        st.info(reason)
        return
    with st.container(horizontal=True, key=state.key("before_after"), gap="xsmall"):
        for key in analysis.methods:
            charts.chart(before_after_panel(analysis, key), f"chart_before_after_{key}")
    band = band_meaning(analysis.uncalibrated.reliability)
    frame.once("before and after", lambda: st.caption(BEFORE_AFTER.format(band)))


models = frame.models(session)
all_models = st.container()
if len(state.models(session)) > 1:
    with below:
        compared = widgets.after_control(session, models[0].analysis)
frame.show(session, models, body)
# Last: everything above can be read while all models are fitted.
if len(state.models(session)) > 1:
    with all_models:
        counted = session.upload is not None and bool(session.upload.counted)
        compare.models(frame.comparison(session, compared[-1]), counted=counted)
        widgets.why_shown(models[0].analysis, compared)
