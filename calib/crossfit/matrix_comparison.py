"""Comparison of multiclass calibrators on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from calib.calibrators import CALIBRATORS
from calib.crossfit.cross_fitted import (
    CLEAR_GAIN,
    MethodMetrics,
    by_loss,
    in_order,
    lowest_first,
    mean_estimate,
    metric_table,
    simplest_within,
)
from calib.crossfit.matrix import MatrixFits, fit_matrix
from calib.crossfit.matrix_views import replicate_view
from calib.crossfit.settings import Settings, default_methods
from calib.data.base import Progress, no_progress
from calib.data.predictions import Predictions
from calib.data.views import ScoreMatrix
from calib.metrics import ece_top_label, ks_top_1, ks_top_2, ks_within_2, matrix_metrics
from calib.metrics.by_class import Classwise, class_table
from calib.metrics.matrix import ROW_METRICS
from calib.numerics.arrays import FloatArray
from calib.numerics.intervals import Estimate
from calib.numerics.transforms import MACHINE_EPSILON
from calib.text import number, plural
from calib.uncertainty import fold_variance
from calib.uncertainty.replicates import Errors

# Papers report both ECEs with 15 bins. A fixed number needs no new matrix when a slider moves.
N_BINS = 15
# A log-likelihood that is better by at most this many nats may be so by chance. Methods of more
# classes have more parameters, so chance moves theirs by more.
CLEAR_GAIN_PER_CLASS = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class MulticlassResult(MethodMetrics):
    """All metrics of one method on held-out rows.

    The keys of `metrics` are those of `calib.metrics.matrix_metrics`. All except the classwise ECE
    have intervals. Differences are those of log_loss, brier_score and accuracy.

    Attributes
    ----------
    to_best : Estimate
        Log loss minus the log loss of the best method, paired by row.
    class_p_values : ndarray of shape (m,)
        p-values of the KS tests of the classes, NaN for classes that are not tested.
    """

    to_best: Estimate
    class_p_values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Values of one method's calibrated matrix from which metrics are computed.

    Attributes
    ----------
    rows : mapping of str to ndarray of shape (n,)
        Log loss, Brier score and correctness of each row, in `MatrixFits.order`.
    views : mapping of str to float
        The other metrics.
    classes : Classwise
    errors : mapping of str to Errors
        Values in resamples, for metrics that have an interval.
    folds : mapping of str to ndarray of shape (k, m)
        The values of `rows` for `MatrixFits.fold_points`, by the calibrator of every fold.
    """

    rows: Mapping[str, FloatArray]
    views: Mapping[str, float]
    classes: Classwise
    errors: Mapping[str, Errors]
    folds: Mapping[str, FloatArray]

    def fold_variance(self, other: Scored | None, name: str, share_sq: FloatArray) -> float:
        """The `calib.uncertainty.fold_variance` of the difference from another method."""
        values = self.folds[name]
        if len(values) == 0:
            return 0.0
        return fold_variance(values if other is None else values - other.folds[name], share_sq)

    def estimates(self, confidence_level: float) -> dict[str, Estimate]:
        """The metrics of views, with their intervals if they have one."""
        return {
            name: self.errors[name].estimate(value, confidence_level)
            if name in self.errors
            else Estimate(value, noise_floor=float(self.classes.ece_noise_floor.mean()))
            for name, value in self.views.items()
        }


@dataclass(frozen=True, slots=True, eq=False)
class MulticlassComparison:
    """Metrics of all methods on held-out rows.

    Attributes
    ----------
    results : mapping of str to MulticlassResult
        Results by method key, "uncalibrated" first, then by log loss.
    best : str
        Key of the method with the lowest log loss.
    recommended : str
        Key of the simplest method that is nearly as good as the best, see `choose_for_classes`.
    notes : tuple of str
        Limitations of the comparison: methods that failed or were left out, unseen classes.
    n_bins : int
        Number of uniform bins of both ECEs.
    confidence_level : float
        Confidence level of all intervals.
    """

    results: Mapping[str, MulticlassResult]
    best: str
    recommended: str
    notes: tuple[str, ...]
    n_bins: int
    confidence_level: float

    def frame(self) -> pd.DataFrame:
        """One row per method, the lowest log loss first.

        Columns: metric, metric_low, metric_high, metric_diff, ...
        """
        ranked = {key: self.results[key] for key in by_loss(self.results)}
        return metric_table(ranked, matrix_metrics())


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False)
class LiveMulticlassComparison(MulticlassComparison):
    """A comparison with its fitted calibrators. A comparison that was read from a report has none.

    Attributes
    ----------
    held_out : MatrixFits
        The fitted calibrators. ``held_out.matrix(key)`` and ``held_out.view(key, view)`` are the
        calibrated scores.
    scored : mapping of str to Scored
        The values from which the metrics are computed.
    """

    held_out: MatrixFits
    scored: Mapping[str, Scored]

    def aggregates(self) -> MulticlassComparison:
        """The same comparison without the scores of rows."""
        parts = {field.name: getattr(self, field.name) for field in fields(MulticlassComparison)}
        return MulticlassComparison(**parts)


