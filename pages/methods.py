"""Methods."""

from calib.ui.pages import methods

methods.page()
