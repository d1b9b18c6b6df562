"""Comparing multiclass calibrators on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from calib.comparison import Estimate, Progress, mean_estimate, quiet
from calib.multiclass.base import MULTICLASS_CALIBRATORS
from calib.multiclass.held_out import MulticlassHeldOut, hold_out_multiclass
from calib.multiclass.metrics import MULTICLASS_METRICS, ROW_METRICS, view_metrics
from calib.numerics.arrays import FloatArray
from calib.predictions import BinaryView, Predictions

DEFAULT_METHODS = (
    "uncalibrated",
    "temperature",
    "vector",
    "dirichlet",
    "ks_spline",
    "isotonic",
    "beta",
    "spline",
)
# m (m + 1) numbers to fit: beyond, minutes and not seconds.
MOST_CLASSES_OF_FULL = 50
FULL = ("matrix", "dirichlet", "dirichlet_l2")


@dataclass(frozen=True, slots=True, eq=False)
class MulticlassResult:
    """All metrics of one method, on held-out rows.

    Attributes
    ----------
    key, label : str
    metrics : mapping of str to Estimate
        By the keys of `MULTICLASS_METRICS`; log_loss, brier_score and accuracy have intervals.
    differences : mapping of str to Estimate
        log_loss, brier_score and accuracy minus those of the uncalibrated scores, paired by row.
    to_best : Estimate
        Log loss minus that of the method with the least, paired by row.
    """

    key: str
    label: str
    metrics: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]
    to_best: Estimate


@dataclass(frozen=True, slots=True, eq=False)
class MulticlassComparison:
    """Every method's metrics on held-out rows.

    Attributes
    ----------
    results : mapping of str to MulticlassResult
        By key, "uncalibrated" first.
    best : str
        Key of the method with the least log loss.
    recommended : str
        Key of the simplest method whose log loss cannot be told from the least.
    notes : tuple of str
        What to know before believing it: methods that failed or were left out, unseen classes.
    held_out : MulticlassHeldOut
        The fitted maps; ``held_out.matrix(key)`` and ``held_out.view(key, view)`` are the
        calibrated scores.
    n_bins : int
    confidence_level : float
    """

    results: Mapping[str, MulticlassResult]
    best: str
    recommended: str
    notes: tuple[str, ...]
    held_out: MulticlassHeldOut
    n_bins: int
    confidence_level: float

    def frame(self) -> pd.DataFrame:
        """One row a method; columns metric, and metric_low / metric_high / metric_diff ..."""
        rows = {}
        for key, result in self.results.items():
            row: dict[str, object] = {"method": result.label}
            for name in MULTICLASS_METRICS:
                row |= _named(name, result.metrics[name])
                if name in result.differences:
                    row |= _named(f"{name}_diff", result.differences[name])
            rows[key] = row
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("key")


def _named(name: str, estimate: Estimate) -> dict[str, object]:
    named: dict[str, object] = {name: estimate.value}
    if estimate.low == estimate.low:
        named |= {f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return named


def compare_multiclass(
    predictions: Predictions,
    methods: Sequence[str] | None = None,
    *,
    n_folds: int = 5,
    seed: int = 0,
    confidence_level: float = 0.95,
    n_bins: int = 15,
    progress: Progress = quiet,
) -> MulticlassComparison:
    """Compare multiclass calibrators on rows that they were not fitted on.

    Parameters
    ----------
    predictions : Predictions
        With named calibration and test rows the one are fitted and the other scored; else rows
        are cross-fitted in stratified folds, by group where groups are named.
    methods : sequence of str, optional
        Keys of `MULTICLASS_CALIBRATORS`; "uncalibrated" is always among them, and first. The
        default leaves out Dirichlet calibration above 50 classes.
    n_folds : int
        At least 2. Unused with named test rows.
    seed : int
        Of the folds, and of the methods that draw.
    confidence_level : float
        In (0, 1).
    n_bins : int
        Uniform bins of both ECE.
    progress : callable
        Called with (share done, what is being done).

    Returns
    -------
    MulticlassComparison

    Raises
    ------
    ValueError
        If a parameter is out of its range, the rows to fit on hold one class only, or there are
        too few rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(0.0, 1.0, (900, 3))
    >>> y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    >>> p = np.exp(2.0 * z)  # twice as sure as it should be
    >>> predictions = Predictions.from_arrays(y, p / p.sum(axis=1, keepdims=True))
    >>> found = compare_multiclass(predictions, ("temperature", "isotonic"))
    >>> found.recommended, found.frame()["log_loss"].round(3).to_dict()
    ('temperature', {'uncalibrated': 0.943, 'temperature': 0.848, 'isotonic': 0.967})
    """
    _check(n_folds, confidence_level, n_bins)
    chosen, notes = _methods(methods, predictions.n_classes)
    held_out = hold_out_multiclass(predictions, chosen, n_folds, seed, progress)
    unseen = _unseen_note(held_out.unseen, predictions.class_names)
    weighted = _weighted_rows(held_out)
    rows, views = {}, {}
    for number, key in enumerate(held_out.maps):
        progress(number / len(held_out.maps), f"Scoring {MULTICLASS_CALIBRATORS[key].label}")
        matrix = held_out.matrix(key)
        rows[key] = {name: row(matrix, held_out.label) for name, row in ROW_METRICS.items()}
        views[key] = view_metrics(matrix, held_out.label, held_out.weight, n_bins)

    def mean(values: FloatArray) -> Estimate:
        return mean_estimate(values, weighted, confidence_level)

    log_losses = {key: mean(rows[key]["log_loss"]).value for key in rows}
    best = min(log_losses, key=lambda key: log_losses[key])
    results = {
        key: MulticlassResult(
            key=key,
            label=MULTICLASS_CALIBRATORS[key].label,
            metrics={name: mean(values) for name, values in rows[key].items()}
            | {name: Estimate(value) for name, value in views[key].items()},
            differences={
                name: mean(values - rows["uncalibrated"][name])
                for name, values in rows[key].items()
            },
            to_best=mean(rows[key]["log_loss"] - rows[best]["log_loss"]),
        )
        for key in rows
    }
    return MulticlassComparison(
        results=results,
        best=best,
        recommended=_simplest(results),
        notes=(*notes, *unseen, *held_out.failures.values()),
        held_out=held_out,
        n_bins=n_bins,
        confidence_level=confidence_level,
    )


def _check(n_folds: int, confidence_level: float, n_bins: int) -> None:
    if n_folds < 2:
        raise ValueError(f"n_folds must be at least 2, got {n_folds}.")
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"confidence_level must fulfil 0 < level < 1, got {confidence_level}.")
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}.")


def _methods(
    methods: Sequence[str] | None, n_classes: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The methods to fit, "uncalibrated" first, and a note on those left out by default."""
    if methods is None:
        if n_classes <= MOST_CLASSES_OF_FULL:
            return DEFAULT_METHODS, ()
        note = (
            f"Dirichlet calibration was left out: with {n_classes:,} classes it fits "
            f"{n_classes * (n_classes + 1):,} numbers. Ask for it by name."
        )
        return tuple(key for key in DEFAULT_METHODS if key not in FULL), (note,)
    unknown = [key for key in methods if key not in MULTICLASS_CALIBRATORS]
    if unknown:
        known = ", ".join(MULTICLASS_CALIBRATORS)
        raise ValueError(f"methods must be among {known}, got {unknown[0]!r}.")
    return tuple(dict.fromkeys(("uncalibrated", *methods))), ()


def _unseen_note(unseen: tuple[int, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    if not unseen:
        return ()
    shown = ", ".join(names[k] for k in unseen[:3]) + (", ..." if len(unseen) > 3 else "")
    classes = "class has" if len(unseen) == 1 else "classes have"
    return (
        f"{len(unseen):,} {classes} no row to calibrate on ({shown}): nothing could be learnt "
        "about them.",
    )


def _weighted_rows(held_out: MulticlassHeldOut) -> BinaryView:
    """The weights and groups of the scored rows, as means and their intervals want them."""
    correct = held_out.label == held_out.scores.argmax(axis=1)
    top = held_out.scores.max(axis=1)
    return BinaryView(correct, top, held_out.weight, None, held_out.group)


def _simplest(results: Mapping[str, MulticlassResult]) -> str:
    """The simplest method whose log loss cannot be told from the least one."""
    as_good = [key for key, result in results.items() if result.to_best.low <= 0.0]
    return min(as_good, key=lambda key: MULTICLASS_CALIBRATORS[key].simplicity)
