"""Cumulative: calibration without bins, as differences that add up along the scores."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from calib.analysis import Analysis
from calib.blocks import methods
from calib.figures.cumulative import (
    PANELS,
    cumulative_chart,
    cumulative_difference_chart,
    panels_title,
)
from calib.text import plain
from calib.ui.controls import widgets
from calib.ui.layout import blocks, charts, frame, notes, words
from calib.words import cumulative as wording
from calib.words.measures import details

CUMULATIVE = """
- Rows are sorted by score, and **observed minus predicted** is added up. Where the curve **falls**,
  predictions are too high; where it **rises**, too low; flat means calibrated.
- The **arrow** is the KS calibration error: the largest distance of the curve from zero. The
  **Kuiper error** is the distance from the lowest to the highest point (hollow markers).
- If the first method shown were calibrated, its curve would stay in the **grey band** with the
  chosen confidence.
"""
PANELS_READING = (
    "Observed in (c) and (d): the slope of a spline through the cumulative outcomes. "
    "[Gupta et al. 2021](https://arxiv.org/abs/2006.12800), Figure 1."
)

# Pixels of a panel: two or four are beside each other.
PANEL_WIDTHS = (220, 300, 380)


def page() -> None:
    session = frame.begin("Cumulative")
    model = frame.model(session)
    shown = widgets.methods_shown(session, model.analysis)
    opening(model.analysis, shown)
    with widgets.toolbar("cumulative"):
        widgets.shown_methods(session, model.analysis)
    body(model.analysis, shown)
    notes.below(session, model)


def opening(analysis: Analysis, shown: Sequence[str]) -> None:
    first, *others = shown
    st.markdown(f"## {plain(wording.heading(analysis, first))}")
    result = analysis.methods[first]
    lines = [f"{wording.sentence(result)} {wording.saving(result)}".rstrip()]
    lines += [
        f"{plain(wording.heading(analysis, key))}. {wording.sentence(analysis.methods[key])}"
        for key in others
    ]
    st.markdown("  \n".join(lines))


def body(analysis: Analysis, shown: Sequence[str]) -> None:
    if reason := words.too_few(analysis):
        st.info(reason)
    else:
        drawings(analysis, shown)
    st.markdown("### Tests")
    adjusted = [analysis.p_adjusted(key) for key in shown]
    blocks.show(methods.calibration_tests([analysis.methods[key] for key in shown], adjusted))


def drawings(analysis: Analysis, shown: Sequence[str]) -> None:
    drawn = charts.kept(cumulative_difference_chart, analysis, shown)
    charts.chart(drawn, "chart_difference")
    frame.reading(CUMULATIVE)
    # A second method would repeat all four panels.
    first = shown[0]
    st.markdown(f"### {plain(panels_title(analysis.methods[first]))}")
    st.caption(details(analysis, "no bins"))
    with st.container(key="panels"):
        for panel in range(len(PANELS)):
            drawn = charts.kept(cumulative_chart, analysis, first, panels=(panel,))
            charts.chart(drawn, f"chart_cumulative_{panel}", widths=PANEL_WIDTHS)
    st.caption(PANELS_READING)
