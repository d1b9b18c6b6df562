"""Choices that the analysis depends on: each is a field of `Settings`."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import streamlit as st

from calib.analysis.summary import TABLE
from calib.calibrators import CALIBRATORS
from calib.crossfit.settings import Settings
from calib.data.views import parse_view
from calib.metrics import METRICS, score_metrics
from calib.text import level as level_words
from calib.text import significant
from calib.ui.session.choice import (
    Choice,
    Values,
    level,
    number,
    on,
    one_of,
    several,
    whole,
)
from calib.ui.session.page_list import WITH_ANALYSIS

LEVELS = (0.8, 0.9, 0.95, 0.99)
EPSILON_RANGE = (1e-15, 0.32)
# The slider offers the value of the rule first, and then these powers of ten.
AUTOMATIC = "automatic"
EXPONENTS = tuple(tenth / 10 for tenth in range(-150, -4))
MAX_SEED = 2**31 - 1
DEFAULTS = Settings.defaults()
BINNED = ("Overview", "Reliability", "Calibrators", "Slices", "Reports")
SEGMENTED = partial(st.segmented_control, required=True)


def method_label(key: str) -> str:
    return CALIBRATORS[key].label


METHOD = one_of(*CALIBRATORS, name=method_label)


def _view(text: str) -> str:
    try:
        parse_view(text)
    except ValueError:
        raise ValueError("it must look like class:1, top:1 or within:2") from None
    return text


VIEW = Choice[str](
    key="view",
    link="view",
    default=DEFAULTS["view"],
    values=Values(_view),
    label="View",
    help="Top-r asks whether the class with the r-th largest score is the true one, and within "
    "top-r whether it is one of the first r. Class asks about one class.",
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
    chip=lambda keys: f"{len(keys)} methods",
    acts_on=on(*WITH_ANALYSIS),
    widget=st.multiselect,
)

METRIC_KEYS = tuple(
    key for key in score_metrics() if key not in {column.key for column in TABLE.values()}
)
ADDED_METRICS = Choice[tuple[str, ...]](
    key="metrics",
    link="metric",
    default=DEFAULTS["metrics"],
    values=several(one_of(*METRIC_KEYS, name=lambda key: METRICS[key].label)),
    label="More metrics",
    help="Columns added to the metric table. Slow: 400 resamples per interval.",
    chip=lambda keys: f"{len(keys)} more metric{'' if len(keys) == 1 else 's'}",
    acts_on=on("Calibrators", "Reports"),
    widget=st.multiselect,
)

STRATEGY = Choice[str](
    key="strategy",
    link="by",
    default=DEFAULTS["strategy"],
    values=one_of("quantile", "uniform", name=str.capitalize),
    label="Bins",
    help="Quantile: equal counts per bin. Uniform: equal widths.",
    chip="{} bins",
    acts_on=on(*BINNED),
    widget=SEGMENTED,
)

N_BINS = Choice[int](
    key="n_bins",
    link="bins",
    default=DEFAULTS["n_bins"],
    values=whole(2, 100),
    label="Number of bins",
    chip="{} bins",
    acts_on=on(*BINNED, when="sets bins"),
    widget=st.slider,
)


EPSILON = Choice[float | None](
    key="epsilon",
    link="eps",
    default=DEFAULTS["epsilon"],
    values=number(
        *EPSILON_RANGE,
        options=(AUTOMATIC, *EXPONENTS),
        name=lambda stop: stop if stop == AUTOMATIC else significant(10.0**stop, 2),
    ),
    label="Epsilon of splines (log scale)",
    help="Scores outside [ε, 1 − ε] are left unchanged. A smaller ε spreads out scores near 0 and "
    "1 more.",
    chip=lambda value: f"ε = {significant(value or 0.0)}",
    acts_on=on(*WITH_ANALYSIS, when="uses epsilon"),
    widget=st.select_slider,
    shown=lambda value: (
        AUTOMATIC
        if value is None
        else float(np.clip(round(math.log10(value), 1), EXPONENTS[0], EXPONENTS[-1]))
    ),
    taken=lambda stop: None if stop == AUTOMATIC else 10.0**stop,
)

N_FOLDS = Choice[int](
    key="n_folds",
    link="folds",
    default=DEFAULTS["n_folds"],
    values=whole(2, 20),
    label="Folds",
    chip="{} folds",
    acts_on=on(*WITH_ANALYSIS, when="draws folds"),
    widget=st.slider,
    help="Each fold is scored by calibrators fitted on the others.",
)

SEED = Choice[int](
    key="seed",
    link="seed",
    default=DEFAULTS["seed"],
    values=whole(0, MAX_SEED),
    label="Seed",
    chip="Seed {}",
    acts_on=on(*WITH_ANALYSIS),
    widget=partial(st.number_input, step=1),
    help="Change it to see how much results vary by chance.",
)

CONFIDENCE_LEVEL = Choice[float](
    key="confidence_level",
    link="level",
    default=DEFAULTS["confidence_level"],
    values=level(*LEVELS),
    label="Confidence level",
    help="Used for all intervals and bands.",
    chip=lambda share: f"{level_words(share)} intervals",
    acts_on=on(*WITH_ANALYSIS),
    widget=st.selectbox,
)

BAND = Choice[str](
    key="band",
    link="band",
    default=DEFAULTS["band"],
    values=one_of("per_bin", "simultaneous", offered=()),
    label="Simultaneous band",
    help="Off: if the model were calibrated, each dot would fall in the grey band with the "
    "confidence level. On: all dots at once would.",
    chip="Simultaneous band",
    acts_on=on("Overview", "Reliability", "Calibrators", "Reports"),
    widget=st.toggle,
    shown=lambda band: band == "simultaneous",
    taken=lambda together: "simultaneous" if together else "per_bin",
)
