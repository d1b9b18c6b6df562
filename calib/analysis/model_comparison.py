"""Comparison of several models, or checkpoints of one, before and after calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calib.analysis import Analysis, Column, LiveAnalysis, analyze
from calib.crossfit.cross_fitted import LOSSES, losses, mean_estimate
from calib.crossfit.settings import Settings, with_view
from calib.data.base import Data, Progress, no_progress
from calib.data.predictions import are_same_rows, rows_of
from calib.data.views import BinaryView
from calib.metrics import matrix_metrics
from calib.numerics.arrays import FloatArray
from calib.numerics.intervals import Estimate, unpaired_difference
from calib.text import numbers_of, quoted

# Figure 2 of the paper shows these two beside the calibrated scores.
UNFITTED_METHODS = ("uncalibrated", "clip")
BINARY_COLUMNS = ("log_loss", "brier_score", "ks_error", "ece_quantile", "auc")
MATRIX_COLUMNS = ("log_loss", "brier_score", "ks_top_1", "ece_top_label", "accuracy")
Estimates = Mapping[str, Estimate]
ByMethod = Mapping[str, Estimates]


@dataclass(frozen=True, slots=True, eq=False)
class ModelScores:
    """Results of one model.

    Attributes
    ----------
    n_rows : int
        Number of rows that are scored.
    metrics : mapping of str to mapping of str to Estimate
        Metrics by method and column.
    differences : mapping of str to mapping of str to Estimate
        Differences from the best model with the same method, by method and column. Only for means
        over rows, such as the log loss.
    paired : mapping of str to bool
        Whether the rows are those of the best model with the same method, by method. Differences
        are then paired by row.
    """

    n_rows: int
    metrics: ByMethod
    differences: ByMethod
    paired: Mapping[str, bool]


@dataclass(frozen=True, slots=True, eq=False)
class BestModel:
    """The model with the lowest log loss, and how much higher those of the others are.

    Attributes
    ----------
    name : str
    log_losses : mapping of str to Estimate
        Held-out log loss of every model, in the given order.
    differences : mapping of str to Estimate
        Log losses of the other models minus that of the best.
    loss : str
        Name of the loss.
    confidence_level : float
        Of the intervals.
    """

    name: str
    log_losses: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]
    loss: str
    confidence_level: float

    @property
    def tied(self) -> tuple[str, ...]:
        """The others whose log loss is not significantly higher."""
        return tuple(name for name, change in self.differences.items() if change.low <= 0.0)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ModelComparison:
    """Metrics of several models, uncalibrated, clipped and calibrated, on held-out rows.

    Attributes
    ----------
    methods : tuple of str
        "uncalibrated", "clip" and the calibrator.
    columns : tuple of Column
        The metrics, in order.
    models : mapping of str to ModelScores
        Results by model name, in the given order.
    positions : tuple of float or None
        The number of each checkpoint, if the names are numbers.
    failures : mapping of str to str
        Models that could not be analysed, with the reason.
    settings : Settings
    """

    methods: tuple[str, ...]
    columns: tuple[Column, ...]
    models: Mapping[str, ModelScores]
    positions: tuple[float, ...] | None
    failures: Mapping[str, str]
    settings: Settings

    def best(self, method: str) -> str:
        """Name of the model with the lowest log loss, from which differences are computed.

        Parameters
        ----------
        method : str
            Key of the method with which all models are calibrated.
        """
        return _best({name: model.metrics for name, model in self.models.items()}, method)

    def best_model(self, method: str) -> BestModel:
        """The best model if all are calibrated by this method, and the differences from it."""
        best, key = self.best(method), self.columns[0].key
        return BestModel(
            best,
            {name: model.metrics[method][key] for name, model in self.models.items()},
            {
                name: model.differences[method][key]
                for name, model in self.models.items()
                if name != best
            },
            self.columns[0].label,
            self.settings.confidence_level,
        )

    def pairing(self, name: str, method: str) -> str:
        """How a model is compared with the best one: "reference", "paired" or "unpaired"."""
        if name == self.best(method):
            return "reference"
        return "paired" if self.models[name].paired[method] else "unpaired"

    def frame(self) -> pd.DataFrame:
        """One row per model and method. Columns: metric, metric_low, metric_high, _diff, ...

        Differences are from the model with the lowest log loss with the same method. The column
        `differences` is "paired" if the model scored the rows of that one.
        """
        rows = []
        for name, model in self.models.items():
            for method, metrics in model.metrics.items():
                row: dict[str, object] = {"model": name, "method": method}
                row["differences"] = self.pairing(name, method)
                for key, estimate in metrics.items():
                    row |= estimate.columns(key)
                for key, estimate in model.differences.get(method, {}).items():
                    row |= estimate.columns(f"{key}_diff")
                rows.append(row)
        return pd.DataFrame(rows).set_index(["model", "method"])


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """The metrics of one model, its losses, and the variance from fitting its calibrators.

    There is one loss per row, in the order of the rows. For counts there is one per entry. The
    analysis is not kept, because those of all models would need much memory.
    """

    source: Data
    given_rows: BinaryView | None  # It is None if the model has only counts.
    n_rows: int
    columns: tuple[Column, ...]
    metrics: ByMethod
    rows: Mapping[str, Mapping[str, FloatArray]]
    added_variance: Mapping[str, Mapping[str, float]]


def compare_models(
    models: Mapping[str, Data],
    settings: Settings | None = None,
    *,
    method: str = "",
    progress: Progress = no_progress,
) -> ModelComparison:
    """Compare models on held-out rows: uncalibrated, clipped and calibrated.

    Parameters
    ----------
    models : mapping of str to Predictions or Aggregate
        At least two models by name. Either all have one score per row and the same positive class,
        or all have the same classes, in any order. Differences are paired by row if the rows are in
        the same order. Those between aggregates are not paired, because an aggregate has no rows.
    settings : Settings, optional
        Settings of all analyses. The methods are not used. Default: `calib.default_settings`.
    method : str, optional
        Key of the calibrator. Default: "spline", and "temperature" for matrices.
    progress : callable
        Called as ``progress(share, step)``: the share that is done, 0 to 1, and the current step.

    Raises
    ------
    ValueError
        If there are fewer than two models, they have different classes, or none can be analysed.

    References
    ----------
    Lucena 2018, "Spline-based probability calibration", Figure 2, arXiv:1809.07751.

    Examples
    --------
    >>> import numpy as np
    >>> from calib import Predictions
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> models = {
    ...     name: Predictions.from_arrays(y, p**power) for name, power in (("1", 1), ("2", 2))
    ... }
    >>> found = compare_models(models, method="beta")
    >>> squared = found.models["2"]
    >>> found.best("uncalibrated"), found.positions
    ('1', (1.0, 2.0))
    >>> squared.paired["beta"], squared.differences["uncalibrated"]["log_loss"].low > 0.0
    (True, True)
    """
    models = _alike(models)
    first = next(iter(models.values()))
    chosen = method or ("temperature" if first.is_matrix else "spline")
    methods = tuple(dict.fromkeys((*UNFITTED_METHODS, chosen)))
    common = with_view(replace(settings or Settings(), methods=methods), first)
    scored: dict[str, _Scored] = {}
    failures: dict[str, str] = {}
    for number, (name, predictions) in enumerate(models.items()):
        try:
            report = _progress_of(progress, number, len(models), name)
            scored[name] = _scored(analyze(predictions, common, progress=report))
        except ValueError as error:
            failures[name] = str(error)
    if not scored:
        raise ValueError(f"No model can be analysed: {next(iter(failures.values()))}")
    columns = next(iter(scored.values())).columns
    metrics = {name: one.metrics for name, one in scored.items()}
    best = {method: scored[_best(metrics, method)] for method in methods}
    results = {
        name: _relative_to(one, best, common.confidence_level) for name, one in scored.items()
    }
    return ModelComparison(methods, columns, results, numbers_of(list(results)), failures, common)


def compared_method(analysis: Analysis) -> str:
    """The `method` of `compare_models` for a report of this analysis: what it recommends."""
    method = analysis.recommendation.method
    return "" if method in UNFITTED_METHODS else method


def compare_recommended(analyses: Mapping[str, LiveAnalysis]) -> BestModel:
    """Compare analysed models by the held-out log loss of the scores that each of them recommends.

    Raises ValueError if the models have different classes.
    """
    _alike({name: analysis.source for name, analysis in analyses.items()})
    methods = {
        name: analysis.recommendation.method or "uncalibrated"
        for name, analysis in analyses.items()
    }
    scored = {name: _scored(analysis, methods[name]) for name, analysis in analyses.items()}
    losses = {name: one.metrics[methods[name]]["log_loss"] for name, one in scored.items()}
    best = min(losses, key=lambda name: losses[name].value)
    level = analyses[best].settings.confidence_level
    differences = {
        name: _differences(
            (one, methods[name]),
            (scored[best], methods[best]),
            level,
            paired=are_same_rows(scored[best].source, one.source),
        )["log_loss"]
        for name, one in scored.items()
        if name != best
    }
    return BestModel(best, losses, differences, scored[best].columns[0].label, level)


def _best(metrics: Mapping[str, ByMethod], method: str) -> str:
    """The name of the model with the lowest log loss of a method."""
    losses = {name: of[method]["log_loss"].value for name, of in metrics.items()}
    return min(losses, key=lambda name: losses[name])


def _alike(models: Mapping[str, Data]) -> dict[str, Data]:
    """The same models with their classes in the order of the first one."""
    if len(models) < 2:
        raise ValueError(f"models must hold at least 2 models, got {len(models)}.")
    kinds = {name: one.n_classes if one.is_matrix else 1 for name, one in models.items()}
    if len(set(kinds.values())) > 1:
        counts = ", ".join(f"{n} of {name}" for name, n in list(kinds.items())[:3])
        raise ValueError(f"models must all have the same number of score columns, got {counts}.")
    (reference, first), *_ = models.items()
    return {name: _in_order(name, one, reference, first) for name, one in models.items()}


def _in_order(name: str, data: Data, reference: str, first: Data) -> Data:
    if not data.is_matrix:
        positive, first_positive = (one.view_label(one.default_view) for one in (data, first))
        if positive != first_positive:
            raise ValueError(
                f"models must have the same positive class, got {quoted(first_positive)} of "
                f"{quoted(reference)} and {quoted(positive)} of {quoted(name)}."
            )
        return data
    own_names, names = data.class_names, first.class_names
    if set(own_names) != set(names):
        unlike = next(one for one in (*own_names, *names) if (one in own_names) != (one in names))
        raise ValueError(
            f"models must have the same classes, got {quoted(unlike)} in only one of "
            f"{quoted(reference)} and {quoted(name)}."
        )
    if own_names == names:
        return data
    place = np.array([names.index(one) for one in own_names])
    rows = rows_of(data)
    scores = rows.scores[:, np.argsort(place)]
    return replace(rows, outcome=place[rows.outcome], scores=scores, class_names=names)


def _progress_of(progress: Progress, number: int, total: int, name: str) -> Progress:
    def report(share: float, text: str) -> None:
        progress((number + share) / total, f"{name}: {text}")

    return report


def _scored(analysis: LiveAnalysis, *methods: str) -> _Scored:
    """What is compared of a model: these methods, or all."""
    held_out, matrix = analysis.held_out, analysis.multiclass
    keys = methods or tuple(analysis.methods)
    if matrix is not None:
        as_given, scored = matrix.held_out.as_given, {key: matrix.scored[key] for key in keys}
        rows = {
            key: {name: as_given(values) for name, values in one.rows.items()}
            for key, one in scored.items()
        }
        share_sq = matrix.held_out.fold_points[1]
        added = {
            key: {name: one.fold_variance(None, name, share_sq) for name in one.rows}
            for key, one in scored.items()
        }
    else:
        rows = {key: dict(losses(held_out, key)) for key in keys}
        if analysis.source.has_rows:
            rows = {
                key: {name: held_out.row_values(by_entry) for name, by_entry in values.items()}
                for key, values in rows.items()
            }
        added = {
            key: {name: held_out.fold_variance(key, loss) for name, loss in LOSSES.items()}
            for key in keys
        }
    columns = _columns(analysis)
    results = analysis.methods if matrix is None else matrix.results
    return _Scored(
        source=analysis.source,
        given_rows=held_out.counted.given,
        n_rows=analysis.data.n_rows,
        columns=columns,
        metrics={
            key: {column.key: results[key].metrics[column.key] for column in columns}
            for key in keys
        },
        rows=rows,
        added_variance=added,
    )


def _columns(analysis: Analysis) -> tuple[Column, ...]:
    if analysis.multiclass is None:
        columns_by_key = {column.key: column for column in analysis.columns}
        return tuple(columns_by_key[key] for key in BINARY_COLUMNS)
    metrics = matrix_metrics()
    columns = ((key, metrics[key]) for key in MATRIX_COLUMNS)
    return tuple(Column(key, one.label, one.meaning, better=one.better) for key, one in columns)


def _relative_to(scored: _Scored, best: Mapping[str, _Scored], level: float) -> ModelScores:
    """The metrics of one model, and their differences from the best model of each method."""
    paired = {key: are_same_rows(of.source, scored.source) for key, of in best.items()}
    return ModelScores(
        n_rows=scored.n_rows,
        metrics=scored.metrics,
        differences={
            method: _differences((scored, method), (of, method), level, paired=paired[method])
            for method, of in best.items()
        },
        paired=paired,
    )


def _differences(
    of: tuple[_Scored, str], best: tuple[_Scored, str], level: float, *, paired: bool
) -> Estimates:
    """The losses of a model with a method minus those of the best model with its method."""
    scored = of[0]
    rows, others = (one.rows[method] for one, method in (of, best))
    if scored is best[0]:
        return dict.fromkeys(rows, Estimate(0.0, 0.0, 0.0))
    if not paired or scored.given_rows is None:
        first, second = (one.metrics[method] for one, method in (best, of))
        return {key: unpaired_difference(first[key], second[key]) for key in rows}
    # Both models are fitted on the same rows. Adding the variances as if they were independent
    # makes the interval rather too wide than too narrow.
    noise = [one.added_variance[method] for one, method in (of, best)]
    added = {key: sum(one[key] for one in noise) for key in rows}
    return {
        key: mean_estimate(values - others[key], scored.given_rows, level, added[key])
        for key, values in rows.items()
    }
