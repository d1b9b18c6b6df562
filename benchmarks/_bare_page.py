"""What the app's latency is measured against: one slider and one chart of 200 points."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

n = st.slider("Waves", 2, 100, 15, key="n_bins")
x = np.linspace(0.0, 1.0, 200)
figure = go.Figure(go.Scatter(x=x, y=np.sin(n * x)))
st.plotly_chart(figure, key="chart_reliability")
