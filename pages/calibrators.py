"""Calibrators."""

from calib.ui.pages.calibrators import page

page.page()
