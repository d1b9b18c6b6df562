"""Slices and time."""

from calib.ui.pages import slices

slices.page()
