"""One method's part of an analysis: its numbers, its tests, its curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from calib.analysis.results import MethodResult
from calib.calibrators import Calibrator
from calib.cells import ScoreCells
from calib.comparison import (
    LOSSES,
    Estimate,
    HeldOut,
    losses,
    mean_estimate,
)
from calib.curves.cumulative import CumulativeCurve, cumulative_curve
from calib.curves.functions import (
    CalibrationFunction,
    calibration_function,
    without_curve,
)
from calib.curves.reliability import ReliabilityCurve, reliability_curve
from calib.methods import method_of
from calib.metrics import (
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
from calib.metrics.ranking import row_auc
from calib.metrics.ranking_intervals import auc_difference, auc_estimate
from calib.metrics.regression import line_test
from calib.multiclass import MulticlassCalibrator
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import Strategy, bin_edges
from calib.numerics.histogram import score_histogram
from calib.numerics.logistic import LogisticFit
from calib.numerics.threads import over_cores
from calib.settings import Settings
from calib.uncertainty import Errors, Replicates, fit_line, slope_estimate


def method_results(held_out: HeldOut, settings: Settings) -> dict[str, MethodResult]:
    """All results of every method."""
    reference = _contributions(held_out, "uncalibrated")
    return over_cores(
        lambda key: _method_result(key, held_out, settings, reference), held_out.scores
    )


def _contributions(held_out: HeldOut, key: str) -> dict[str, FloatArray]:
    """What each row adds to log loss, Brier score and AUC."""
    rows = held_out.view(key)
    return losses(held_out, key) | {"auc": row_auc(held_out.cells[key], rows.outcome, rows.score)}


def _method_result(
    key: str, held_out: HeldOut, settings: Settings, reference: Mapping[str, FloatArray]
) -> MethodResult:
    rows, cells, drawn = held_out.view(key), held_out.cells[key], held_out.clusters(key)
    level = settings.confidence_level
    own = reference if key == "uncalibrated" else _contributions(held_out, key)
    curve = cumulative_curve(cells, confidence_level=level)
    line = fit_line(cells)
    return with_bins(
        MethodResult(
            key=key,
            label=method_of(key).label,
            metrics={name: mean_estimate(own[name], rows, level) for name in LOSSES}
            | {
                "ks_error": held_out.replicates[key].ks.estimate(ks_error(cells), level),
                "slope": slope_estimate(rows, cells, line, confidence_level=level),
                "auc": auc_estimate(rows, cells, own["auc"], confidence_level=level),
                "distinct": Estimate(float(distinct_scores(cells))),
            },
            # Not of calibration errors: differences of biased numbers have no interval that holds.
            differences={
                name: mean_estimate(own[name] - reference[name], rows, level) for name in LOSSES
            }
            | {"auc": auc_difference(rows, own["auc"], reference["auc"], confidence_level=level)},
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


def _function(fitted: Calibrator | MulticlassCalibrator) -> CalibrationFunction:
    if isinstance(fitted, Calibrator):
        return calibration_function(fitted)
    return without_curve(fitted.formula())


def _ks_test(held_out: HeldOut, key: str) -> TestResult:
    by_row = ks_test(held_out.cells[key])
    drawn = held_out.clusters(key)
    return by_row if drawn is None else resampled_test(by_row, drawn.ks)


def _tests(held_out: HeldOut, key: str, line: LogisticFit | None) -> dict[str, TestResult]:
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


def with_bins(method: MethodResult, held_out: HeldOut, settings: Settings) -> MethodResult:
    """The same results with the bins of these settings; nothing else depends on them."""
    cells, drawn = held_out.cells[method.key], held_out.replicates[method.key]
    n, level = settings.n_bins, settings.confidence_level

    def ece(strategy: Strategy) -> Estimate:
        value = expected_calibration_error(cells, n_bins=n, strategy=strategy)
        return drawn.ece(bin_edges(cells, n, strategy)).estimate(value, level)

    curve = reliability(cells, settings, held_out.clusters(method.key))
    largest = drawn.mce(bin_edges(cells, n, settings.strategy))
    binned = {
        "ece_uniform": ece("uniform"),
        "ece_quantile": ece("quantile"),
        "mce": largest.estimate(float(np.abs(curve.gap).max()), level),
    }
    return replace(method, metrics=dict(method.metrics) | binned, reliability=curve)


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
    )
