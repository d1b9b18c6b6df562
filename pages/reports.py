"""Reports."""

from calib.ui.pages.reports import page

page.page()
