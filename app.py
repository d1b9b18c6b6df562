"""Overview: can these probabilities be trusted, and what would repair them?"""

import streamlit as st

from calib.loading.examples import EXAMPLES
from calib.ui import overview
from calib.ui.controls import uploaders, widgets
from calib.ui.layout import frame, style
from calib.ui.session import middleware, serving, state


def landing() -> None:
    """What this is, and where one's own file or an example goes in."""
    with st.container(key="landing"):
        purpose, drop = st.columns(2, gap="medium", vertical_alignment="center")
    with purpose:
        st.html(
            '<p class="purpose">Can these probabilities be trusted?</p>'
            "<p>Check a model's probabilities against what happened, and calibrate them.</p>"
        )
    with drop:
        uploaders.uploader(session, "data", "Drop your predictions: CSV, Parquet or NumPy")
    widgets.example(session)
    widgets.changed(session)


def about() -> None:
    """The story of an example."""
    if session.upload is None:
        example = EXAMPLES[session.example]
        st.markdown("### About this example")
        st.markdown(example.story)


def body(model: state.Model) -> None:
    analysis = model.analysis
    overview.card(session, analysis)
    with st.container(key=state.key("evidence")):
        pair, beside = st.columns([5, 3], gap="medium")
    with pair:
        overview.before_and_after(analysis)
    with beside:
        overview.recommendation(session, model)
        overview.four_numbers(session, analysis)
    frame.once("about", about)


if __name__ == "__main__":
    session = frame.begin("Overview")
    landing()
    frame.show(session, frame.models(session), body)
else:
    # `streamlit run app.py` finds this line, imports the file once, and serves what it is given.
    app = st.App(__file__, lifespan=serving.opened, middleware=middleware.middleware(style.css()))
