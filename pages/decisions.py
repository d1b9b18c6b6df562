"""Decisions."""

from calib.ui.pages import decisions

decisions.page()
