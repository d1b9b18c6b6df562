"""Data."""

from calib.ui.pages import data

data.page()
