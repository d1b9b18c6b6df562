"""Cumulative."""

from calib.ui.pages import cumulative

cumulative.page()
