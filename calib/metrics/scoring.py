"""Metrics as scorers of scikit-learn's model selection."""

from __future__ import annotations

from typing import Any

from calib.metrics.base import METRICS, Better


def scorer(key: str, part: str | None = None, **parameters: Any) -> Any:
    """A scorer of one metric for classifiers with ``predict_proba``; larger is better.

    Parameters
    ----------
    key : str
        Of a registered metric, such as "expected_calibration_error".
    part : str, optional
        Which number of a metric with several, such as "miscalibration" of "brier_decomposition";
        the first if None. It is passed on as it is.
    **parameters
        Of the metric.

    Returns
    -------
    callable
        ``scorer(estimator, X, y_true, sample_weight=None)``. Of a metric whose lower values are
        better the negative is scored, and of one that should be 0 or 1 the negative distance from
        that.

    Raises
    ------
    KeyError
        If no metric has this key.
    ValueError
        If the metric has no such part.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 2))
    >>> y = (x[:, 0] + rng.logistic(size=400) > 0).astype(int)
    >>> scoring = scorer("expected_calibration_error", n_bins=5)
    >>> (cross_val_score(LogisticRegression(), x, y, scoring=scoring) < 0).all()
    np.True_
    """
    from sklearn.metrics import make_scorer  # takes longer to import than all metrics

    entry = METRICS[key]

    def score(y_true: Any, y_prob: Any, *, sample_weight: Any = None) -> float:
        problem = entry.problem.from_arrays(y_true, y_prob, sample_weight)
        numbers = entry.numbers(problem, **parameters)
        if part is None:
            return _larger_is_better(next(iter(numbers.values())), entry.better)
        if part not in numbers:
            known = ", ".join(filter(None, numbers)) or "none"
            raise ValueError(f"part of {key} must be one of {known}, got {part!r}.")
        return numbers[part]

    return make_scorer(score, response_method="predict_proba")


def _larger_is_better(value: float, better: Better) -> float:
    if better == "lower":
        return -value
    if better == "zero":
        return -abs(value)
    if better == "one":
        return -abs(value - 1.0)
    return value
