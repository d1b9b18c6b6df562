"""The source of plotly.js, for pages that must draw without a network."""

from plotly.offline import get_plotlyjs


def plotly_js() -> str:
    """Plotly.js as the installed plotly ships it."""
    return str(get_plotlyjs())
