"""Compare: which calibrator is worth it, and is the gain real?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import streamlit as st

from calib.analysis import Analysis, Column
from calib.analysis.model_comparison import ModelComparison
from calib.crossfit.clipping import Clipping, compare_clipping
from calib.crossfit.estimates import MethodMetrics
from calib.crossfit.matrix_comparison import LiveMulticlassComparison, MulticlassComparison
from calib.curves.reliability import FEW_ROWS
from calib.figures.before_after import before_after_panel
from calib.figures.checkpoints import checkpoint_chart
from calib.figures.difference import difference_chart, matrix_difference_chart
from calib.figures.losses import clipping_chart
from calib.figures.words import band_meaning, undrawn
from calib.metrics import matrix_metrics
from calib.numerics.estimate import Estimate
from calib.text import interval, level, noise_floor, number, plain, plural, signed, significant
from calib.ui.controls import use_calibrator, widgets
from calib.ui.layout import charts, frame, words
from calib.ui.layout.tables import (
    Line,
    MetricColumn,
    best_of,
    change_lines,
    column_help,
    lines_table,
    lower_first,
    metric_columns,
    metric_table,
)
from calib.ui.session import choices, state
from calib.ui.session.choices import method_label
from calib.ui.session.memo import Keyed
from calib.ui.session.session import Session

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
# With more columns the table needs the width of the page, and the changes are below it.
MAX_COLUMNS_BESIDE_CHANGES = 5
MATRIX_CHANGE = """
- **All classes together**, whatever the view: multiclass log loss uses the score of the true class,
  and the multiclass Brier score sums over the classes.
- **Accuracy** changes only if a method reorders the classes of a row. Temperature scaling, clipping
  and the KS spline never do.
"""
CLIPPING = """
- **Clipping** only limits how extreme scores can be: none is below p_min, and each row is divided
  by its sum.
