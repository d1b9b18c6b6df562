"""Read files, text and DataFrames as Predictions. Each problem is described in a sentence.

A program calls `load` or `load_models`. A page calls `read` -> `guess` -> `assess`, which finds
problems and makes the predictions of every model. Then a person changes the mapping or accepts the
repair of a problem, and the page calls `assess` again.
"""

from calib.data.file_options import Columns, FileFormat
from calib.loading.building.models import Assessment, assess
from calib.loading.columns import as_classes, as_labels, as_ranges, folded, from_ranges
from calib.loading.guessing.roles import guess
from calib.loading.loader import for_test_file, load, load_models
from calib.loading.problems import Choice, InputError, InputWarning, Problem
from calib.loading.reading.budget import MAX_BYTES
from calib.loading.reading.reader import read
from calib.loading.table import Table

__all__ = [
    "MAX_BYTES",
    "Assessment",
    "Choice",
    "Columns",
    "FileFormat",
    "InputError",
    "InputWarning",
    "Problem",
    "Table",
    "as_classes",
    "as_labels",
    "as_ranges",
    "assess",
    "folded",
    "for_test_file",
    "from_ranges",
    "guess",
    "load",
    "load_models",
    "read",
]
