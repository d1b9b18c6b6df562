"""Assertions for tests of probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from numpy.typing import ArrayLike

from calib.data.cells import ScoreCells
from calib.metrics import expected_calibration_error, ks_error, ks_test, log_loss
from calib.text import significant

__all__ = ["assert_calibrated"]

LIMITS: Mapping[str, tuple[str, Callable[[ScoreCells], float]]] = {
    "max_ks": ("KS error", ks_error),
    "max_ece": (
        "ECE",
        lambda cells: expected_calibration_error(cells, n_bins=15, strategy="quantile"),
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
) -> None:
    """Fail if probabilities exceed a limit of calibration, as `calib check` does.

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
    >>> assert_calibrated(y, [0.5] * 400, max_ks=0.02)
    Traceback (most recent call last):
    ...
    AssertionError: Not calibrated (400 rows): KS error 0.25 is above 0.02.
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
    broken = [text for name, bound in given.items() if (text := _broken(name, bound, cells))]
    if broken:
        raise AssertionError(f"Not calibrated ({cells.n_rows:,} rows): {'; '.join(broken)}.")


def _broken(name: str, bound: float, cells: ScoreCells) -> str:
    """A text about a limit that is exceeded, or "" if it is not exceeded."""
    label, measure = LIMITS[name]
    value, at_most = float(measure(cells)), name.startswith("max")
    # NaN exceeds every limit, because it fails both comparisons.
    if value <= bound if at_most else value >= bound:
        return ""
    shown = significant(value, 6)
    relation = "above" if at_most else "below"
    return f"{label} {shown} is {relation} {significant(bound, 6)}"


def __dir__() -> list[str]:
    return __all__
