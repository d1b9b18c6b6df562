"""Reports: take the analysis away, as one file that needs nothing else."""

import streamlit as st

from calib.ui import frame, reporting, widgets

session = frame.begin("Reports")

with st.sidebar:
    widgets.confidence(session)
    widgets.changed(session)

analysis = frame.models(session)[0].analysis

st.markdown("## Report")
form, contents = st.columns([3, 2], gap="large")
with form:
    reporting.fields(session)
    reporting.downloads(session, analysis)
with contents:
    st.markdown("##### What it holds")
    st.markdown(reporting.CONTENTS)
