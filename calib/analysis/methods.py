"""One method's part of an analysis: its numbers, its tests, its curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calib.analysis.differences import Reference, area_estimate, contributions, differences
from calib.analysis.metric_table import added_metrics
from calib.analysis.results import MethodResult
from calib.calibrators import CALIBRATORS, Calibrator, MatrixCalibrator
from calib.core.cells import ScoreCells
from calib.core.estimate import Estimate
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.estimates import LOSSES, mean_estimate
from calib.crossfit.settings import Settings
from calib.curves.cumulative import CumulativeCurve, cumulative_curve
from calib.curves.functions import (
    CalibrationFunction,
    calibration_function,
    without_curve,
)
from calib.curves.reliability import ReliabilityCurve, reliability_curve
from calib.metrics import (
    METRICS,
    Metric,
    TestResult,
    distinct_scores,
    expected_calibration_error,
    hosmer_lemeshow_test,
    ks_error,
    ks_test,
    kuiper_test,
    spiegelhalter_test,
)
from calib.metrics.by_cluster import clustered_tests, resampled_test
from calib.metrics.regression import line_test
from calib.numerics.binning import Strategy, bin_edges, score_histogram
from calib.numerics.logistic import LogisticFit
from calib.numerics.score_grid import edges_on_grid
from calib.numerics.threads import over_cores
from calib.uncertainty import Bootstrap, Errors, Replicates, fit_line, slope_estimate

BINNING = ("n_bins", "strategy")
# Resamples of metrics that the settings add: each costs a call of the metric.
N_ADDED = 400


def method_results(held_out: CrossFitted, settings: Settings) -> dict[str, MethodResult]:
    """All results of every method."""
    reference = Reference.of(held_out)
    return over_cores(
        lambda key: _method_result(key, held_out, settings, reference), held_out.scores
    )


def _method_result(
    key: str, held_out: CrossFitted, settings: Settings, reference: Reference
) -> MethodResult:
    rows, cells, drawn = held_out.view(key), held_out.cells[key], held_out.clusters(key)
    level = settings.confidence_level
    own = contributions(held_out, key, reference)
    curve = cumulative_curve(cells, confidence_level=level)
    line = fit_line(cells)
    change = differences(held_out, key, reference, own, level)
    area = area_estimate(held_out, key, reference, own["auc"], change["auc"], level)
    metrics = {name: mean_estimate(own[name], rows, level) for name in LOSSES} | {
        "ks_error": held_out.replicates[key].ks.estimate(ks_error(cells), level),
        "slope": slope_estimate(rows, cells, line, confidence_level=level),
        "auc": area,
        "distinct": Estimate(float(_distinct(key, held_out))),
    }
    bounds = held_out.resolution.get(key, {})
    return with_bins(
        MethodResult(
            key=key,
            label=CALIBRATORS[key].label,
            metrics={
                name: replace(estimate, resolution=bounds.get(name, 0.0))
                for name, estimate in metrics.items()
            },
            differences=change,
            reliability=reliability(cells, settings, drawn),
            histogram=score_histogram(cells.score, cells.weight),
            cumulative=curve if drawn is None else _clustered_null(curve, drawn.ks),
            ks=_ks_test(held_out, key),
            function=_function(held_out.maps[key]),
            tests=_tests(held_out, key, line),
        ),
        held_out,
        settings,
    )


def _distinct(key: str, held_out: CrossFitted) -> int:
    """Distinct scores by one calibrator: those of several are tied within folds alone.

    Of a matrix they are counted as they come.
    """
    fitted = held_out.maps[key]
    if held_out.fold is None or not isinstance(fitted, Calibrator):
        return distinct_scores(held_out.cells[key])
    return len(np.unique(fitted.predict(held_out.fitted_on.score)))


def _function(fitted: Calibrator | MatrixCalibrator) -> CalibrationFunction:
    if isinstance(fitted, Calibrator):
        return calibration_function(fitted)
    return without_curve(fitted.formula())


def _ks_test(held_out: CrossFitted, key: str) -> TestResult:
    by_row = ks_test(held_out.cells[key])
    drawn = held_out.clusters(key)
    return by_row if drawn is None else resampled_test(by_row, drawn.ks)


def _tests(held_out: CrossFitted, key: str, line: LogisticFit | None) -> dict[str, TestResult]:
    cells, drawn = held_out.cells[key], held_out.clusters(key)
    kuiper = kuiper_test(cells)
    if drawn is not None:
        by_cluster = clustered_tests(held_out.view(key), cells, line)
        return {"kuiper": resampled_test(kuiper, drawn.kuiper)} | by_cluster
    return {
        "kuiper": kuiper,
        "spiegelhalter": spiegelhalter_test(cells),
        "hosmer_lemeshow": hosmer_lemeshow_test(cells),
        "line": line_test(cells, line),
    }


def _clustered_null(curve: CumulativeCurve, noise: Errors) -> CumulativeCurve:
    half = float(np.quantile(noise.noise, curve.confidence_level))
    return replace(curve, null_half_width=max(curve.null_half_width, half))


def with_bins(method: MethodResult, held_out: CrossFitted, settings: Settings) -> MethodResult:
    """The same results with the bins of these settings; nothing else depends on them."""
    cells, drawn = held_out.cells[method.key], held_out.replicates[method.key]
    n, level = settings.n_bins, settings.confidence_level

    def ece(strategy: Strategy) -> Estimate:
        value = expected_calibration_error(cells, n_bins=n, strategy=strategy)
        return drawn.ece(bin_edges(cells, n, strategy), cells).estimate(value, level)

    curve = reliability(cells, settings, held_out.clusters(method.key))
    largest = drawn.mce(bin_edges(cells, n, settings.strategy))
    binned = {
        "ece_uniform": ece("uniform"),
        "ece_quantile": ece("quantile"),
        "mce": largest.estimate(float(np.abs(curve.gap).max()), level),
    }
    bounds = held_out.resolution.get(method.key)
    if bounds:
        # Each inner edge of two bins may part the rows of a cell, which then count on one side.
        parted = bounds["mean_score"] + 2.0 * (n - 1) * bounds["edge"]
        whole = method.key == "uncalibrated" and edges_on_grid(n)
        least = float(curve.weight.min() / curve.weight.sum())
        off = {
            "ece_uniform": bounds["mean_score"] if whole else parted,
            "ece_quantile": parted,
            "mce": (bounds["mean_score"] + 2.0 * bounds["edge"]) / least,
        }
        binned = {name: replace(own, resolution=off[name]) for name, own in binned.items()}
    metrics = dict(method.metrics) | binned | _added(method, held_out, settings)
    return replace(method, metrics=metrics, reliability=curve)


def _added(method: MethodResult, held_out: CrossFitted, settings: Settings) -> dict[str, Estimate]:
    """The metrics that the settings add, each with the interval that it declares."""
    keys = [
        key
        for key in added_metrics(settings)
        if key not in method.metrics or METRICS[key].takes("n_bins")
    ]
    if not keys:
        return {}
    drawn = Bootstrap.of_rows(
        held_out.view(method.key), n_replicates=N_ADDED, random_state=settings.seed
    )
    level = settings.confidence_level

    def estimate(metric: Metric) -> Estimate:
        bins = {name: getattr(settings, name) for name in BINNING if metric.takes(name)}

        def value(cells: ScoreCells) -> float:
            return metric.number(cells, **bins)

        if metric.interval is None:
            return Estimate(value(held_out.cells[method.key]))
        found = drawn.estimate(value, confidence_level=level, kind=metric.interval)
        low, high = np.clip((found.low, found.high), *metric.bounds).tolist()
        return replace(found, low=low, high=high)

    return {key: estimate(METRICS[key]) for key in keys}


def reliability(
    cells: ScoreCells, settings: Settings, clusters: Replicates | None
) -> ReliabilityCurve:
    """The reliability curve that the settings ask for."""
    return reliability_curve(
        cells,
        n_bins=settings.n_bins,
        strategy=settings.strategy,
        confidence_level=settings.confidence_level,
        clusters=clusters,
        band=settings.band,
    )