- The best bound is chosen on these same rows, so its loss is optimistic.
  [Lucena 2018](https://arxiv.org/abs/1809.07751), Figure 2.
"""
# Two models do not show a course.
MIN_MODELS_IN_CHART = 3
BEFORE = "uncalibrated"
COUNTED = (
    "Counts do not pair rows, so intervals are unpaired. If all models scored the same rows, "
    "intervals of the rows themselves would be narrower."
)
LINES_READING = """
- Models are in the order of the data, from left to right; checkpoints are in the order of their
  numbers.
- A **log loss** that falls and rises again is a sign of overfitting. If the **calibrated** line
  stays low, the model still ranks well and is only overconfident.
- **Clip** only keeps scores away from 0 and 1. If it is as good as a calibrator, confident
  errors were the only problem. [Lucena 2018](https://arxiv.org/abs/1809.07751), Figure 2.
"""


def page() -> None:
    session = frame.begin("Compare")
    with widgets.toolbar():
        widgets.control(session, choices.ADDED_METRICS)
        shown = widgets.columns(session)
        below = widgets.later()
    models = frame.models(session)
    all_models = st.container()
    if len(state.models(session)) > 1:
        with below:
            compared = widgets.after_control(session, models[0].analysis)
    frame.show(session, models, partial(body, session, shown))
    # This is drawn last, so that everything above can be read while all models are fitted.
    if len(state.models(session)) > 1:
        with all_models:
            counted = session.upload is not None and bool(session.upload.counted)
            compare_models(frame.comparison(session, compared[-1]), counted=counted)
            widgets.why_shown(models[0].analysis, compared)


def body(session: Session, shown: tuple[str, ...], model: state.Model) -> None:
    analysis = model.analysis
    st.markdown("## Compare calibrators")
    recommendation(session, model)
    if analysis.multiclass:
        st.markdown("### All classes, held-out rows")
        compared = analysis.multiclass
        columns = chosen_columns(analysis, shown, matrix_columns(compared))
        table("all_classes", "Metrics of all classes", analysis, columns, compared.results)
        if len(analysis.methods) > 1:
            matrix_forest(analysis)
        clipping_section(session, compared)
        st.markdown(f"### This view: {plain(analysis.data.positive_name)}")
    else:
        st.markdown("### Metrics on held-out rows")
    metrics(analysis, shown)
    if len(analysis.methods) > 1:
        before_and_after(analysis)


def metrics(analysis: Analysis, shown: tuple[str, ...]) -> None:
    columns = chosen_columns(analysis, shown, metric_columns(analysis.columns, analysis.methods))
    with st.container(key=state.key("table_and_changes")):
        places = (
            st.columns([5, 3], gap="medium")
            if len(columns) <= MAX_COLUMNS_BESIDE_CHANGES
            else [st.container()] * 2
        )
    with places[0]:
        table("metrics", "Metrics", analysis, columns, analysis.methods)
    if len(analysis.methods) > 1:
        with places[1]:
            charts.chart(difference_chart(analysis, "log_loss"), "chart_forest")
            frame.reading(DIFFERENCE, "the changes")


def chosen_columns(
    analysis: Analysis, shown: tuple[str, ...], columns: Sequence[MetricColumn]
) -> Sequence[MetricColumn]:
    keys = shown + analysis.settings.metrics
    return [column for column in columns if column.key in keys] or columns[:1]


def table(
    name: str,
    about: str,
    analysis: Analysis,
    columns: Sequence[MetricColumn],
    methods: Mapping[str, MethodMetrics],
) -> None:
    metric_table(name, about, columns, methods, analysis.recommendation.method)
    at = level(analysis.settings.confidence_level)
    frame.once("stars", lambda: st.caption(TABLE.format(at)))


def recommendation(session: Session, model: state.Model) -> None:
    analysis = model.analysis
    with st.container(border=True, key=state.key("recommendation")):
        st.markdown(f"### {plain(analysis.recommendation.sentence)}")
        for reason in analysis.recommendation.reasons:
            st.markdown(f"- {plain(reason)}")
        st.caption(words.protocol(analysis))
        use_calibrator.button(session, model)


def before_and_after(analysis: Analysis) -> None:
    st.markdown("### Before and after")
    if reason := undrawn(analysis.uncalibrated.reliability):
        st.info(reason)
        return
    with st.container(horizontal=True, key=state.key("before_after"), gap="xsmall"):
        for key in analysis.methods:
            charts.chart(before_after_panel(analysis, key), f"chart_before_after_{key}")
    band = band_meaning(analysis.uncalibrated.reliability)
    frame.once("before and after", lambda: st.caption(BEFORE_AFTER.format(band)))


def matrix_columns(compared: MulticlassComparison) -> list[MetricColumn]:
    shown = [
        Column(key, metric.label, metric.meaning, 4, metric.better)
        for key, metric in matrix_metrics().items()
    ]
    return metric_columns(shown, compared.results, lambda column: column.meaning)


def matrix_forest(analysis: Analysis) -> None:
    with charts.beside(matrix_difference_chart(analysis), "chart_matrix_forest", [2, 1]):
        frame.reading(MATRIX_CHANGE, "the changes of all classes")


def clipping_section(session: Session, compared: LiveMulticlassComparison) -> None:
    at = compared.confidence_level
    st.markdown("### Clipping against calibration")
    try:
        with st.spinner("Clipping at every bound"):
            # Other views compare the same held-out scores, so the key is not the comparison.
            clip = Keyed(compare_clipping, compared)
            clipping = session.memo.heavy(clip, compared.held_out, at)
    except ValueError as error:
        st.caption(str(error))
        return
    with charts.beside(clipping_chart(clipping), "chart_clipping", 2):
        st.markdown(clipping_sentence(clipping, at))
        frame.reading(CLIPPING, "clipping")


def clipping_sentence(clipping: Clipping, confidence_level: float) -> str:
    best, gain = clipping.best, clipping.gain
    lead = (
        f"Multiclass log loss is **{number(clipping.uncalibrated.value)}** uncalibrated and "
        f"**{number(best.log_loss.value)}** clipped at the best of {len(clipping.bounds)} bounds, "
        f"p_min = {significant(best.p_min)}."
    )
    if clipping.calibrator == "uncalibrated":
        return lead
    if gain.high < 0.0:
        verdict = "Calibration does more than avoid extreme scores."
    elif gain.low > 0.0:
        verdict = "Clipping alone does better."
    else:
        verdict = "The two are not significantly different."
    return (
        f"{lead} **{method_label(clipping.calibrator)}** reaches "
        f"**{number(clipping.calibrated.value)}**, a change of {signed(gain.value)} from clipping "
        f"({level(confidence_level)} CI {interval(gain, sign=True)}). {verdict}"
    )


def compare_models(comparison: ModelComparison, *, counted: bool) -> None:
    """Compare all models, also those that are not shown side by side."""
    method = comparison.methods[-1]
    st.markdown("## Compare models")
    st.markdown(summary(comparison))
    for name, reason in comparison.failures.items():
        st.caption(f":material/info: {plain(name)} could not be analysed: {plain(reason)}")
    _metrics(comparison)
    st.caption(
        f"Uncalibrated → out-of-fold scores calibrated by {method_label(method)}. Below "
        "calibration errors: what a calibrated model of this size shows on average. ★ Best of all "
        "models. ECE depends on the binning."
    )
    if len(comparison.models) >= MIN_MODELS_IN_CHART:
        with charts.beside(checkpoint_chart(comparison), "chart_models", [3, 2]):
            frame.reading(LINES_READING, "this chart")
    _differences(comparison, counted=counted)


def summary(comparison: ModelComparison) -> str:
    column, sentences = comparison.columns[0], []
    for method, when in ((BEFORE, "Uncalibrated"), (comparison.methods[-1], "Calibrated")):
        estimates = _estimates(comparison, method, column)
        if estimates:
            best = min(estimates, key=lambda name: estimates[name].value)
            least = f"the lowest {lower_first(column.label)}, {number(estimates[best].value)}"
            sentences.append(f"{when}: **{plain(best)}** has {least}.")
    return " ".join(sentences)


def _estimates(comparison: ModelComparison, method: str, column: Column) -> dict[str, Estimate]:
    """One metric of one method, by model."""
    return {
        name: model.metrics[method][column.key]
        for name, model in comparison.models.items()
        if method in model.metrics
    }


def _metrics(comparison: ModelComparison) -> None:
    columns = {column.key: _cells(comparison, column) for column in comparison.columns}
    lines = [
        Line([(name, plural(model.n_rows, "row")), *(cells[name] for cells in columns.values())])
        for name, model in comparison.models.items()
    ]
    head = [("Model", ""), *((column.label, column_help(column)) for column in comparison.columns)]
    lines_table(f"lines_{len(lines)}_models", "Metrics of the models", head, lines)


def _cells(comparison: ModelComparison, column: Column) -> dict[str, tuple[str, ...]]:
    """One metric by model: the best is marked, and the noise floors are below."""
    values: dict[str, list[str]] = {name: [] for name in comparison.models}
    floors: dict[str, list[str]] = {name: [] for name in comparison.models}
    for method in (BEFORE, comparison.methods[-1]):
        estimates = _estimates(comparison, method, column)
        best = best_of(estimates, column)
        for name, one in estimates.items():
            star = "\u00a0★" if name in best else ""
            values[name].append(number(one.value, column.digits) + star)
            floors[name] += filter(None, [noise_floor(one, column.digits)])
    return {name: ("\u00a0→ ".join(values[name]), _floors(floors[name])) for name in values}


def _floors(texts: list[str]) -> str:
    first, *others = texts or [""]
    return " → ".join([first, *(text.removeprefix("chance level ") for text in others)])


def _differences(comparison: ModelComparison, *, counted: bool) -> None:
    others = [name for name in comparison.models if name != comparison.reference]
    column = comparison.columns[0]
    st.markdown(f"### {column.label} minus that of {plain(comparison.reference)}")
    head = [("Model", ""), ("Uncalibrated", ""), ("Calibrated", "")]
    lines = [
        Line([(name, comparison.pairing(name)), *_changes(comparison, name, column)])
        for name in others
    ]
    lines_table(f"rows_{len(lines)}_differences", f"Differences in {column.label}", head, lines)
    st.caption(COUNTED if counted else _pairing(comparison, others))


def _changes(comparison: ModelComparison, name: str, column: Column) -> Iterator[tuple[str, ...]]:
    for method in (BEFORE, comparison.methods[-1]):
        change = comparison.models[name].differences.get(method, {}).get(column.key)
        yield () if change is None else change_lines(change, column.digits, column.better)


def _pairing(comparison: ModelComparison, others: list[str]) -> str:
    paired = [name for name in others if comparison.models[name].paired]
    if len(paired) == len(others):
        return "All models scored the same rows, so differences are paired by row."
    if not paired:
        return (
            "The models scored different rows, or the same rows in another order, so intervals are "
            "unpaired. They would be narrower if all models had scored the same rows in one order."
        )
    return (
        f"{len(paired)} of {len(others)} models scored the same rows as the first. Their "
        "differences are paired by row; the intervals of the others are wider."
    )
