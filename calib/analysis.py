"""The analysis: everything computed for one set of predictions and one set of settings.

Figures, pages and reports read it and never compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from calib.calibrators import CALIBRATORS
from calib.cells import ScoreCells
from calib.comparison import (
    Estimate,
    HeldOut,
    Progress,
    hold_out,
    losses,
    mean_estimate,
    paired_differences,
)
from calib.curves.cumulative import CumulativeCurve, cumulative_curve
from calib.curves.functions import (
    CalibrationFunction,
    CompactLogitCurve,
    calibration_function,
    compact_logit_curve,
)
from calib.curves.reliability import ReliabilityCurve, reliability_curve
from calib.metrics.binned import expected_calibration_error
from calib.metrics.cumulative import TestResult, ks_error, ks_test
from calib.metrics.ranking import auc
from calib.numerics.histogram import score_histogram
from calib.numerics.arrays import FloatArray
from calib.numerics.transforms import default_epsilon
from calib.predictions import Predictions
from calib.settings import Settings
from calib.verdict import Recommendation, Verdict, judge, recommend


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the metric table: its key, its heading, its meaning and its digits."""

    key: str
    label: str
    meaning: str
    digits: int = 4


@dataclass(frozen=True, slots=True)
class DataSummary:
    """What the data are, in numbers.

    Attributes
    ----------
    name, fingerprint, score_name, outcome_name, positive_name : str
    n_rows, n_calibration : int
        Rows that are scored, and rows that the drawn maps were fitted on.
    n_positive : int
        Positive rows among those that are scored.
    base_rate, mean_score : float
        Weighted observed frequency, and weighted mean score.
    n_distinct : int
        Distinct scores.
    protocol : {"test rows", "folds"}
    weighted : bool
    set_aside : mapping of str to int
        Reason -> rows of the file that were left out.
    """

    name: str
    fingerprint: str
    score_name: str
    outcome_name: str
    positive_name: str
    n_rows: int
    n_calibration: int
    n_positive: int
    base_rate: float
    mean_score: float
    n_distinct: int
    protocol: str
    weighted: bool
    set_aside: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class MethodResult:
    """All results of one method, on held-out rows.

    Attributes
    ----------
    key, label : str
    cells : ScoreCells
        The held-out calibrated scores.
    metrics : mapping of str to Estimate
        By column key: log_loss, brier_score, ece_uniform, ece_quantile, mce, ks_error, auc.
    differences : mapping of str to Estimate
        log_loss and brier_score minus those of the uncalibrated scores, paired by row.
    reliability : ReliabilityCurve
    histogram : ndarray of shape (50,)
        Weight of the scores in 50 equal intervals of [0, 1].
    cumulative : CumulativeCurve
    ks : TestResult
        KS test of the held-out scores.
    function : CalibrationFunction
        The map fitted on all calibration rows.
    """

    key: str
    label: str
    cells: ScoreCells
    metrics: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]
    reliability: ReliabilityCurve
    histogram: FloatArray
    cumulative: CumulativeCurve
    ks: TestResult
    function: CalibrationFunction


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """Everything computed for one set of predictions and one set of settings.

    Attributes
    ----------
    settings : Settings
    data : DataSummary
    columns : tuple of Column
        Columns of the metric table, in order.
    methods : mapping of str to MethodResult
        By key, "uncalibrated" first.
    fitted_reliability : ReliabilityCurve
        The uncalibrated scores of the rows that the maps were fitted on.
    compact_logit : CompactLogitCurve
    verdict : Verdict
    recommendation : Recommendation
    warnings : tuple of str
    """

    settings: Settings
    data: DataSummary
    columns: tuple[Column, ...]
    methods: Mapping[str, MethodResult]
    fitted_reliability: ReliabilityCurve
    compact_logit: CompactLogitCurve
    verdict: Verdict
    recommendation: Recommendation
    warnings: tuple[str, ...]

    @property
    def uncalibrated(self) -> MethodResult:
        """Result of the scores as they are."""
        return self.methods["uncalibrated"]

    def table(self) -> pd.DataFrame:
        """One row a method; columns metric, and metric_low / metric_high / metric_diff ...

        Columns without an interval or a difference are left out.
        """
        rows = {}
        for key, method in self.methods.items():
            row: dict[str, object] = {"method": method.label}
            for column in self.columns:
                name = column.key
                row |= _named(name, method.metrics[name])
                if name in method.differences:
                    row |= _named(f"{name}_diff", method.differences[name], value=True)
            rows[key] = row
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("key")


