"""Data: upload predictions, map their columns, and see what is wrong with them."""

import streamlit as st

from calib.ui.controls import sources, uploaders, widgets
from calib.ui.data import connect, example_view, mapping
from calib.ui.layout import frame

COUNTED = (
    "The file holds counts, so there are no rows to show here. Its columns were named when the "
    "rows were counted."
)
OF_SOURCE = "The source counted the rows, and the rows stayed there."
session = frame.begin("Data")

with st.sidebar:
    widgets.example(session)
    widgets.changed(session)

st.markdown("## Data")
if session.upload is not None:
    frame.source(session)
uploaders.uploaders(session)
uploaders.paste(session)
connect.show(session)

if session.upload is None:
    uploaders.problems(session)
    example_view.show(session)
    st.stop()

upload = session.upload
if upload.counted:
    st.markdown("### What was counted")
    st.markdown(COUNTED if upload.source is None else OF_SOURCE)
    sources.refresh(session)
elif upload.source is not None:
    st.markdown("### The sample")
    sources.refresh(session)
else:
    st.markdown("### What the columns mean")
    mapping.columns(mapping.Mapped.of(session, mapping.UPLOAD))
uploaders.problems(session)
if upload.checklist:
    with st.container(key="checklist", gap="xxsmall"):
        for sentence in upload.checklist:
            st.markdown(f":material/check: {sentence}")
uploaders.remove_test(session)
uploaders.unseen(session)
if upload.models:
    st.page_link("app.py", label="**See the result**", icon=":material/arrow_forward:")

if not upload.counted:
    st.markdown("### First rows")
    mapping.preview(session)
