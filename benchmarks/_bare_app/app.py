"""What the app's pages are measured against: pages of bare elements, with links to each other.

The address says how many texts a page has, and for `pages/elements.py` which elements: "/?n=30".
"""

import streamlit as st

n = int(st.query_params.get("n", "3"))
st.set_page_config(page_title="Start · bare", layout="wide")
st.markdown("## Start")
with st.container(key="navigation"):
    st.page_link("pages/texts.py", label="Texts", query_params={"n": str(n)})
    kinds = st.query_params.get("kinds", "")
    st.page_link("pages/elements.py", label="Elements", query_params={"kinds": kinds})
for number in range(n - 3):
    st.markdown(f"Text {number} of the first page")
