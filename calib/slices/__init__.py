"""Slices: whether the scores hold up in every part of the data."""

from calib.slices.apart import Apart, calibrate_apart
from calib.slices.bins import bin_of, bin_rows, row_table, score_in
from calib.slices.counting import aggregate
from calib.slices.error_rates import SliceErrorRates, slice_error_rates
from calib.slices.gaps import SliceGaps, slice_gaps
from calib.slices.matrix_apart import calibrate_matrix_apart
from calib.slices.mix import SliceMix, slice_mix
from calib.slices.reliability import slice_reliability
from calib.slices.slicing import Slicing, slice_by

__all__ = [
    "Apart",
    "SliceErrorRates",
    "SliceGaps",
    "SliceMix",
    "Slicing",
    "aggregate",
    "bin_of",
    "bin_rows",
    "calibrate_apart",
    "calibrate_matrix_apart",
    "row_table",
    "score_in",
    "slice_by",
    "slice_error_rates",
    "slice_gaps",
    "slice_mix",
    "slice_reliability",
]
