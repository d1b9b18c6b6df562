"""Functions."""

from calib.ui.pages import functions

functions.page()
