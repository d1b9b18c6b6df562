"""Judge."""

from calib.ui.pages import judge

judge.page()
