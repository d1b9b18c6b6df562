"""Gallery: what the papers printed, what this project makes of it, and data to open."""

import streamlit as st

from calib.ui import frame, gallery
from calib.ui.gallery_entries import ENTRIES
from calib.ui.pages import PAGES

session = frame.begin("Gallery")

st.markdown("## Gallery")
st.markdown(
    "The field's papers, repeated: each with data to open in the app, and its published numbers "
    "beside ours. How every number was made, and why some differ, stands in "
    "`docs/reproductions.md`."
)
if session.upload is not None:
    st.caption("What you open here is shown instead of your file; the Data page takes it again.")

for shown in ENTRIES:
    opened = gallery.show_entry(shown)
    if opened is not None:
        session.follow(opened.link)
        st.switch_page(PAGES[opened.page])
