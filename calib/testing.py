"""Assertions for tests of probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from numpy.typing import ArrayLike

from calib.analysis.summary import Finding
from calib.crossfit.cross_fitted import mean_estimate
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.data.views import BinaryView
from calib.metrics import expected_calibration_error, ks_error, ks_test, log_loss
from calib.metrics.proper import row_log_loss
from calib.numerics.binning import bin_edges
from calib.numerics.intervals import Estimate
from calib.uncertainty import replicate, resample_rows

__all__ = ["assert_calibrated"]

N_BINS = 15
CONFIDENCE_LEVEL = 0.95
LIMITS: Mapping[str, tuple[str, Callable[[ScoreCells], float]]] = {
    "max_ks": ("KS error", ks_error),
    "max_ece": (
        "ECE",
        lambda cells: expected_calibration_error(cells, n_bins=N_BINS, strategy="quantile"),
    ),
    "max_log_loss": ("log loss", log_loss),
    "min_p": ("p of the KS test", lambda cells: ks_test(cells).p_value),
}


def assert_calibrated(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    max_ks: float | None = None,
    max_ece: float | None = None,
    max_log_loss: float | None = None,
    min_p: float | None = None,
    strict_point: bool = False,
) -> None:
    """Fail if probabilities exceed a limit of calibration, as `calib check` does.

    A maximum is exceeded if the 95% interval of the error lies above it, so that chance alone
    rarely fails a test. The rows are independent.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    y_prob : array-like of shape (n,)
        Probabilities in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Weights, all above 0. Default: every row has weight 1.
    max_ks, max_ece, max_log_loss : float, optional
        Largest allowed KS error, ECE (15 bins of equal counts) and log loss.
    min_p : float, optional
        Smallest allowed p-value of the KS test.
    strict_point : bool
        If True, a maximum is exceeded if the value itself is above it.

    Raises
    ------
    AssertionError
        If a limit is exceeded. The message lists each such limit and the value.
    ValueError
        If no limit is given, a limit is not a number of at least 0, or an array contains a value
        that is not allowed.

    Examples
    --------
    >>> y, p = [0, 1, 0, 0] * 100, [0.25] * 400
    >>> assert_calibrated(y, p, max_ks=0.02)
    >>> assert_calibrated(y, [0.5] * 400, max_ks=0.02)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    AssertionError: Calibration of 400 rows: KS error 0.25 (95% CI 0.202 to 0.291) is ...
    >>> assert_calibrated(y, [0.5] * 400, max_ks=0.02, strict_point=True)
    Traceback (most recent call last):
    ...
    AssertionError: Calibration of 400 rows: KS error 0.25 is above 0.02.
    """
    __tracebackhide__ = True
    limits = {"max_ks": max_ks, "max_ece": max_ece, "max_log_loss": max_log_loss, "min_p": min_p}
    given = {name: bound for name, bound in limits.items() if bound is not None}
    if not given:
        raise ValueError(f"assert_calibrated must be given one of {', '.join(limits)}, got none.")
    for name, bound in given.items():
        if not 0.0 <= bound < math.inf:
            raise ValueError(f"{name} must be a number of at least 0, got {bound!r}.")
    cells = ScoreCells.from_arrays(y_true, y_prob, sample_weight)
    noisy = {name for name in given if name.startswith("max") and not strict_point}
    rows = Predictions.from_arrays(y_true, y_prob, sample_weight).view() if noisy else None
    findings = [_finding(name, bound, cells, rows) for name, bound in given.items()]
    broken = [finding.sentence for finding in findings if not finding.is_met]
    if broken:
        raise AssertionError(f"Calibration of {cells.n_rows:,} rows: {'; '.join(broken)}.")


def _finding(name: str, bound: float, cells: ScoreCells, rows: BinaryView | None) -> Finding:
    """A limit and the value of the scores, with its interval if the rows are given."""
    label, measure = LIMITS[name]
    value, at_most = float(measure(cells)), name.startswith("max")
    if rows is None or not at_most:
        return Finding(label, value, bound, at_most)
    return Finding.of_interval(label, _estimate(name, value, cells, rows), bound, CONFIDENCE_LEVEL)


def _estimate(name: str, value: float, cells: ScoreCells, rows: BinaryView) -> Estimate:
    """The value with the interval that an analysis computes for it."""
    if name == "max_log_loss":
        return mean_estimate(row_log_loss(rows.outcome, rows.score), rows, CONFIDENCE_LEVEL)
    drawn = replicate(resample_rows(rows, cells), rows.score)
    errors = drawn.ks
    if name == "max_ece":
        errors = drawn.ece(bin_edges(cells, N_BINS, "quantile"), cells)
    return errors.estimate(value, CONFIDENCE_LEVEL)


def __dir__() -> list[str]:
    return __all__
