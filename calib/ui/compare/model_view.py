"""The comparison of several models on the Compare page: table, differences and lines."""

from __future__ import annotations

import streamlit as st

from calib.analysis.model_comparison import ModelComparison
from calib.figures.checkpoints import checkpoint_chart
from calib.text import interval, level, number, plain, signed
from calib.ui.layout import charts, frame
from calib.ui.layout.tables import direction, starred
from calib.ui.session.choices import method_label

# Two models make no line.
MIN_IN_LINE = 3
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


def show(comparison: ModelComparison, *, counted: bool) -> None:
    """The comparison of all models, independent of those side by side below."""
    method = comparison.methods[-1]
    st.markdown("## Compare models")
    st.markdown(summary(comparison))
    for name, reason in comparison.failures.items():
        st.caption(f":material/info: {plain(name)} could not be analysed: {plain(reason)}")
    st.dataframe(
        rows(comparison),
        hide_index=True,
        key="table_models",
        column_config={"Model": st.column_config.TextColumn(pinned=True)},
        alt="One row per model, one column per metric, before and after calibration.",
    )
    st.caption(
        f"★ Best in column. After: out-of-fold scores calibrated by {method_label(method)}. "
        "ECE depends on the binning."
    )
    if len(comparison.models) >= MIN_IN_LINE:
        picture, beside = st.columns([3, 2], gap="large")
        with picture:
            charts.chart(checkpoint_chart(comparison), "chart_models")
        with beside:
            frame.reading(LINES_READING, "this chart")
    _differences(comparison, counted=counted)


def summary(comparison: ModelComparison) -> str:
    """Which model has the least loss, and whether that is more than chance, in words."""
    key, loss = comparison.columns[0].key, _loss(comparison)
    parts = []
    for method, when in ((BEFORE, "Uncalibrated"), (comparison.methods[-1], "Calibrated")):
        losses = {
            name: model.metrics[method][key].value
            for name, model in comparison.models.items()
            if method in model.metrics
        }
        if losses:
            best = min(losses, key=losses.__getitem__)
            parts.append(
                f"{when}: **{plain(best)}** has the lowest {loss}, {number(losses[best])}."
            )
    return " ".join(parts)


def _loss(comparison: ModelComparison) -> str:
    label = comparison.columns[0].label
    return label[:1].lower() + label[1:]


def rows(comparison: ModelComparison) -> list[dict[str, str]]:
    """The table: one row per model, every cell in words, the best of a column marked."""
    found: dict[str, dict[str, str]] = {name: {"Model": name} for name in comparison.models}
    for column in comparison.columns:
        for method, label in (
            (BEFORE, column.label),
            (comparison.methods[-1], f"{column.label}, after"),
        ):
            estimates = {
                name: model.metrics[method][column.key]
                for name, model in comparison.models.items()
                if method in model.metrics
            }
            for name, cell in starred(estimates, column).items():
                found[name][label] = cell
    for name, model in comparison.models.items():
        found[name]["Rows"] = f"{model.n_rows:,}"
    return list(found.values())


def _differences(comparison: ModelComparison, *, counted: bool) -> None:
    others = [name for name in comparison.models if name != comparison.reference]
    st.markdown(f"### {comparison.columns[0].label} minus that of {plain(comparison.reference)}")
    st.dataframe(
        [difference_row(comparison, name) for name in others],
        hide_index=True,
        key="table_model_differences",
        column_config={"Model": st.column_config.TextColumn(pinned=True)},
        alt="One row per model: change of log loss before and after calibration, with intervals.",
    )
    st.caption(COUNTED if counted else _pairing(comparison, others))


def difference_row(comparison: ModelComparison, name: str) -> dict[str, str]:
    """One model against the first, before and after calibration."""
    at, column = level(comparison.settings.confidence_level), comparison.columns[0]
    row = {"Model": name}
    for method, when in ((BEFORE, "Uncalibrated"), (comparison.methods[-1], "Calibrated")):
        change = comparison.models[name].differences.get(method, {}).get(column.key)
        if change is not None:
            row[f"{when}: change"] = signed(change.value, column.digits)
            row[f"{at} CI ({when.lower()})"] = interval(change, column.digits, sign=True)
            row[f"{when}: evidence"] = direction(change, column.better)
    return row


def _pairing(comparison: ModelComparison, others: list[str]) -> str:
    paired = [name for name in others if comparison.models[name].paired]
    if len(paired) == len(others):
        return "All models scored the same rows, so differences are paired by row."
    if not paired:
        return (
            "The models scored different rows, so intervals are unpaired. They would be narrower "
            "if all models had scored the same rows."
        )
    return (
        f"{len(paired)} of {len(others)} models scored the same rows as the first. Their "
        "differences are paired by row; the intervals of the others are wider."
    )
