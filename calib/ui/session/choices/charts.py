"""Choices of what is drawn and listed of an analysis."""

from __future__ import annotations

from functools import partial
from urllib.parse import quote, unquote

import streamlit as st

from calib.curves.rate import RateKind
from calib.figures.axes import AxisKind
from calib.metrics import METRICS
from calib.text import score_percent, span
from calib.ui.session.choice import (
    Choice,
    Values,
    flag,
    number,
    on,
    one_of,
    several,
    stretch,
)
from calib.ui.session.choices.analysis import BINNED, METHOD, SEGMENTED, method_label
from calib.ui.session.page_list import WITH_ANALYSIS

PILLS = partial(st.pills, selection_mode="multi")
# More models are not analysed before one of them is shown.
MAX_COMPARED = 6
# The table of the Calibrators page can show these columns, besides the added metrics.
COLUMN_LABELS = {
    "log_loss": "Log loss",
    "log_loss_change": "Change in log loss",
    "brier_score": "Brier score",
    "brier_score_change": "Change in Brier score",
    "accuracy": "Accuracy",
    "accuracy_change": "Change in accuracy",
    "ece_top_label": "Top-label ECE",
    "ece_classwise": "Classwise ECE",
    "ks_top_1": "Top-1 KS",
    "ks_top_2": "Top-2 KS",
    "ks_within_2": "Within-top-2 KS",
    "ece_uniform": "ECE, uniform bins",
    "ece_quantile": "ECE, quantile bins",
    "mce": "MCE",
    "ks_error": METRICS["ks_error"].label,
    "slope": "Calibration slope",
    "auc": "AUC",
    "auc_change": "Change in AUC",
    "distinct": "Distinct scores",
}
MATRIX_COLUMNS = {
    key
    for key in COLUMN_LABELS
    if key.startswith(("accuracy", "ece_top", "ece_cl", "ks_top", "ks_w"))
}
FIRST_COLUMNS = (
    *("log_loss", "log_loss_change", "accuracy", "ece_top_label", "ece_classwise"),
    *("brier_score", "ece_quantile", "ks_error", "auc"),
)


COLUMNS = Choice[tuple[str, ...]](
    key="columns",
    link="cols",
    default=(),  # An empty choice shows FIRST_COLUMNS.
    values=several(one_of(*COLUMN_LABELS, name=COLUMN_LABELS.__getitem__)),
    label="Columns",
    help="Columns of the metric table. Changes are relative to the uncalibrated scores.",
    chip=lambda keys: f"{len(keys)} columns",
    acts_on=on("Calibrators"),
    widget=st.multiselect,
)

AXES: dict[AxisKind, str] = {"linear": "Linear", "logit": "Log-odds"}
AXIS = Choice[AxisKind | None](
    key="axis",
    link="axis",
    default=None,  # Without a choice the page decides by the data.
    values=one_of(*AXES, name=AXES.__getitem__),
    label="Axes",
    help="The log-odds axis spreads out probabilities near 0 and 1.",
    chip=lambda axis: f"{AXES[axis or 'linear']} axes",
    acts_on=on("Reliability", "Calibrators"),
    widget=SEGMENTED,
)

TAB_LABELS = {"bins": "Bins", "cumulative": "Cumulative", "panels": "KS panels"}
TAB = Choice[str](
    key="tab",
    link="tab",
    default="bins",
    values=one_of(*TAB_LABELS, name=TAB_LABELS.__getitem__),
    label="Charts",
    chip=lambda tab: f"Tab {TAB_LABELS[tab]}",
    acts_on=on("Reliability"),
    widget=st.tabs,
)

SHOWN = Choice[tuple[str, ...]](
    key="shown",
    link="show",
    default=(),  # An empty choice shows the uncalibrated and the recommended scores.
    values=several(METHOD),
    label="Show",
    help="Calibrated scores are held-out. At first: uncalibrated and recommended.",
    chip=lambda keys: f"{len(keys)} shown",
    acts_on=on("Reliability"),
    widget=PILLS,
)

