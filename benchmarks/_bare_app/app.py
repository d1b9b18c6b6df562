"""What the app's pages are measured against: two pages of texts, with a link to each other.

The address says how many elements a page has: "/?n=30".
"""

import streamlit as st

n = int(st.query_params.get("n", "3"))
st.set_page_config(page_title="Start · bare", layout="wide")
st.markdown("## Start")
with st.container(key="navigation"):
    st.page_link("pages/texts.py", label="Texts", query_params={"n": str(n)})
for number in range(n - 2):
    st.markdown(f"Text {number} of the first page")
