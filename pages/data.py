"""Data: upload predictions, map their columns, and see what is wrong with them."""

import streamlit as st

from calib.ui import data_in, example_view, frame, mapping, widgets

session = frame.begin("Data")

with st.sidebar:
    widgets.example(session)
    widgets.changed(session)

st.markdown("## Data")
if session.upload is not None:
    frame.source(session)
data_in.uploaders(session)
data_in.paste(session)

if session.upload is None:
    data_in.problems(session)
    example_view.show(session)
    st.stop()

upload = session.upload
st.markdown("### What the columns mean")
mapping.columns(upload)
data_in.problems(session)
if upload.checklist:
    with st.container(key="checklist", gap="xxsmall"):
        for sentence in upload.checklist:
            st.markdown(f":material/check: {sentence}")
data_in.remove_test(session)
data_in.unseen(session)
if upload.models:
    st.page_link("app.py", label="**See the result**", icon=":material/arrow_forward:")

st.markdown("### First rows")
mapping.preview(session)
