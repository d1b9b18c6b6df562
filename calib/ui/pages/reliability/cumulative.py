"""The tabs without bins: cumulative differences along the scores, and the four panels of KS."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from calib.analysis import Analysis
from calib.blocks import methods
from calib.figures.cumulative import cumulative_chart, cumulative_difference_chart
from calib.text import plain
from calib.ui.controls import widgets
from calib.ui.layout import blocks, charts, frame, words
from calib.ui.session import choices
from calib.ui.session.session import Session
from calib.words import cumulative as wording
from calib.words.measures import details, on_average

CUMULATIVE = """
- Rows are sorted by score, and **observed minus predicted** is added up. Where the curve **falls**,
  predictions are too high; where it **rises**, too low; flat means calibrated.
- The **arrow** is the KS calibration error: the largest distance of the curve from zero. The
  **Kuiper error** is the distance from the lowest to the highest point (hollow markers).
- If the first method shown were calibrated, its curve would stay in the **grey band** with the
  chosen confidence.
"""
KS_MEANS = (
    "The **KS calibration error** is the largest gap between predicted and observed positives, "
    "added up from the lowest score."
)
PANELS_READING = "[Gupta et al. 2021](https://arxiv.org/abs/2006.12800), Figure 1."

# Pixels of a panel: one, two or four are beside each other.
PANEL_WIDTHS = (220, 300, 356, 480)


def show(session: Session, analysis: Analysis, shown: Sequence[str]) -> None:
    """The chosen tab: one chart of all shown methods with the tests, or four panels of each."""
    with widgets.toolbar("cumulative"):
        widgets.shown_methods(session, analysis)
    is_drawn = not (reason := words.too_few(analysis))
    if not is_drawn:
        st.info(reason)
    if session[choices.TAB] == "panels":
        if is_drawn:
            panels(analysis, shown)
        return
    st.markdown("  \n".join(sentences(analysis, shown)))
    if is_drawn:
        drawn = charts.kept(cumulative_difference_chart, analysis, shown)
        charts.chart(drawn, "chart_difference")
        frame.reading(CUMULATIVE)
    st.markdown("### Tests")
    adjusted = [analysis.p_adjusted(key) for key in shown]
    blocks.show(methods.calibration_tests([analysis.methods[key] for key in shown], adjusted))


def sentences(analysis: Analysis, shown: Sequence[str]) -> list[str]:
    """Both errors of each method. The title of the chart says what is wrong with the first."""
    first, *others = shown
    result = analysis.methods[first]
    return [f"{wording.sentence(result)} {wording.saving(result)}".rstrip()] + [
        f"{plain(wording.heading(analysis, key))}. {wording.sentence(analysis.methods[key])}"
        for key in others
    ]


def panels(analysis: Analysis, shown: Sequence[str]) -> None:
    floor = on_average(analysis.methods[shown[0]].metrics["ks_error"])
    st.markdown(f"{KS_MEANS} {floor}")
    for key in shown:
        result = analysis.methods[key]
        st.markdown(f"### {plain(wording.panels_heading(result))}")
        with st.container(key=f"panels_{key}"):
            for panel, about in enumerate(wording.panels_about(result)):
                drawn = charts.kept(cumulative_chart, analysis, key, panels=(panel,))
                with st.container(key=f"panel_{panel}_{key}"):
                    charts.chart(drawn, f"chart_cumulative_{panel}_{key}", widths=PANEL_WIDTHS)
                    # The panels of the other methods show the same.
                    if key == shown[0]:
                        st.caption(about)
    st.caption(f"{details(analysis, 'no bins')}. {PANELS_READING}")