CLASSES = Choice[str](
    key="classes",
    link="cls",
    default="uncalibrated",
    values=METHOD,
    label="After calibration by",
    help="Its held-out scores, compared with the uncalibrated scores.",
    chip=lambda key: f"Classes of {method_label(key)}",
    acts_on=on("Slices", when="by class"),
    widget=st.selectbox,
)

KNOTS = Choice[bool](
    key="knots",
    link="knots",
    default=False,
    values=flag(),
    label="Mark the knots",
    help="Scores at which the pieces of a calibration function meet.",
    chip="Knots marked",
    acts_on=on("Calibrators"),
    widget=st.toggle,
)

OVER_EPSILON = Choice[tuple[str, ...]](
    key="over_epsilon",
    link="over",
    default=("spline",),
    values=several(METHOD),
    label="Log loss of",
    help="Each point needs one fit per fold. SplineCalib is the slowest.",
    chip=lambda keys: f"{len(keys)} over ε",
    acts_on=on("Calibrators"),
    widget=PILLS,
)

LINE_LABELS: dict[RateKind, str] = {"corp": "CORP", "smooth": "Smooth"}
LINES = Choice[tuple[RateKind, ...]](
    key="lines",
    link="line",
    default=(),
    values=several(one_of(*LINE_LABELS, name=LINE_LABELS.__getitem__)),
    label="Line",
    help="The observed frequency without bins, with a confidence band. CORP is the best-fitting "
    "non-decreasing curve, smooth a smoothing spline.",
    chip=lambda kinds: f"Line: {', '.join(map(LINE_LABELS.__getitem__, kinds))}",
    acts_on=on("Reliability"),
    widget=PILLS,
)

BIN_OF = Choice[str](
    key="bin_of",
    link="of",
    default="uncalibrated",
    values=METHOD,
    label="Bins of",
    chip=lambda key: f"Bins of {method_label(key)}",
    acts_on=on("Reliability", when="in a bin"),
    widget=SEGMENTED,
)

BIN_AT = Choice[float | None](
    key="bin_at",
    link="at",
    default=None,
    values=number(0.0, 1.0, repr),
    label="Bin",
    chip=lambda at: f"Bin around {score_percent(at or 0.0)}",
    acts_on=on("Reliability"),
    widget=st.selectbox,
    forgets=("score_range",),
)

SCORE_RANGE = Choice[tuple[float, ...]](
    key="score_range",
    link="range",
    default=(),
    values=stretch(0.0, 1.0),
    label="Range of scores",
    chip=lambda ends: f"Scores {span(*ends)}",
    acts_on=on("Reliability"),
    widget=st.slider,  # The explorer has a brush instead.
    forgets=("bin_at",),
)

HIDDEN = Choice[tuple[str, ...]](
    key="hidden",
    link="hide",
    default=(),
    values=several(one_of("intervals", "band")),
    label="Hide",
    chip=lambda parts: f"Without {' and '.join(parts)}",
    acts_on=on("Reliability"),
    widget=PILLS,  # The explorer has boxes instead.
)

AUTO_BINS = Choice[bool](
    key="auto_bins",
    link="auto",
    default=False,
    values=flag(),
    label="Automatic number of bins",
    help="The largest number of bins for which observed frequencies still increase monotonically "
    "(ECE-sweep, Roelofs et al. 2022).",
    chip="Auto bins",
    acts_on=on(*BINNED),
    widget=st.toggle,
)

AFTER = Choice[str](
    key="after",
    link="after",
    default="",  # An empty choice is the recommended calibrator.
    values=METHOD,
    label="After calibration by",
    help="Its held-out scores, compared with the uncalibrated scores.",
    chip=lambda key: f"After {method_label(key)}",
    acts_on=on("Slices", "Decisions") | on("Calibrators", when="several models"),
    widget=st.selectbox,
)

MODEL = Choice[str](
    key="model",
    link="model",
    default="",  # It is empty until the models have been compared.
    values=Values(
        # Links of earlier versions may name several models, of which the first is shown.
        lambda text: unquote(text.split("~")[0]),
        lambda name: quote(name, safe=" ").replace("~", "%7E"),
    ),
    label="Model",
    chip="Model {}",
    acts_on=on(*WITH_ANALYSIS, when="several models"),
    widget=st.selectbox,
)
