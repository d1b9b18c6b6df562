"""Automate."""

from calib.features.automate import page

page.page()
