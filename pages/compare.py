"""Compare."""

from calib.ui.pages import compare

compare.page()