def compare_multiclass(
    predictions: Predictions,
    methods: Sequence[str] | None = None,
    *,
    n_folds: int = 5,
    seed: int = 0,
    confidence_level: float = 0.95,
    progress: Progress = no_progress,
) -> LiveMulticlassComparison:
    """Compare multiclass calibrators on held-out rows.

    If the predictions name calibration and test rows, calibrators are fitted on the calibration
    rows and evaluated on the test rows. Otherwise they are cross-fitted: each row is scored by a
    calibrator that was fitted on the other folds. Folds are stratified by class; if groups are
    named, each group stays in one fold.

    Parameters
    ----------
    predictions : Predictions
        A score matrix.
    methods : sequence of str, optional
        Keys of `calib.calibrators.CALIBRATORS`. "uncalibrated" is always added as the first.
        Default: the methods of `calib.default_settings`.
    n_folds : int
        Number of folds, 2 to 20. Not used if test rows or folds are named.
    seed : int
        Seed of the folds, and of methods that use random numbers.
    confidence_level : float
        Confidence level of the intervals, in (0, 1).
    progress : callable
        Called as ``progress(share, step)``: the share that is done, 0 to 1, and the current step.

    Raises
    ------
    ValueError
        If a parameter is out of its range, the rows to fit on are all of one class, or there are
        too few rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(0.0, 1.0, (900, 3))
    >>> y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    >>> p = np.exp(2.0 * z)  # overconfident: the log-odds are twice too large
    >>> predictions = Predictions.from_arrays(y, p / p.sum(axis=1, keepdims=True))
    >>> found = compare_multiclass(predictions, ("temperature", "isotonic"))
    >>> found.recommended, found.frame()["log_loss"].round(3).to_dict()
    ('temperature', {'temperature': 0.847, 'isotonic': 0.859, 'uncalibrated': 0.943})
    """
    settings = Settings(
        methods=default_methods(predictions) if methods is None else tuple(methods),
        n_folds=n_folds,
        seed=seed,
        confidence_level=confidence_level,
    )
    return compare(fit_matrix(predictions, settings, progress), settings, progress)


def compare(
    held_out: MatrixFits,
    settings: Settings,
    progress: Progress = no_progress,
    earlier: LiveMulticlassComparison | None = None,
) -> LiveMulticlassComparison:
    """Compare fitted methods. Results of an earlier comparison of the same data are reused.

    If only the view or the number of bins changes, nothing is computed again. If a method is
    added, only this method is scored.
    """
    scored = {}
    for step, (key, fitted) in enumerate(held_out.calibrators.items()):
        if earlier and earlier.held_out.calibrators.get(key) is fitted:
            scored[key] = earlier.scored[key]
            continue
        label = CALIBRATORS[key].words(matrix=True)[0]
        progress(step / len(held_out.calibrators), f"Scoring {label}")
        scored[key] = _score(held_out, key)
    results = in_order(_results(held_out, scored, settings.confidence_level))
    unseen = _unseen_note(held_out.unseen, held_out.class_names)
    return LiveMulticlassComparison(
        results=results,
        best=by_loss(results)[0],
        recommended=choose_for_classes(
            {key: result.metrics["log_loss"].value for key, result in results.items()},
            held_out.top_label.cells().in_effective_rows().total_weight,
            len(held_out.class_names),
        ),
        notes=(*unseen, *_clipped_note(held_out.scored, results), *held_out.failures.values()),
        n_bins=N_BINS,
        confidence_level=settings.confidence_level,
        held_out=held_out,
        scored=scored,
    )


def choose_for_classes(losses: Mapping[str, float], n_rows: float, n_classes: int) -> str:
    """The simplest method whose held-out log-likelihood is nearly that of the best.

    `losses` are mean log losses of `n_rows` effective rows. A difference of at most 2 nats plus
    half a nat per class counts as none. No simpler or other rule that was tried has a clearly lower
    mean regret (`python -m benchmarks quality_classes`).

    >>> losses = {"uncalibrated": 0.6, "temperature": 0.503, "matrix": 0.5}
    >>> [choose_for_classes(losses, n, 4) for n in (40.0, 1000.0, 2000.0)]
    ['uncalibrated', 'temperature', 'matrix']
    """
    return simplest_within((CLEAR_GAIN + CLEAR_GAIN_PER_CLASS * n_classes) / n_rows, losses)