def _named(name: str, estimate: Estimate, value: bool = True) -> dict[str, object]:
    named: dict[str, object] = {name: estimate.value}
    if estimate.low == estimate.low:
        named |= {f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return named


def analyze(
    predictions: Predictions,
    settings: Settings | None = None,
    *,
    held_out: HeldOut | None = None,
    progress: Progress = lambda share, text: None,
) -> Analysis:
    """Analyse predictions: curves, metrics with intervals, fitted maps, verdict, recommendation.

    Parameters
    ----------
    predictions : Predictions
    settings : Settings, optional
        Defaults if None.
    held_out : HeldOut, optional
        Result of an earlier `hold_out` with settings that agree in ``settings.fitting()``; saves
        the fitting.
    progress : callable
        Called with (share done, what is being done).

    Raises
    ------
    ValueError
        If the rows hold one class only, or too few rows to cross-fit.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p**2
    >>> analysis = analyze(Predictions.from_arrays(y, p))
    >>> analysis.verdict.kind
    'too high'
    """
    settings = settings or Settings()
    view = predictions.view(settings.view)
    held_out = held_out or hold_out(view, settings, progress)
    methods = {key: _method(key, held_out, settings) for key in held_out.scores}
    scored = methods["uncalibrated"].cells
    rule = default_epsilon(held_out.fitted_on.score)
    epsilon = settings.epsilon or rule
    return Analysis(
        settings=settings,
        data=_summary(predictions, held_out, scored),
        columns=_columns(settings),
        methods=methods,
        fitted_reliability=_reliability(held_out.fitted_on, settings),
        compact_logit=compact_logit_curve(
            epsilon, rule, _rows_outside(held_out.fitted_on, epsilon)
        ),
        verdict=judge(scored),
        recommendation=_recommendation(held_out, methods, settings),
        warnings=_warnings(predictions, held_out, scored),
    )


def _method(key: str, held_out: HeldOut, settings: Settings) -> MethodResult:
    rows = held_out.rows
    cells = ScoreCells.from_arrays(rows.outcome, held_out.scores[key], rows.weight)
    level = settings.confidence_level
    means = {
        name: mean_estimate(values, rows, level) for name, values in losses(held_out, key).items()
    }
    return MethodResult(
        key=key,
        label=CALIBRATORS[key].label,
        cells=cells,
        metrics=means | _point_metrics(cells, settings),
        differences=paired_differences(held_out, key, "uncalibrated", level),
        reliability=_reliability(cells, settings),
        histogram=score_histogram(cells.score, cells.weight),
        cumulative=cumulative_curve(cells, confidence_level=level),
        ks=ks_test(cells),
        function=calibration_function(held_out.maps[key]),
    )


def _point_metrics(cells: ScoreCells, settings: Settings) -> dict[str, Estimate]:
    n = settings.n_bins
    values = {
        "ece_uniform": expected_calibration_error(cells, n_bins=n, strategy="uniform"),
        "ece_quantile": expected_calibration_error(cells, n_bins=n, strategy="quantile"),
        "mce": expected_calibration_error(cells, n_bins=n, strategy=settings.strategy, norm="max"),
        "ks_error": ks_error(cells),
        "auc": auc(cells),
    }
    return {name: Estimate(value) for name, value in values.items()}
