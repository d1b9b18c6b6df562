"""Means over rows with intervals, and the choice of the recommended method."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import pandas as pd

from calib.calibrators import CALIBRATORS
from calib.crossfit.cross_fitted import CrossFitted
from calib.data.views import BinaryView
from calib.metrics.proper import row_brier, row_log_loss
from calib.numerics.arrays import FloatArray
from calib.numerics.clusters import cluster_effect, unit_sums
from calib.numerics.estimate import Estimate
from calib.numerics.intervals import mean_interval, normal_quantile
from calib.text import rounded, without_scale

# A log-likelihood that is better by at most this many nats may be so by chance.
CLEAR_GAIN = 2.0
# With fewer effective rows the best of several methods is often best by chance.
MANY_ROWS = 2000
# A member with this share of a stack predicts as well as the stack, and is simpler.
MAIN_WEIGHT = 0.8
# The same rows in another order give a sum that agrees to this many digits.
EXACT_DIGITS = 12


Result = TypeVar("Result", bound="MethodMetrics")


@dataclass(frozen=True, slots=True, eq=False)
class MethodMetrics:
    """Metrics of one method on held-out rows.

    Attributes
    ----------
    key, label : str
    metrics : mapping of str to Estimate
    differences : mapping of str to Estimate
        Differences from the uncalibrated scores, paired by row.
    """

    key: str
    label: str
    metrics: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]

    @property
    def short_label(self) -> str:
        """The label in running sentences, and where there is no room for the scale."""
        return without_scale(self.label)


def lowest_first(losses: Mapping[str, Estimate]) -> tuple[str, ...]:
    """Keys by their loss. Losses that differ by rounding alone are equal, and keep their order."""
    return tuple(sorted(losses, key=lambda key: rounded(losses[key].value, EXACT_DIGITS)))


def by_loss(results: Mapping[str, MethodMetrics]) -> tuple[str, ...]:
    """Keys by held-out log loss, the lowest first: the order of methods in tables."""
    return lowest_first({key: one.metrics["log_loss"] for key, one in results.items()})


def in_order(results: Mapping[str, Result]) -> dict[str, Result]:
    """Results by held-out log loss after the uncalibrated scores, with which all are compared.

    It is the order of methods in controls, legends and sentences.
    """
    others = [key for key in by_loss(results) if key != "uncalibrated"]
    return {key: results[key] for key in ("uncalibrated", *others)}


def metric_table(methods: Mapping[str, MethodMetrics], names: Iterable[str]) -> pd.DataFrame:
    """One row per method. Columns: metric, metric_low, metric_high, metric_diff, ..."""
    names, rows = tuple(names), {}
    for key, method in methods.items():
        row: dict[str, object] = {"method": method.label}
        for name in names:
            row |= method.metrics[name].columns(name)
            if name in method.differences:
                row |= method.differences[name].columns(f"{name}_diff")
        rows[key] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("key")


def mean_estimate(
    values: FloatArray, view: BinaryView, confidence_level: float, added_variance: float = 0.0
) -> Estimate:
    """Weighted mean of per-row values with its interval, by cluster if groups are named.

    It is a Student interval with Hall's correction for skewness, see `calib.numerics.intervals`.

    `added_variance` is the variance of the mean that the values do not contain, for independent
    rows: that of calibrators fitted in folds, see `calib.uncertainty.fold_variance`.
    """
    weight = view.weights
    total = float(weight.sum())
    mean = float(weight @ values) / total
    residual = weight * (values - mean)
    units = unit_sums(residual, view.group)
    low, high = mean_interval(mean, units, total, confidence_level, view.multiplicity)
    if added_variance > 0.0:
        effect = 1.0 if view.group is None else max(1.0, cluster_effect(residual, units))
        half = normal_quantile(confidence_level) * math.sqrt(effect * added_variance)
        low, high = mean - math.hypot(mean - low, half), mean + math.hypot(high - mean, half)
    return Estimate(mean, low, high)


LOSSES: Mapping[str, Callable[..., FloatArray]] = {
    "log_loss": row_log_loss,
    "brier_score": row_brier,
}


def losses(held_out: CrossFitted, key: str) -> dict[str, FloatArray]:
    rows = held_out.view(key)
    return {
        "log_loss": row_log_loss(rows.outcome, rows.score, rows.log_odds),
        "brier_score": row_brier(rows.outcome, rows.score),
    }


def choose(
    losses: Mapping[str, Estimate],
    n_rows: float,
    weights: Mapping[str, float],
    *,
    tests_reject: bool,
) -> str:
    """The recommended method, by held-out log losses per row of `n_rows` effective rows.

    From 2,000 rows on, it is the simplest method whose log-likelihood is within 2 nats of the best
    one's. With fewer rows the best of several methods is often best by chance. Then the scores are
    kept if the stack gains at most 2 nats, or nothing where tests reject calibration; otherwise it
    is the stack, or its member with at least 80% of its `weights`. Without a stack the rule for
    many rows holds. `python -m benchmarks quality` compares the rule with every single method.

    >>> losses = {"uncalibrated": Estimate(0.6), "beta": Estimate(0.5004), "stack": Estimate(0.5)}
    >>> mixed = {"beta": 0.6, "spline": 0.4}
    >>> [choose(losses, n, mixed, tests_reject=True) for n in (3000.0, 1000.0)]
    ['beta', 'stack']
    >>> choose(losses, 1000.0, {"beta": 0.9, "spline": 0.1}, tests_reject=True)
    'beta'
    """
    loss = {key: n_rows * estimate.value for key, estimate in losses.items()}
    if not stack_decides(losses, n_rows):
        return simplest_within(CLEAR_GAIN, loss)
    if loss["uncalibrated"] - loss["stack"] <= (0.0 if tests_reject else CLEAR_GAIN):
        return "uncalibrated"
    main = [key for key in losses if weights.get(key, 0.0) >= MAIN_WEIGHT and key != "uncalibrated"]
    return main[0] if main else "stack"


def stack_decides(losses: Mapping[str, Estimate], n_rows: float) -> bool:
    """Whether `choose` follows its rule for few rows: keep the scores or take the stack."""
    return n_rows < MANY_ROWS and "stack" in losses


def simplest_within(margin: float, losses: Mapping[str, float]) -> str:
    """The simplest method whose loss is at most the margin above the lowest.

    Among equally simple methods (Platt and logistic have two parameters) the loss decides.
    """
    near = [key for key in losses if losses[key] <= min(losses.values()) + margin]
    return min(near, key=lambda key: (CALIBRATORS[key].simplicity, losses[key]))
