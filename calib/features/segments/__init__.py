"""Segments: parts of the data, found by a search of all columns, in which the scores fail."""

from calib.feature import FEATURES, Feature

FEATURES.add(
    "segments",
    Feature(sections={"Slices": f"{__name__}.page:section"}, choices=f"{__name__}.choices"),
)
