"""Learn."""

from calib.ui.pages import learn

learn.page()