def _clipped_note(scored: ScoreMatrix, results: Mapping[str, MulticlassResult]) -> Iterator[str]:
    """How many rows have a score that the log loss raises, and what it is without this."""
    true = scored.scores[np.arange(len(scored.label)), scored.label]
    clipped = np.flatnonzero(true < MACHINE_EPSILON)
    if not len(clipped):
        return
    weight = np.ones(len(true)) if scored.weight is None else scored.weight
    above_zero = clipped[true[clipped] > 0.0]
    # An exact sum does not depend on the order of the rows.
    raised = math.fsum(weight[above_zero] * np.log(MACHINE_EPSILON / true[above_zero])) / math.fsum(
        weight
    )
    loss = number(results["uncalibrated"].metrics["log_loss"].value + raised, 4)
    is_least = "at least " if len(above_zero) < len(clipped) else ""
    verb = "has" if len(clipped) == 1 else "have"
    yield (
        f"{plural(len(clipped), 'row')} {verb} a score below 2.2e-16 for the true class. Log "
        "losses raise such scores to 2.2e-16. Without this, the multiclass log loss of the "
        f"uncalibrated scores is {is_least}{loss}."
    )


def _score(held_out: MatrixFits, key: str) -> Scored:
    matrix = held_out.in_order(key)
    cells = matrix.leading_cells
    drawn = {
        name: replicate_view(view, cells[name], held_out.settings.seed)
        for name, view in matrix.leading.items()
    }
    classes = class_table(matrix, held_out.class_names, N_BINS)
    return Scored(
        rows={name: row(matrix.scores, matrix.label) for name, row in ROW_METRICS.items()},
        views={
            "ece_top_label": ece_top_label(matrix, n_bins=N_BINS),
            "ece_classwise": float(classes.ece.mean()),
            "ks_top_1": ks_top_1(matrix),
            "ks_top_2": ks_top_2(matrix),
            "ks_within_2": ks_within_2(matrix),
        },
        classes=classes,
        errors={
            "ece_top_label": drawn["top:1"].ece(np.linspace(0.0, 1.0, N_BINS + 1), cells["top:1"]),
            "ks_top_1": drawn["top:1"].ks,
            "ks_top_2": drawn["top:2"].ks,
            "ks_within_2": drawn["within:2"].ks,
        },
        folds=_by_fold(held_out, key),
    )


def _by_fold(held_out: MatrixFits, key: str) -> dict[str, FloatArray]:
    label = held_out.scored.label[held_out.fold_points[0]]
    matrices = held_out.fold_matrices(key)
    by_fold = [{name: row(one, label) for name, row in ROW_METRICS.items()} for one in matrices]
    return {name: np.array([rows[name] for rows in by_fold]) for name in ROW_METRICS}


def _results(
    held_out: MatrixFits, scored: Mapping[str, Scored], level: float
) -> dict[str, MulticlassResult]:
    rows, share_sq = held_out.top_label, held_out.fold_points[1]

    def difference(method: Scored, other: Scored, name: str) -> Estimate:
        added = method.fold_variance(other, name, share_sq)
        return mean_estimate(method.rows[name] - other.rows[name], rows, level, added)

    means = {
        key: {name: mean_estimate(values, rows, level) for name, values in one.rows.items()}
        for key, one in scored.items()
    }
    reference = scored["uncalibrated"]
    best = scored[lowest_first({key: mean["log_loss"] for key, mean in means.items()})[0]]
    return {
        key: MulticlassResult(
            key=key,
            label=CALIBRATORS[key].words(matrix=True)[0],
            metrics=dict(means[key]) | one.estimates(level),
            differences={name: difference(one, reference, name) for name in one.rows},
            to_best=difference(one, best, "log_loss"),
            class_p_values=one.classes.tested,
        )
        for key, one in scored.items()
    }


def _unseen_note(unseen: tuple[int, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    if not unseen:
        return ()
    shown = ", ".join(names[k] for k in unseen[:3]) + (", ..." if len(unseen) > 3 else "")
    if len(unseen) == 1:
        return (f"Class {shown} has no calibration rows, so it cannot be calibrated.",)
    none = f"{len(unseen):,} classes have no calibration rows ({shown})"
    return (f"{none}, so they cannot be calibrated.",)


def log_losses(
    results: Mapping[str, MulticlassResult],
) -> tuple[dict[str, Estimate], dict[str, Estimate], dict[str, Estimate]]:
    """Log losses, differences to the best, and changes, by key."""
    return (
        {key: result.metrics["log_loss"] for key, result in results.items()},
        {key: result.to_best for key, result in results.items()},
        {key: result.differences["log_loss"] for key, result in results.items()},
    )
