"""Uncertainty: resamples of rows or clusters, and intervals."""

from calib.numerics.intervals import Estimate
from calib.uncertainty.bootstrap import (
    Bootstrap,
    FoldScores,
    fit_line,
    fold_variance,
    function_error,
    function_interval,
    slope_estimate,
    unseen_base_rate_variance,
)
from calib.uncertainty.replicates import (
    Errors,
    Replicates,
    RowResamples,
    replicate,
    replicate_cells,
    replicate_clusters,
    resample_rows,
)

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
    "replicate_cells",
    "replicate_clusters",
    "resample_rows",
    "slope_estimate",
    "unseen_base_rate_variance",
]
