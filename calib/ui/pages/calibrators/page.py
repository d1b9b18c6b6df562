"""Calibrators: what each does to a score, which is worth it, and whether the gain is real."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from calib.analysis import Analysis, LiveAnalysis, method_results
from calib.blocks.kinds import Text
from calib.blocks.methods import (
    ECE,
    MetricColumn,
    matrix_columns,
    metric_columns,
    metric_table,
    model_table,
    models_after,
    models_before,
    models_note,
)
from calib.calibrators import CALIBRATORS
from calib.curves.reliability import FEW_ROWS
from calib.figures.losses import checkpoint_chart
from calib.figures.reliability import overlay_chart
from calib.figures.summary import before_after_panel
from calib.numerics.intervals import Estimate
from calib.text import (
    UNKNOWN,
    joined,
    level,
    number,
    plain,
)
from calib.ui.controls import use_calibrator, widgets
from calib.ui.layout import blocks, charts, frame, notes, words
from calib.ui.pages.calibrators import curves
from calib.ui.session import state
from calib.ui.session.choices import method_label
from calib.ui.session.session import Session
from calib.words import titles
from calib.words.measures import (
    band_sentence,
    binning,
    details,
    metric_change,
    undrawn,
)
from calib.words.recommendations import RULE

TABLE = "Small: {} confidence intervals."
PLATT = "Platt scaling fits a logistic curve to the scores, Logistic to their log-odds."
LOWER = (
    "Log loss decides which method is best: lower is better. Calibration errors say how much "
    "miscalibration is left"
)
CHANCE = ", which is too large for chance if its interval does not include 0"
PANELS = (
    "Mean predicted probability (x) against observed frequency (y). {} "
    f"Hollow dots have fewer than {FEW_ROWS} rows."
)
CHANGES = (
    " Left of the vertical line is better than the uncalibrated scores; a change whose interval "
    "includes 0 is not significant."
)
MATRIX_CHANGE = """
- **All classes together**, whatever the view: multiclass log loss uses the score of the true class,
  and the multiclass Brier score sums over the classes.
- **Accuracy** changes only if a method reorders the classes of a row. Temperature scaling, clipping
  and the KS spline never do.
"""
# Two models do not show a course.
MIN_MODELS_IN_CHART = 3
LINES_READING = """
- Models are in the order of the data, from left to right; checkpoints are in the order of their
  numbers.
- A **log loss** that falls and rises again is a sign of overfitting. If the **calibrated** line
  stays low, the model still ranks well and is only overconfident.
