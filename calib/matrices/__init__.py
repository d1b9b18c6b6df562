"""Matrices: multiclass calibrators on held-out rows, compared, and seen from every side."""

from calib.matrices.clipping import ClippedLoss, Clipping, compare_clipping
from calib.matrices.comparison import (
    LiveMulticlassComparison,
    MulticlassComparison,
    MulticlassResult,
    compare_multiclass,
)
from calib.matrices.defaults import default_methods, default_settings
from calib.matrices.held_out import MatrixCrossFitted

__all__ = [
    "ClippedLoss",
    "Clipping",
    "LiveMulticlassComparison",
    "MatrixCrossFitted",
    "MulticlassComparison",
    "MulticlassResult",
    "compare_clipping",
    "compare_multiclass",
    "default_methods",
    "default_settings",
]
