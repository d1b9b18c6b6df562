"""What Streamlit's theme cannot say about the look of the pages, as CSS."""

from __future__ import annotations

import streamlit as st

# Streamlit writes its own grey into charts: 3.7 to 1 on white, where text needs 4.5.
CHARTS = """
.js-plotly-plot :is(.cartesianlayer, .infolayer, .hoverlayer) text {
    fill: currentColor !important;
}
"""
# Where Streamlit's own ring is missing, or is the look of what is chosen.
FOCUS = """
:is([data-testid=stPageLink] a, [data-testid=stMainMenu] button, .modebar-btn):focus-visible {
    outline: 2px solid currentColor !important; outline-offset: 1px;
}
"""
PAGE = """
[data-testid=stMainBlockContainer] { max-width: 1320px; padding: 4.25rem 3rem 4rem; }
.st-key-navigation { border-bottom: 1px solid rgba(127, 127, 127, .3); padding-bottom: .35rem; }
.st-key-navigation [data-testid=stHorizontalBlock] { gap: .5rem .25rem; }
.st-key-navigation p { white-space: nowrap; }
[data-variant][data-selected=true], [data-variant][data-selected=true] * {
    color: inherit !important; font-weight: 600;
}
[data-testid=stMetricLabel] *, [data-testid=stMetricDelta] * { white-space: normal; }
[data-testid=stSliderThumbValue], [data-testid=stSliderThumbValue] * { color: inherit !important; }
div:has(> [data-testid=stMultiSelectTagsContainer]) { max-height: none; }
[data-testid=stMultiSelectTagsContainer] { flex-wrap: wrap; }
@media (max-width: 640px) {
    [data-testid=stMainBlockContainer] { padding-left: 1rem; padding-right: 1rem; }
}
"""
# A square shrinks with a narrow page and stands at the bottom of its place: what is left above it
# is taken away. It begins to at its own width and the page's margins: 478 for 380 pixels.
SQUARES = """
@media (max-width: 478px) {
    [class*=st-key-chart_functions], .st-key-chart_reliability {
        margin-top: calc(100vw - 478px); clip-path: inset(calc(478px - 100vw) 0 0 0);
    }
}
@media (max-width: 428px) {
    .st-key-chart_overlay {
        margin-top: calc(100vw - 428px); clip-path: inset(calc(428px - 100vw) 0 0 0);
    }
}
/* Panels: as many beside each other as there is room for, small ones two on a phone. */
[class*=st-key-panels], [class*=st-key-before_after] { display: grid; }
[class*=st-key-panels] { grid-template-columns: repeat(auto-fill, 316px); max-width: 680px; }
[class*=st-key-before_after] { grid-template-columns: repeat(auto-fill, 216px); }
@media (max-width: 478px) {
    [class*=st-key-before_after] { grid-template-columns: repeat(2, minmax(0, 1fr)); }
    [class*=st-key-chart_before_after] {
        margin-top: calc(50vw - 239px); clip-path: inset(calc(239px - 50vw) 0 0 0);
    }
}
"""


def apply() -> None:
    """Give the page the house's look."""
    st.html(f"<style>{PAGE}{CHARTS}{FOCUS}{SQUARES}</style>")