- **Clip** only keeps scores away from 0 and 1. If it is as good as a calibrator, confident
  errors were the only problem. [Lucena 2018](https://arxiv.org/abs/1809.07751), Figure 2.
"""


def page() -> None:
    session = frame.begin("Calibrators")
    model = frame.model(session)
    if len(state.models(session)) > 1:
        compare_models(session, model)
    body(session, model)
    notes.below(session, model)


def body(session: Session, model: state.Model) -> None:
    analysis = model.analysis
    from_best = differences_from_best(session, analysis)
    with st.container(horizontal=True, key="lead_and_code"):
        st.markdown(f"## {plain(finding(analysis, from_best))}")
        use_calibrator.button(session, model, leads=True)
    recommendation(analysis)
    of_scores = frame.one_score_analysis(session, model)
    curves.body(session, of_scores)
    with widgets.toolbar("columns"):
        st.markdown("### Metrics of held-out rows")
        shown = widgets.columns(session)
    if compared := analysis.multiclass:
        st.markdown("#### All classes")
        columns = chosen_columns(analysis, shown, matrix_columns(compared, with_best=True))
        table(session, model, "Metrics of all classes", columns, {})
        frame.reading(MATRIX_CHANGE, "the changes of all classes")
        st.markdown(f"#### This view: {plain(analysis.data.positive_name)}")
        from_best = {}
    columns = metric_columns(analysis.columns, analysis.methods, from_best)
    functions = {} if analysis.multiclass else of_scores.methods
    chosen = chosen_columns(analysis, shown, columns)
    table(session, model, "Metrics", chosen, curves.opened(of_scores, functions))
    if analysis.multiclass:
        st.markdown("#### Calibrators of this score alone")
        (loss, *_) = metric_columns(of_scores.columns, of_scores.methods, {})
        name, rows = "Calibrators of this score", curves.opened(of_scores, of_scores.methods)
        alone = replace(loss, label="Log loss of this\nscore alone")
        blocks.show(metric_table(name, [alone], of_scores.ranked, "", opened=rows))
    curves.epsilon(session, of_scores)
    if len(analysis.methods) > 1:
        st.markdown(f"### {plain(titles.before_after(analysis, analysis.ranked))}")
        panels(analysis)
    frame.sections(session, model, "Calibrators")


def differences_from_best(session: Session, analysis: LiveAnalysis) -> Mapping[str, Estimate]:
    if analysis.multiclass:
        return {key: result.to_best for key, result in analysis.multiclass.results.items()}
    best, at = analysis.ranked[0], analysis.settings.confidence_level
    return session.memo(method_results.differences_from_best, analysis.held_out, best, at)


def finding(analysis: Analysis, from_best: Mapping[str, Estimate]) -> str:
    """Whether a calibrator lowers the log loss, and whether others do it as well."""
    if analysis.recommendation.plan is not None:
        best = analysis.ranked[0]
        if best == "uncalibrated":
            return "No calibrator of all rows lowers the log loss."
        name = CALIBRATORS[best].short_label
        return f"Of the calibrators of all rows, {name} has the lowest log loss."
    advised = analysis.recommendation.method
    if advised in ("", "uncalibrated"):
        return analysis.recommendation.sentence
    results = analysis.multiclass.results if analysis.multiclass else analysis.methods
    if results[advised].differences["log_loss"].high >= 0.0:
        return f"{CALIBRATORS[advised].short_label} improves the scores, but not significantly."
    lead = f"{CALIBRATORS[advised].short_label} clearly improves the scores"
    tied = [key for key in analysis.ranked if from_best[key].low <= 0.0]
    if advised not in tied or len(analysis.ranked) == 2:
        return f"{lead}."
    if tied == [advised]:
        return f"{lead}, more than every other method."
    if from_best[advised].value == 0.0:
        return f"{lead} and has the lowest log loss of {len(tied)} tied methods."
    if CALIBRATORS[advised].simplicity > min(CALIBRATORS[key].simplicity for key in tied):
        return f"{lead} and is tied with the best."
    simplest = "simpler" if len(tied) == 2 else "simplest"
    return f"{lead} and is the {simplest} of {len(tied)} tied methods."


def chosen_columns(
    analysis: Analysis, shown: tuple[str, ...], columns: Sequence[MetricColumn]
) -> Sequence[MetricColumn]:
    keys = shown + analysis.settings.metrics
    return [column for column in columns if column.key in keys] or columns[:1]


def table(
    session: Session,
    model: state.Model,
    about: str,
    columns: Sequence[MetricColumn],
    opened: Mapping[str, tuple[Text, ...]],
) -> None:
    analysis = model.analysis
    buttons = use_calibrator.fitted(model.analysis)
    matrix = analysis.multiclass is not None
    hints = {key: CALIBRATORS[key].words(matrix=matrix)[1] for key in analysis.ranked}
    advised = analysis.recommendation.method
    chance = CHANCE if any(column.has_chance_level for column in columns) else ""
    ece = f" {ECE}" if any(column.key.startswith("ece_") for column in columns) else ""
    changes = CHANGES if any(column.key == "log_loss_change" for column in columns) else ""
    st.caption(words.protocol(analysis))
    drawn = metric_table(
        about,
        columns,
        analysis.ranked,
        advised,
        hints=hints,
        with_code=buttons,
        opened=opened,
    )
    if chosen := blocks.show(drawn):
        use_calibrator.show(session, model, chosen)
    at = level(analysis.settings.confidence_level)
    # Tooltips of rows are for pointers only, and this one is opened by keyboard and touch too.
    methods = [f"- **{plain(method_label(key))}**: {plain(hint)}" for key, hint in hints.items()]
    about_all = "\n".join(methods)
    platt = [PLATT] if {"platt", "logistic"} <= set(analysis.ranked) else []
    said = [f"{TABLE.format(at)}{changes} {LOWER}{chance}.{ece}", *platt]
    st.caption(" ".join([*said, *_ranking(analysis, columns)]), help=about_all)


def _ranking(analysis: Analysis, columns: Sequence[MetricColumn]) -> list[str]:
    """The AUC of all methods in a sentence, which calibrators hardly change, unless it is shown."""
    areas = [method.metrics["auc"].value for method in analysis.methods.values()]
    low, high = number(min(areas), 3), number(max(areas), 3)
    if any(column.key in ("auc", "accuracy") for column in columns) or math.isnan(sum(areas)):
        return []
    return [f"AUC (ranking): {low}{'' if low == high else f' to {high}'} for all methods."]


def recommendation(analysis: LiveAnalysis) -> None:
    """One sentence, with the evidence and the rule as its tooltip, and which rows it is about if
    there are two kinds."""
    advice, data = analysis.recommendation, analysis.data
    if advice.plan is not None:
        return  # The note above the answer says what is recommended.
    reasons = plain(" ".join(advice.reasons))
    is_tested = data.protocol == "test rows"
    rows = f" Measured on the {data.n_rows:,} test rows." if is_tested else ""
    rule = plain(RULE) if advice.method else None
    if advice.method in ("", "uncalibrated"):
        st.markdown(f"{reasons}{rows}", help=rule)
    else:
        st.markdown(f"{plain(plain_advice(analysis))}{rows}", help=f"{reasons}\n\n{rule}")


def plain_advice(analysis: LiveAnalysis) -> str:
    """The recommended calibrator, what it is good for, and two losses that differ by the change."""
    key, results = analysis.recommendation.method, analysis.ranked_results
    change = results[key].differences["log_loss"]
    before, after = (results[one].metrics["log_loss"].value for one in ("uncalibrated", key))
    loss = "log loss" if analysis.multiclass is None else "multiclass log loss"
    # The table below has the same digits.
    changed, bounds = metric_change("log_loss", before, after, change)
    at = level(analysis.settings.confidence_level)
    said = f"{loss} on held-out rows {number(before)} → {number(after)}, change {changed}"
    said += f", {at} CI {bounds}" if bounds else ""
    name = method_label(key)
    # Calibrators of whole rows, and a stack, have no number of parameters.
    n = UNKNOWN if analysis.multiclass else words.parameter_count(analysis, key)
    if n != UNKNOWN:
        name += f", with {n} parameter{'' if n == '1' else 's'}"
    gain = (
        "Its probabilities are closer to the outcomes" if change.high < 0.0 else "Not significant"
    )
    return f"Recommended: {name}. {gain} ({said})."


def panels(analysis: Analysis) -> None:
    curve = analysis.uncalibrated.reliability
    if reason := undrawn(curve):
        st.info(reason)
        return
    drawn_from = details(analysis, binning(analysis))
    st.caption(f"{drawn_from}. {PANELS.format(band_sentence(curve))}")
    with st.container(horizontal=True, key="before_after", gap=None):
        for key in analysis.ranked:
            drawn = charts.kept(before_after_panel, analysis, key)
            charts.chart(drawn, f"chart_before_after_{key}", widths=charts.SMALL_PANEL_WIDTHS)


def compare_models(session: Session, model: state.Model) -> None:
    """Compare all models. The calibrators of the shown one follow."""
    heading, lead = st.empty(), st.empty()
    with widgets.toolbar("compare_models"):
        method = widgets.after_control(session, model.analysis)[-1]
    comparison = frame.comparison(session, method)
    heading.markdown(f"## {plain(models_before(comparison))}")
    lead.markdown(plain(models_after(comparison)))
    for name, reason in comparison.failures.items():
        st.caption(f":material/info: {plain(name)} could not be analysed: {plain(reason)}")
    blocks.show(model_table(comparison))
    counted = session.upload is not None and bool(session.upload.counted)
    st.caption(models_note(comparison, counted=counted))
    if len(comparison.models) >= MIN_MODELS_IN_CHART:
        with charts.beside(checkpoint_chart(comparison), "chart_models", [3, 2]):
            frame.reading(LINES_READING, "this chart")
    else:
        analyses = {
            name: state.analysis(session, rows)
            for name, rows in state.models(session).items()
            if name in comparison.models
        }
        curves = {name: one.uncalibrated.reliability for name, one in analyses.items()}
        alt = f"Reliability of the uncalibrated scores of {joined(list(curves))}."
        verdicts = [one.verdict for one in analyses.values()]
        drawn = overlay_chart(curves, alt, title=titles.of_models(verdicts))
        with charts.beside(drawn, "chart_models", [3, 2]):
            for name, one in analyses.items():
                st.markdown(f"**{plain(name)}**: {plain(one.verdict.sentence)}")
    widgets.why_shown(model.analysis, ("uncalibrated", method))
