"""Monitor."""

from calib.ui.pages import monitor

monitor.page()
