"""Monitor."""

from calib.features.monitor import page

page.page()
