"""Gallery: published results, our reproduction of them, and data to open."""

import streamlit as st

from calib.ui.layout import frame
from calib.ui.pages import gallery
from calib.ui.session.pages import PAGES

session = frame.begin("Gallery")

st.markdown("## Gallery")
st.markdown(
    "Published results, reproduced. Each entry has data to open in the app, and the published "
    "numbers beside ours. See `docs/reproductions.md` for details and deviations."
)
if session.upload is not None:
    st.caption(
        "An example that you open here replaces your file. Upload the file again on the Data page."
    )

for shown in gallery.ENTRIES:
    opened = gallery.show_entry(shown)
    if opened is not None:
        session.follow(opened.link)
        st.switch_page(PAGES[opened.page])
