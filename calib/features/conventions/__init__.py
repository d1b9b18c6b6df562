"""Conventions: which of them gives the number that a paper or another tool printed?"""

from calib.feature import FEATURES, Feature

SECTION = f"{__name__}.page:section"
FEATURES.add(
    "conventions",
    Feature(
        sections={"Reliability": SECTION, "Calibrators": SECTION}, choices=f"{__name__}.choices"
    ),
)
