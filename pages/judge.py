"""Judge."""

from calib.features.judge import page

page.page()
