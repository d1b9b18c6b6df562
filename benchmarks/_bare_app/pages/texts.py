"""The other page, with as many elements."""

import streamlit as st

n = int(st.query_params.get("n", "3"))
st.set_page_config(page_title="Texts · bare", layout="wide")
st.markdown("## Texts")
with st.container(key="navigation"):
    st.page_link("app.py", label="Start", query_params={"n": str(n)})
for number in range(n - 2):
    st.markdown(f"Text {number} of the other page")
