"""A page of bare Streamlit elements, as many of each kind as the address says.

"?kinds=stButton.6_stMarkdown.4" are six buttons and four texts. The names are those that Streamlit
gives the elements in a browser; other kinds are drawn as texts.
"""

from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

COMPONENT = "export default call => { call.parentElement.textContent = call.data; }"


def component(name: str) -> None:
    draw = st.components.v2.component("bare", js=COMPONENT)
    draw(key=name, data=name)


KINDS: dict[str, Callable[[str], object]] = {
    "stPageLink": lambda name: st.page_link("app.py", label=name),
    "stHtml": lambda name: st.html(f"<p>{name}</p>"),
    "stButton": lambda name: st.button(name),
    "stDownloadButton": lambda name: st.download_button(name, name, on_click="ignore"),
    "stBidiComponent": component,
    "stButtonGroup": lambda name: st.pills(name, ["a", "b", "c"]),
    "stCheckbox": lambda name: st.checkbox(name),
    "stRadio": lambda name: st.radio(name, ["a", "b"]),
    "stSelectbox": lambda name: st.selectbox(name, ["a", "b"]),
    "stMultiSelect": lambda name: st.multiselect(name, ["a", "b"]),
    "stSlider": lambda name: st.slider(name, 0.0, 1.0, (0.0, 1.0)),
    "stEmpty": lambda _: st.empty(),
    "stNumberInput": lambda name: st.number_input(name),
    "stTextInput": lambda name: st.text_input(name),
    "stTextArea": lambda name: st.text_area(name),
    "stFileUploader": lambda name: st.file_uploader(name),
    "stFullScreenFrame": lambda name: st.plotly_chart(go.Figure(go.Scatter(y=[1, 2])), key=name),
}

kinds = st.query_params.get("kinds", "")
st.set_page_config(page_title="Elements · bare", layout="wide")
st.markdown("## Elements")
with st.container(key="navigation"):
    st.page_link("app.py", label="Start", query_params={"kinds": kinds})
for kind, number in (part.split(".") for part in kinds.split("_") if part):
    for i in range(int(number)):
        KINDS.get(kind, st.markdown)(f"{kind} {i}")
