"""Overview, and the server that `streamlit run app.py` starts."""

import streamlit as st

from calib.ui.layout import style
from calib.ui.pages import overview
from calib.ui.session import middleware, serving

if __name__ == "__main__":
    overview.page()
else:
    # `streamlit run app.py` finds this line, imports the file once, and serves what it is given.
    app = st.App(__file__, lifespan=serving.opened, middleware=middleware.middleware(style.css()))
