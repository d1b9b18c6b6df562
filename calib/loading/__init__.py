"""Data in: files, text and DataFrames become Predictions; every problem gets its sentence.

A page goes `read` -> `guess` -> `inspect` (and `checklist`) -> change the mapping, or take a
problem's repair -> `inspect` again -> `to_predictions`. A program calls `load`.
"""

from calib.loading.build import to_predictions
from calib.loading.checks import checklist, inspect
from calib.loading.columns import as_labels
from calib.loading.guessing import guess
from calib.loading.loader import for_test_file, load
from calib.loading.mapping import ColumnMapping
from calib.loading.problems import InputError, Problem
from calib.loading.reading import read
from calib.loading.table import Table

__all__ = [
    "ColumnMapping",
    "InputError",
    "Problem",
    "Table",
    "as_labels",
    "checklist",
    "for_test_file",
    "guess",
    "inspect",
    "load",
    "read",
    "to_predictions",
]
