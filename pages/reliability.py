"""Reliability."""

from calib.ui.pages.reliability import page

page.page()
