"""Decisions."""

from calib.ui.pages.decisions import page

page.page()
