"""Thresholds: which rows can be decided automatically, with a certified error."""

from calib.feature import FEATURES, Feature

FEATURES.add("thresholds", Feature(sections={"Decisions": f"{__name__}.page:section"}))
