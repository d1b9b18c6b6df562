"""Slices and time."""

from calib.ui.pages.slices import page

page.page()
