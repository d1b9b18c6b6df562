"""Methods: what every number means, which convention it follows, and its source."""

import streamlit as st

from calib.ui.layout import frame
from calib.ui.pages import methods

session = frame.begin("Methods")

st.markdown("## Methods")
query = st.text_input(
    "Find",
    placeholder="ECE, isotonic, arXiv, Guo …",
    key="methods_filter",
    help="Searches names, explanations and sources for every word.",
)
metrics = methods.kept(methods.metric_entries(), query)
calibrators = methods.kept(methods.calibrator_entries() | {"Terms": methods.TERMS}, query)

left, right = st.columns(2, gap="large")
with left, st.container(key="glossary_metrics"):
    for title, entries in metrics.items():
        st.markdown(f"### {title}")
        st.markdown("\n".join(entry.markdown() for entry in entries))
with right, st.container(key="glossary_calibrators"):
    for title, entries in calibrators.items():
        st.markdown(f"### {title}")
        st.markdown("\n".join(entry.markdown() for entry in entries))
    if not query:
        st.caption(methods.ONE_VS_REST)
        st.markdown("### How intervals are computed")
        st.markdown(methods.INTERVALS)
if not metrics and not calibrators:
    st.info("No matches.")
