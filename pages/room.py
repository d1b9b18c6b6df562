"""The page of a feature of another package."""

from calib.ui.pages import room

room.page()
