"""Calibration of the scores in slices of the data."""

from importlib import import_module as _import_module

from calib.analysis.slices.calibration import (
    SliceCalibration,
    SlicedRows,
    SliceTests,
    bin_of,
    bin_rows,
    calibrate_slices,
    row_table,
    score_in,
    slice_reliability,
    slice_tests,
    sliced_rows,
)
from calib.analysis.slices.mix import (
    SliceErrorRates,
    SliceGaps,
    SliceMix,
    slice_error_rates,
    slice_gaps,
    slice_mix,
)
from calib.analysis.slices.over_time import SliceOverTime, slices_over_time
from calib.data.slicing import Slicing, slice_by

# Programs find these names here, and nothing but their use imports the feature.
_OF_SEGMENTS = ("Segments", "find_segments")

__all__ = [
    "SliceCalibration",
    "SliceErrorRates",
    "SliceGaps",
    "SliceMix",
    "SliceOverTime",
    "SliceTests",
    "SlicedRows",
    "Slicing",
    "bin_of",
    "bin_rows",
    "calibrate_slices",
    "row_table",
    "score_in",
    "slice_by",
    "slice_error_rates",
    "slice_gaps",
    "slice_mix",
    "slice_reliability",
    "slice_tests",
    "sliced_rows",
    "slices_over_time",
    *_OF_SEGMENTS,
]


def __getattr__(name: str) -> object:
    if name not in _OF_SEGMENTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module("calib.features.segments.search"), name)
