"""Classes."""

from calib.ui.pages import classes

classes.page()
