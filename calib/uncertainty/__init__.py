"""Uncertainty: resamples of rows or clusters, and intervals."""

from calib.numerics.estimate import Estimate
from calib.uncertainty.bootstrap import Bootstrap
from calib.uncertainty.fold_noise import (
    FoldScores,
    fold_variance,
    function_error,
    function_interval,
    unseen_base_rate_variance,
)
from calib.uncertainty.replicates import Errors, Replicates, replicate, replicate_clusters
from calib.uncertainty.rows import RowResamples, resample_rows
from calib.uncertainty.slope import fit_line, slope_estimate

__all__ = [
    "Bootstrap",
    "Errors",
    "Estimate",
    "FoldScores",
    "Replicates",
    "RowResamples",
    "fit_line",
    "fold_variance",
    "function_error",
    "function_interval",
    "replicate",
    "replicate_clusters",
    "resample_rows",
    "slope_estimate",
    "unseen_base_rate_variance",
]
