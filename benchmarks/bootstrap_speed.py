"""Intervals of a million rows: CPU time of 1,000 resamples, and of a moved slider.

One thread. Beside it, what drawing the rows one by one costs, as people do it today.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable

import numpy as np

import calib
from benchmarks._clock import cpu_seconds
from calib import metrics
from calib.analysis import LiveAnalysis
from calib.crossfit.cross_fitted import losses, mean_estimate
from calib.curves.functions import ece_sensitivity
from calib.data.cells import ScoreCells
from calib.metrics import score_metrics
from calib.metrics.ranking import auc_estimate
from calib.numerics.arrays import single_thread
from calib.uncertainty import Bootstrap, fit_line, replicate, resample_rows, slope_estimate

N_ROWS, N_REPLICATES = 1_000_000, 1_000
# These take little time, and are enough to extrapolate from.
N_ROW_REPLICATES, N_METRIC_REPLICATES = 5, 250
# These limits are the goals of an analysis of a million rows.
MAX_TABLE_SECONDS, MAX_SLIDER_SECONDS, MAX_FIRST_SECONDS = 3.0, 0.015, 6.0
MAX_ALL_METRICS_SECONDS = 20.0  # CPU time counts, which is ten seconds on two cores.
MIN_ROW_RATIO = 50.0


def rows_one_by_one(outcome: np.ndarray, score: np.ndarray) -> None:
    """ECE, KS and AUC of resampled rows."""
    rng = np.random.default_rng(0)
    for _ in range(N_ROW_REPLICATES):
        at = rng.integers(len(score), size=len(score))
        cells = ScoreCells.from_arrays(outcome[at], score[at])
        metrics.expected_calibration_error(cells)
        metrics.ks_error(cells)
        metrics.auc(cells)


def intervals(held_out: calib.crossfit.cross_fitted.CrossFitted) -> None:
    """All intervals of the metric table, five methods."""
    cells = held_out.cells["uncalibrated"]
    drawn = resample_rows(held_out.rows, cells, n_replicates=N_REPLICATES)
    for key, scores in held_out.scores.items():
        replicate(drawn, scores)
        for values in losses(held_out, key).values():
            mean_estimate(values, held_out.rows, 0.95)
        rows = held_out.view(key)
        auc_estimate(rows, held_out.cells[key])
        slope_estimate(rows, held_out.cells[key])


def rebin(
    predictions: calib.Predictions, settings: calib.Settings, earlier: calib.Analysis
) -> None:
    """All methods under other bins: a method's are counted when they are looked at."""
    analysis = calib.analyze(predictions, settings, earlier=earlier)
    for method in analysis.methods.values():
        dict(method.metrics)
        method.reliability.frame()


def per_metric(cells: ScoreCells) -> dict[str, float]:
    """CPU seconds of 1,000 resamples of any registered metric, scaled up from a few."""
    bootstrap = Bootstrap(cells, n_replicates=N_METRIC_REPLICATES)
    scale = N_REPLICATES / N_METRIC_REPLICATES
    numbers = {key: _number(entry.compute) for key, entry in score_metrics().items()}
    penalty = metrics.integrated_calibration_index(cells).penalty
    numbers |= {
        "calibration_slope_intercept": _slope,
        "integrated_calibration_index": lambda of: (
            metrics.integrated_calibration_index(of, penalty=penalty).ici
        ),
    }
    return {
        key: scale * cpu_seconds(lambda metric=metric: bootstrap.estimate(metric))
        for key, metric in numbers.items()
    }


def _slope(cells: ScoreCells) -> float:
    fit = fit_line(cells)
    return math.nan if fit is None else float(fit.coefficients[1])


def _number(compute: Callable[..., object]) -> Callable[[ScoreCells], float]:
    """The first number of a metric."""

    def call(of: ScoreCells) -> float:
        result = compute(of)
        if dataclasses.is_dataclass(result):
            return float(getattr(result, dataclasses.fields(result)[0].name))
        return float(result)

    return call


def main() -> int:
    """Print the table; return how many promises are missed."""
    rng = np.random.default_rng(0)
    score = rng.random(N_ROWS)
    outcome = rng.random(N_ROWS) < score**1.3
    predictions = calib.Predictions.from_arrays(outcome, score)
    with single_thread():
        analyses: list[LiveAnalysis] = []
        first = cpu_seconds(lambda: analyses.append(calib.analyze(predictions)))
        analysis = analyses[0]
        held_out = analysis.held_out
        table = cpu_seconds(lambda: intervals(held_out))
        settings = [calib.Settings(n_bins=n) for n in range(16, 37)]
        rebin(predictions, settings[0], analysis)
        moved = min(cpu_seconds(lambda s=s: rebin(predictions, s, analysis)) for s in settings[1:])
        key = "uncalibrated"
        strip = cpu_seconds(lambda: ece_sensitivity(held_out.cells[key], held_out.replicates[key]))
        plain = (
            cpu_seconds(lambda: rows_one_by_one(outcome, score)) * N_REPLICATES / N_ROW_REPLICATES
        )
        others = per_metric(held_out.cells[key])
    ratio = len(held_out.scores) * plain / table
    print(f"{N_ROWS:,} rows, {N_REPLICATES:,} resamples, five methods, CPU seconds")
    print(f"first analysis                        {first:8.3f}  promised {MAX_FIRST_SECONDS:g}")
    print(f"all intervals of the metric table     {table:8.3f}  promised {MAX_TABLE_SECONDS:g}")
    print(f"moved bin slider, intervals included  {moved:8.4f}  promised {MAX_SLIDER_SECONDS:g}")
    print(f"sensitivity strip, 92 binnings        {strip:8.3f}")
    print(f"rows drawn one by one: {ratio:,.0f} times as long, promised {MIN_ROW_RATIO:g}")
    print("any metric through Bootstrap, percentile interval, one method:")
    for name, seconds in others.items():
        print(f"  {name:30s} {seconds:8.2f}")
    every = sum(others.values())
    print(f"  {'all of them':30s} {every:8.2f}  promised {MAX_ALL_METRICS_SECONDS:g}")
    missed = (
        first > MAX_FIRST_SECONDS,
        table > MAX_TABLE_SECONDS,
        moved > MAX_SLIDER_SECONDS,
        ratio < MIN_ROW_RATIO,
        every > MAX_ALL_METRICS_SECONDS,
    )
    return sum(missed)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
