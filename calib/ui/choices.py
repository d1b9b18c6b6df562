"""Every choice that a link carries, each declared once; see `calib.ui.choice`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar
from urllib.parse import quote, unquote

import numpy as np
import streamlit as st

from calib.analysis.metric_table import TABLE
from calib.analysis.periods.cutting import UNITS, Unit
from calib.calibrators import CALIBRATORS
from calib.core.views import parse_view
from calib.crossfit.settings import Settings
from calib.curves.rate import RATE_KINDS, RateKind
from calib.figures.scales import AxisKind
from calib.metrics import METRICS, score_metrics
from calib.text import level as level_words
from calib.text import percent, plain, significant, span
from calib.ui.choice import (
    Choice,
    Situation,
    Values,
    flag,
    level,
    number,
    on,
    one_of,
    several,
    stretch,
    whole,
)
from calib.ui.pages import WITH_ANALYSIS
from calib.ui.words import line_label, method_label

T = TypeVar("T")
BINNED = ("Overview", "Reliability", "Functions", "Compare", "Slices", "Reports")
DECIDING = ("Slices", "Decisions", "Reports")
LEVELS = (0.8, 0.9, 0.95, 0.99)
EPSILON_RANGE, LOG_EPSILON = (1e-15, 0.32), (-15.0, -0.5)
MAX_SLICES, MAX_SEED = 1_000_000, 2**31 - 1
FIRST_CAPACITY = 0.1
NONE, AUTOMATIC = "None", "Automatic"
DEFAULTS = Settings.defaults()
METHOD = one_of(*CALIBRATORS)
SEGMENTED = partial(st.segmented_control, required=True)
PILLS = partial(st.pills, selection_mode="multi")
COST = partial(st.number_input, step=1.0, format="%.6g")
COLUMN = partial(st.selectbox, placeholder=NONE)


def _in_a_bin(now: Situation) -> bool:
    return now.in_a_bin


def _of_several(now: Situation) -> bool:
    return now.of_several


def _draws_folds(now: Situation) -> bool:
    return now.draws_folds


def _sets_bins(now: Situation) -> bool:
    return now.sets_bins


def _view(text: str) -> str:
    try:
        parse_view(text)
    except ValueError:
        raise ValueError("it must look like class:1, top:1 or within:2") from None
    return text


def _none_for_empty(text: str) -> str | None:
    return text or None


def _column(name: object) -> str:
    return NONE if name is None else str(name)


VIEW = Choice[str](
    key="view",
    link="view",
    default=DEFAULTS["view"],
    values=Values(_view),
    label="View",
    help="Scores of several classes give many binary questions. Top-r: is the class with the r-th "
    "largest score the true one? Within top-r: is it one of the first r? Class: is it this class?",
    chip="View {}",
    acts_on=on(*WITH_ANALYSIS, "Data"),
    widget=SEGMENTED,
)
METHODS = Choice[tuple[str, ...]](
    key="methods",
    link="m",
    default=DEFAULTS["methods"],
    values=several(METHOD),
    label="Methods",
    help="Simplest first. The uncalibrated scores are always included.",
    chip=lambda found: f"{len(found)} methods",
    acts_on=on(*WITH_ANALYSIS),
    widget=st.multiselect,
    option=method_label,
)
METRIC_KEYS = tuple(
    key for key in score_metrics() if key not in {own.key for own in TABLE.values()}
)
ADDED_METRICS = Choice[tuple[str, ...]](
    key="metrics",
    link="metric",
    default=DEFAULTS["metrics"],
    values=several(one_of(*METRIC_KEYS)),
    label="More metrics",
    help="Columns added to the metric table. Most take some seconds, because each interval is "
    "computed from 400 resamples.",
    chip=lambda found: f"{len(found)} more metric{'' if len(found) == 1 else 's'}",
    acts_on=on("Compare", "Reports"),
    widget=st.multiselect,
    option=lambda key: METRICS[key].label,
)
# What the table of the Compare page can show, besides the added metrics.
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
    "ks_error": "KS error",
    "slope": "Calibration slope",
    "auc": "AUC",
    "auc_change": "Change in AUC",
    "distinct": "Distinct scores",
}
OF_MATRICES = {
    key
    for key in COLUMN_LABELS
    if key.startswith(("accuracy", "ece_top", "ece_cl", "ks_top", "ks_w"))
}
FIRST_COLUMNS = (
    *("log_loss", "log_loss_change", "accuracy", "ece_top_label", "ece_classwise"),
    *("ece_quantile", "ks_error", "auc"),
)
COLUMNS = Choice[tuple[str, ...]](
    key="columns",
    link="cols",
    default=(),  # the first ones
    values=several(one_of(*COLUMN_LABELS)),
    label="Columns",
    help="Of the metric table. Changes are relative to the uncalibrated scores.",
    chip=lambda found: f"{len(found)} columns",
    acts_on=on("Compare"),
    widget=st.multiselect,
    option=COLUMN_LABELS.__getitem__,
)
STRATEGY = Choice[str](
    key="strategy",
    link="by",
    default=DEFAULTS["strategy"],
    values=one_of("quantile", "uniform"),
    label="Bins",
    help="Quantile: equal counts per bin. Uniform: equal widths.",
    chip="{} bins",
    acts_on=on(*BINNED),
    widget=SEGMENTED,
    option=str.capitalize,
)
N_BINS = Choice[int](
    key="n_bins",
    link="bins",
    default=DEFAULTS["n_bins"],
    values=whole(2, 100, checked=False),
    label="Number of bins",
    help=None,
    chip="{} bins",
    acts_on=on(*BINNED, when=_sets_bins),
    widget=st.slider,
)
EPSILON = Choice[float | None](
    key="epsilon",
    link="eps",
    default=DEFAULTS["epsilon"],
    values=number(*EPSILON_RANGE, offered=LOG_EPSILON),
    label="ε (log scale)",
    help="Scores outside [ε, 1 − ε] are left unchanged. A smaller ε spreads out the ends more.",
    chip=lambda value: f"ε = {significant(value or 0.0)}",
    acts_on=on(*WITH_ANALYSIS),
    widget=partial(st.slider, step=0.1, format="10^%.1f"),
    shown=lambda value: float(np.clip(round(math.log10(value or 1.0), 1), *LOG_EPSILON)),
    taken=lambda exponent: 10.0**exponent,
)
N_FOLDS = Choice[int](
    key="n_folds",
    link="folds",
    default=DEFAULTS["n_folds"],
    values=whole(2, 20, checked=False),
    label="Folds",
    help=None,
    chip="{} folds",
    acts_on=on(*WITH_ANALYSIS, when=_draws_folds),
    widget=st.slider,
)
SEED = Choice[int](
    key="seed",
    link="seed",
    default=DEFAULTS["seed"],
    values=whole(0, MAX_SEED),
    label="Seed",
    help=None,
    chip="Seed {}",
    acts_on=on(*WITH_ANALYSIS),
    widget=partial(st.number_input, step=1),
)
CONFIDENCE_LEVEL = Choice[float](
    key="confidence_level",
    link="level",
    default=DEFAULTS["confidence_level"],
    values=level(*LEVELS),
    label="Confidence level",
    help="Used for all intervals and bands.",
    chip=lambda share: f"{level_words(share)} intervals",
    acts_on=on(*(page for page in WITH_ANALYSIS if page != "Classes")),
    widget=st.selectbox,
    option=level_words,
)
BAND = Choice[str](
    key="band",
    link="band",
    default=DEFAULTS["band"],
    values=one_of("per_bin", "simultaneous", offered=()),
    label="Simultaneous band",
    help="Off: if the model were calibrated, each dot would fall in the grey band with the "
    "confidence level. On: all dots together would.",
    chip="Simultaneous band",
    acts_on=on("Overview", "Reliability", "Compare", "Reports"),
    widget=st.toggle,
    shown=lambda band: band == "simultaneous",
    taken=lambda together: "simultaneous" if together else "per_bin",
)
AXIS = Choice[AxisKind](
    key="axis",
    link="axis",
    default="linear",
    values=one_of("linear", "logit"),
    label="Axes",
    help="The logit axis spreads out probabilities near 0 and 1.",
    chip="{} axes",
    acts_on=on("Reliability", "Functions"),
    widget=SEGMENTED,
    option=str.capitalize,
)
SHOWN = Choice[tuple[str, ...]](
    key="shown",
    link="show",
    default=(),  # uncalibrated and recommended
    values=several(METHOD),
    label="Show",
    help="Calibrated scores are out-of-fold. At first: uncalibrated and recommended.",
    chip=lambda found: f"{len(found)} shown",
    acts_on=on("Reliability", "Cumulative"),
    widget=PILLS,
    option=method_label,
)
CLASSES = Choice[str](
    key="classes",
    link="cls",
    default="uncalibrated",
    values=METHOD,
    label="Scores of",
    help="Calibrated scores are out-of-fold.",
    chip=lambda key: f"Classes of {method_label(key)}",
    acts_on=on("Classes"),
    widget=st.selectbox,
    option=method_label,
)
KNOTS = Choice[bool](
    key="knots",
    link="knots",
    default=False,
    values=flag(),
    label="Mark the knots",
    help="Scores at which a calibration function bends.",
    chip="Knots marked",
    acts_on=on("Functions"),
    widget=st.toggle,
)
OVER_EPSILON = Choice[tuple[str, ...]](
    key="over_epsilon",
    link="over",
    default=("spline",),
    values=several(METHOD),
    label="Log loss of",
    help="Every point is fitted once on every fold. SplineCalib takes longest.",
    chip=lambda found: f"{len(found)} over ε",
    acts_on=on("Functions"),
    widget=PILLS,
    option=method_label,
)
LINES = Choice[tuple[RateKind, ...]](
    key="lines",
    link="line",
    default=(),
    values=several(one_of(*RATE_KINDS)),
    label="Line",
    help="The observed frequency without bins, with a confidence band. CORP: the best-fitting "
    "non-decreasing curve. Smooth: a smoothing spline.",
    chip=lambda found: f"Line: {', '.join(map(line_label, found))}",
    acts_on=on("Reliability"),
    widget=PILLS,
    option=line_label,
)
BIN_OF = Choice[str](
    key="bin_of",
    link="of",
    default="uncalibrated",
    values=METHOD,
    label="Bins of",
    help=None,
    chip=lambda key: f"Bins of {method_label(key)}",
    acts_on=on("Reliability", when=_in_a_bin),
    widget=SEGMENTED,
    option=method_label,
)
BIN_AT = Choice[float | None](
    key="bin_at",
    link="at",
    default=None,
    values=number(0.0, 1.0, repr),
    label="Bin",
    help=None,
    chip=lambda at: f"Bin around {significant(at or 0.0)}",
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
    help=None,
    chip=lambda ends: f"Scores {span(*ends)}",
    acts_on=on("Reliability"),
    widget=st.slider,  # the explorer's brush
    forgets=("bin_at",),
)
HIDDEN = Choice[tuple[str, ...]](
    key="hidden",
    link="hide",
    default=(),
    values=several(one_of("intervals", "band")),
    label="Hide",
    help=None,
    chip=lambda found: f"Without {' and '.join(found)}",
    acts_on=on("Reliability"),
    widget=PILLS,  # the explorer's boxes
)
AUTO_BINS = Choice[bool](
    key="auto_bins",
    link="auto",
    default=False,
    values=flag(),
    label="Auto",
    help="The largest number of bins for which observed frequencies still increase monotonically "
    "(ECE-sweep, Roelofs et al. 2022).",
    chip="Auto bins",
    acts_on=on(*BINNED),
    widget=st.toggle,
)
AFTER = Choice[str](
    key="after",
    link="after",
    default="",  # the recommended one
    values=METHOD,
    label="After calibration by",
    help="Its held-out scores, compared with the uncalibrated scores.",
    chip=lambda key: f"After {method_label(key)}",
    acts_on=on("Slices", "Decisions") | on("Compare", when=_of_several),
    widget=st.selectbox,
    option=method_label,
)
SLICE_BY = Choice[str](
    key="slice_by",
    link="slice",
    default="",  # the first column
    values=Values(str),
    label="Slice by",
    help=None,
    chip=lambda name: f"Slice by {plain(name)}",
    acts_on=on("Slices", "Reports") | on("Reliability", when=_in_a_bin),
    widget=COLUMN,
    option=_column,
    forgets=("picked", "apart"),
)
CROSS = Choice[str](
    key="cross",
    link="cross",
    default="",
    values=Values(str),
    label="Crossed with",
    help=None,
    chip=lambda name: f"Crossed with {plain(name)}",
    acts_on=on("Slices", "Reports"),
    widget=COLUMN,
    option=_column,
    shown=_none_for_empty,
    forgets=("picked", "apart"),
)
N_RANGES = Choice[int](
    key="n_ranges",
    link="ranges",
    default=5,
    values=whole(2, 20),
    label="Ranges of a numeric column",
    help="A numeric column with more than 12 values is cut into ranges of about equal counts.",
    chip="{} ranges",
    acts_on=on("Slices", "Reports") | on("Reliability", when=_in_a_bin),
    widget=st.slider,
    forgets=("picked", "apart"),
)
PICKED = Choice[tuple[int, ...]](
    key="picked",
    link="pick",
    default=(),  # the two of the strongest evidence
    values=several(whole(0, MAX_SLICES)),
    label="Overlay slices",
    help=None,
    chip=lambda found: f"{len(found)} slices overlaid",
    acts_on=on("Slices"),
    widget=st.multiselect,
)
APART = Choice[int](
    key="apart",
    link="apart",
    default=-1,  # the one of the strongest evidence
    values=whole(0, MAX_SLICES),
    label="Slice-specific calibrator",
    help=None,
    chip="Slice-specific calibrator",
    acts_on=on("Slices"),
    widget=st.selectbox,
)
TIME = Choice[str](
    key="time",
    link="time",
    default="",  # the one that the data name
    values=Values(str),
    label="Time column",
    help="Dates, seasons, or any column whose order is that of time.",
    chip=lambda name: f"Time: {plain(name)}",
    acts_on=on("Slices", "Reports"),
    widget=partial(COLUMN, index=None),
    shown=_none_for_empty,
)
UNIT = Choice[Unit | Literal[""]](
    key="unit",
    link="unit",
    default="",
    values=one_of(*UNITS, offered=(AUTOMATIC, *UNITS)),
    label="Period",
    help="Automatic: the shortest period that gives at most 36 periods with a median of 100 rows.",
    chip="Periods: {}",
    acts_on=on("Slices", "Reports"),
    widget=st.selectbox,
    option=str.capitalize,
    shown=lambda unit: unit or AUTOMATIC,
    taken=lambda unit: "" if unit == AUTOMATIC else unit,
)
COST_FP = Choice[float](
    key="cost_fp",
    link="fp",
    default=1.0,
    values=number(1e-6, 1e9),
    label="Cost of a false positive",
    help="In any unit. The threshold depends only on the ratio of the two costs.",
    chip="False positive costs {:g}",
    acts_on=on(*DECIDING),
    widget=COST,
)
COST_FN = Choice[float](
    key="cost_fn",
    link="fn",
    default=1.0,
    values=number(1e-6, 1e9),
    label="Cost of a false negative",
    help="In any unit. The threshold depends only on the ratio of the two costs.",
    chip="False negative costs {:g}",
    acts_on=on(*DECIDING),
    widget=COST,
)
CAPACITY = Choice[float | None](
    key="capacity",
    link="cap",
    default=None,  # the costs decide
    values=number(1e-6, 1.0, offered=(1e-4, 100.0)),
    label="Rows that can be flagged, in %",
    help=None,
    chip=lambda share: f"Capacity {percent(share or 0.0)}",
    acts_on=on(*DECIDING),
    widget=COST,
    shown=lambda share: 100.0 * (share or 0.0),
    taken=lambda share: share / 100.0,
)
COUNT_FROM = Choice[float](
    key="count_from",
    link="from",
    default=0.5,
    values=number(0.0, 1.0),
    label="Range of uncalibrated scores",
    help=None,
    chip="Scores from {:g}",
    acts_on=on("Decisions"),
    widget=partial(st.slider, step=0.01),
)
COUNT_TO = Choice[float](
    key="count_to",
    link="to",
    default=1.0,
    values=number(0.0, 1.0),
    label="Range of uncalibrated scores",
    help=None,
    chip="Scores to {:g}",
    acts_on=on("Decisions"),
    widget=partial(st.slider, step=0.01),
)
MODELS = Choice[tuple[str, ...]](
    key="models",
    link="model",
    default=(),  # the first and the last
    values=Values(
        lambda text: tuple(map(unquote, text.split("~"))),
        lambda names: "~".join(quote(name, safe=" ").replace("~", "%7E") for name in names),
    ),
    label="Models",
    help=None,
    chip=lambda found: f"{len(found)} of the models",
    acts_on=on(*WITH_ANALYSIS, when=_of_several),
    widget=PILLS,
)

CHOICES: Mapping[str, Choice[Any]] = {
    found.key: found for found in list(globals().values()) if isinstance(found, Choice)
}
LINK_NAMES: Mapping[str, Choice[Any]] = {choice.link: choice for choice in CHOICES.values()}
if len(LINK_NAMES) < len(CHOICES) or not DEFAULTS.keys() <= CHOICES.keys():
    raise ImportError("Every choice must have a link name of its own, and every setting a choice.")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The value of every choice.

    Attributes
    ----------
    settings : Settings
        What the analysis depends on.
    drawing : tuple of (str, object)
        What only changes the drawing, where it differs from its default; by key.
    """

    settings: Settings = field(default_factory=Settings)
    drawing: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, values: Mapping[Choice[Any], Any]) -> Chosen:
        """Some choices; the others keep their defaults."""
        found = cls()
        for choice, value in values.items():
            found = found.having(choice, value)
        return found

    def __getitem__(self, choice: Choice[T]) -> T:
        if choice.is_setting:
            value: T = getattr(self.settings, choice.key)
            return value
        return dict(self.drawing).get(choice.key, choice.default)

    def having(self, choice: Choice[T], value: T) -> Chosen:
        """The same with another value of one choice."""
        if choice.is_setting:
            changed: dict[str, Any] = {choice.key: value}
            return replace(self, settings=replace(self.settings, **changed))
        kept = {key: old for key, old in self.drawing if key != choice.key}
        if value != choice.default:
            kept[choice.key] = value
        return replace(self, drawing=tuple(sorted(kept.items())))

    def changed(self, start: Settings) -> dict[Choice[Any], Any]:
        """The choices that differ from where the data start, in the order of their declaration."""
        found = self.settings.changed(start) | dict(self.drawing)
        return {choice: found[key] for key, choice in CHOICES.items() if key in found}
