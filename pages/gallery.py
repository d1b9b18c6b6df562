"""Gallery."""

from calib.ui.pages import gallery

gallery.page()
