"""Calibration of the scores in slices of the data."""

from calib.analysis.slices.bins import bin_of, bin_rows, row_table, score_in, slice_reliability
from calib.analysis.slices.calibration import SliceCalibration, calibrate_slices
from calib.analysis.slices.error_rates import SliceErrorRates, slice_error_rates
from calib.analysis.slices.gaps import SliceGaps, slice_gaps
from calib.analysis.slices.mix import SliceMix, slice_mix
from calib.analysis.slices.rows import SlicedRows, sliced_rows
from calib.analysis.slices.segments import Segments, find_segments
from calib.analysis.slices.tests import SliceTests, slice_tests
from calib.data.slicing import Slicing, slice_by

__all__ = [
    "Segments",
    "SliceCalibration",
    "SliceErrorRates",
    "SliceGaps",
    "SliceMix",
    "SliceTests",
    "SlicedRows",
    "Slicing",
    "bin_of",
    "bin_rows",
    "calibrate_slices",
    "find_segments",
    "row_table",
    "score_in",
    "slice_by",
    "slice_error_rates",
    "slice_gaps",
    "slice_mix",
    "slice_reliability",
    "slice_tests",
    "sliced_rows",
]
