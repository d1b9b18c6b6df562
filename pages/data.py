"""Data."""

from calib.ui.pages.data import page

page.page()
