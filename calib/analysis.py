"""The analysis: everything computed for one set of predictions and one set of settings.

Figures, pages and reports read it and never compute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from calib.calibrators import Calibrator
from calib.cells import ScoreCells
from calib.comparison import (
    Estimate,
    HeldOut,
    Progress,
    hold_out,
    losses,
    mean_estimate,
    quiet,
)
from calib.curves.cumulative import CumulativeCurve, cumulative_curve
from calib.curves.functions import (
    CalibrationFunction,
    CompactLogitCurve,
    calibration_function,
    compact_logit_curve,
    without_curve,
)
from calib.curves.reliability import ReliabilityCurve, reliability_curve
from calib.lazy import LazyMapping
from calib.matrices.comparison import MulticlassComparison, compare
from calib.matrices.defaults import default_settings
from calib.matrices.views import check_view_outcomes, hold_out_view
from calib.methods import method_of
from calib.metrics import (
    METRICS,
    TestResult,
    auc,
    certain_and_wrong,
    distinct_scores,
    expected_calibration_error,
    hosmer_lemeshow_test,
    ks_error,
    ks_test,
    kuiper_error,
    kuiper_test,
    spiegelhalter_test,
)
from calib.metrics.base import Better
from calib.metrics.ranking import row_auc
from calib.metrics.regression import line_test
from calib.multiclass import MulticlassCalibrator
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import Strategy, bin_edges
from calib.numerics.histogram import score_histogram
from calib.numerics.logistic import LogisticFit
from calib.numerics.threads import single_thread
from calib.numerics.transforms import default_epsilon
from calib.predictions import Predictions
from calib.settings import Settings
from calib.uncertainty import Errors, Replicates, fit_line, percentile_estimate
from calib.verdict import Recommendation, Verdict, judge, recommend

# Below, even resampled clusters do not show how clusters vary.
FEW_CLUSTERS = 40


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the metric table: its key, its heading, its meaning and its digits.

    `better` says which values are good: "lower", "higher", "one" (the nearer to 1), or "none";
    `convention` which choice was made where the field has several.
    """

    key: str
    label: str
    meaning: str
    digits: int = 4
    better: Better = "lower"
    convention: str = ""


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
    metrics : mapping of str to Estimate
        By column key: log_loss, brier_score, ece_uniform, ece_quantile, mce, ks_error, slope, auc,
        distinct.
    differences : mapping of str to Estimate
        log_loss, brier_score and auc minus those of the uncalibrated scores, paired by row.
    reliability : ReliabilityCurve
    histogram : ndarray of shape (50,)
        Weight of the scores in 50 equal intervals of [0, 1].
    cumulative : CumulativeCurve
    ks : TestResult
        KS test of the held-out scores, by cluster where groups are named.
    function : CalibrationFunction
        The map fitted on all calibration rows; no curve where whole rows of a matrix are mapped.
    tests : mapping of str to TestResult
        Other tests of the held-out scores: kuiper, spiegelhalter, hosmer_lemeshow, and line, the
        likelihood-ratio test of slope 1 and intercept 0. Only kuiper where groups are named: the
        others take rows as independent.
    """

    key: str
    label: str
    metrics: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]
    reliability: ReliabilityCurve
    histogram: FloatArray
    cumulative: CumulativeCurve
    ks: TestResult
    function: CalibrationFunction
    tests: Mapping[str, TestResult] = field(default_factory=dict)


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
        By key, "uncalibrated" first; of a matrix, in the view of the settings.
    fitted_reliability : ReliabilityCurve
        The uncalibrated scores of the rows that the maps were fitted on.
    compact_logit : CompactLogitCurve
    verdict : Verdict
    recommendation : Recommendation
    warnings : tuple of str
    held_out : HeldOut or None
        The held-out scores and fitted maps; None in an opened report.
    multiclass : MulticlassComparison or None
        The whole matrix, whatever the view; None where there is one score a row.
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
    held_out: HeldOut | None = None
    multiclass: MulticlassComparison | None = None

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
                    row |= _named(f"{name}_diff", method.differences[name])
            rows[key] = row
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("key")


def _named(name: str, estimate: Estimate) -> dict[str, object]:
    named: dict[str, object] = {name: estimate.value}
    if estimate.low == estimate.low:
        named |= {f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return named


def analyze(
    predictions: Predictions,
    settings: Settings | None = None,
    *,
    earlier: Analysis | None = None,
    progress: Progress = quiet,
) -> Analysis:
    """Analyse predictions: curves, metrics with intervals, fitted maps, verdict, recommendation.

    Parameters
    ----------
    predictions : Predictions
        A matrix is calibrated as a whole, and looked at in the view of the settings.
    settings : Settings, optional
        `default_settings` of the predictions if None.
    earlier : Analysis, optional
        An analysis of the same predictions under other settings: what does not change between the
        two is taken from it, so that moving a bin slider does not refit anything.
    progress : callable
        Called with (share done, what is being done).

    Raises
    ------
    ValueError
        If the rows hold one class only, or too few rows to cross-fit; if the view is not one of
        these classes.

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
    with single_thread():
        return _analyze(predictions, settings or default_settings(predictions), earlier, progress)


def _analyze(
    predictions: Predictions, settings: Settings, earlier: Analysis | None, progress: Progress
) -> Analysis:
    known = earlier if earlier and earlier.data.fingerprint == predictions.fingerprint else None
    held_out = known.held_out if known else None
    if known and known.settings == settings:
        return known
    if known and held_out and known.settings.fitting() == settings.fitting():
        if known.settings.confidence_level == settings.confidence_level:
            return _rebin(known, held_out, settings)
        evaluated = _evaluate(predictions, held_out, settings)
        if known.multiclass is None:
            return evaluated
        return _of_matrix(evaluated, compare(predictions, settings, quiet, known.multiclass))
    if predictions.is_matrix:
        return _analyze_matrix(predictions, settings, known, progress)
    view = predictions.view(settings.view)
    return _evaluate(predictions, hold_out(view, settings, progress, held_out), settings)


def _analyze_matrix(
    predictions: Predictions, settings: Settings, known: Analysis | None, progress: Progress
) -> Analysis:
    """The matrix is fitted and compared once; then it is looked at in the view of the settings."""
    check_view_outcomes(predictions, settings.view)
    compared = compare(predictions, settings, progress, known.multiclass if known else None)
    assert compared.held_out is not None
    held_out = hold_out_view(compared.held_out, predictions, settings, progress)
    return _of_matrix(_evaluate(predictions, held_out, settings), compared)


def _of_matrix(analysis: Analysis, compared: MulticlassComparison) -> Analysis:
    """The analysis of a view, with what is known of the whole matrix."""
    assert compared.held_out is not None
    results = compared.results
    advice = recommend(
        {key: result.metrics["log_loss"] for key, result in results.items()},
        {key: result.to_best for key, result in results.items()},
        compared.held_out.view("uncalibrated", "top:1").cells(),
        ("rows whose first class came true", "rows whose first class did not come true"),
        "held-out log loss of all classes",
    )
    warnings = dict.fromkeys((*compared.notes, *analysis.warnings))
    return replace(analysis, multiclass=compared, recommendation=advice, warnings=tuple(warnings))


def _evaluate(predictions: Predictions, held_out: HeldOut, settings: Settings) -> Analysis:
    methods = {key: _method(key, held_out, settings) for key in held_out.scores}
    scored = held_out.cells["uncalibrated"]
    rule = default_epsilon(held_out.fitted_on.score)
    epsilon = settings.epsilon or rule
    return Analysis(
        settings=settings,
        data=_summary(predictions, settings.view, held_out, scored),
        columns=_columns(settings),
        methods=methods,
        fitted_reliability=_reliability(held_out.fitted_on, settings, held_out.fitted_clusters),
        compact_logit=compact_logit_curve(
            epsilon, rule, _rows_outside(held_out.fitted_on, epsilon)
        ),
        verdict=judge(scored, methods["uncalibrated"].ks),
        recommendation=_recommendation(held_out, methods, settings),
        warnings=_warnings(held_out, scored),
        held_out=held_out,
    )


def _rebin(earlier: Analysis, held_out: HeldOut, settings: Settings) -> Analysis:
    """The same analysis with other bins: prefix sums make it independent of the number of rows.

    A page that shows one method does not wait for the others' bins.
    """
    return replace(
        earlier,
        settings=settings,
        columns=_columns(settings),
        methods=LazyMapping(
            earlier.methods, lambda key: _with_bins(earlier.methods[key], held_out, settings)
        ),
        fitted_reliability=_reliability(held_out.fitted_on, settings, held_out.fitted_clusters),
    )


def _method(key: str, held_out: HeldOut, settings: Settings) -> MethodResult:
    rows, cells = held_out.rows, held_out.cells[key]
    level = settings.confidence_level
    own = losses(held_out, key)
    reference = losses(held_out, "uncalibrated")
    curve = cumulative_curve(cells, confidence_level=level)
    line = fit_line(cells)
    return _with_bins(
        MethodResult(
            key=key,
            label=method_of(key).label,
            metrics={name: mean_estimate(values, rows, level) for name, values in own.items()}
            | _resampled(held_out, key, line, level),
            differences={
                name: mean_estimate(values - reference[name], rows, level)
                for name, values in own.items()
            }
            | _resampled_differences(held_out, key, level),
            reliability=_reliability(cells, settings, held_out.clusters(key)),
            histogram=score_histogram(cells.score, cells.weight),
            cumulative=curve if rows.group is None else _clustered_null(curve, held_out, key),
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


def _resampled(
    held_out: HeldOut, key: str, line: LogisticFit | None, level: float
) -> dict[str, Estimate]:
    cells, drawn = held_out.cells[key], held_out.replicates[key]
    slope = math.nan if line is None else float(line.coefficients[1])
    return {
        "ks_error": drawn.ks.estimate(ks_error(cells), level),
        "slope": percentile_estimate(slope, drawn.slope, level),
        "auc": percentile_estimate(auc(cells), drawn.auc, level),
        "distinct": Estimate(float(distinct_scores(cells))),
    }


def _resampled_differences(held_out: HeldOut, key: str, level: float) -> dict[str, Estimate]:
    # Not of calibration errors: differences of biased numbers have no interval that holds.
    cells, drawn = held_out.cells, held_out.replicates
    if not held_out.paired:
        own, reference = _row_auc(held_out, key), _row_auc(held_out, "uncalibrated")
        return {"auc": mean_estimate(own - reference, held_out.rows, level)}
    gain = auc(cells[key]) - auc(cells["uncalibrated"])
    change = drawn[key].auc - drawn["uncalibrated"].auc
    return {"auc": percentile_estimate(gain, change, level)}


def _row_auc(held_out: HeldOut, key: str) -> FloatArray:
    rows = held_out.view(key)
    return row_auc(held_out.cells[key], rows.outcome, rows.score)


def _ks_test(held_out: HeldOut, key: str) -> TestResult:
    """Rows of one cluster err together: their null is what resampled clusters show."""
    cells = held_out.cells[key]
    if held_out.rows.group is None:
        return ks_test(cells)
    return _clustered_test(ks_error(cells), held_out.replicates[key].ks)


def _clustered_test(value: float, errors: Errors) -> TestResult:
    null = f"resampled clusters, {len(errors.noise):,} draws"
    return TestResult(value, errors.p_value(value), null)


def _tests(held_out: HeldOut, key: str, line: LogisticFit | None) -> dict[str, TestResult]:
    cells = held_out.cells[key]
    if held_out.rows.group is not None:
        return {"kuiper": _clustered_test(kuiper_error(cells), held_out.replicates[key].kuiper)}
    return {
        "kuiper": kuiper_test(cells),
        "spiegelhalter": spiegelhalter_test(cells),
        "hosmer_lemeshow": hosmer_lemeshow_test(cells),
        "line": line_test(cells, line),
    }


def _clustered_null(curve: CumulativeCurve, held_out: HeldOut, key: str) -> CumulativeCurve:
    noise = held_out.replicates[key].ks.noise
    return replace(curve, null_half_width=float(np.quantile(noise, curve.confidence_level)))


def _with_bins(method: MethodResult, held_out: HeldOut, settings: Settings) -> MethodResult:
    cells, drawn = held_out.cells[method.key], held_out.replicates[method.key]
    n, level = settings.n_bins, settings.confidence_level

    def ece(strategy: Strategy) -> Estimate:
        value = expected_calibration_error(cells, n_bins=n, strategy=strategy)
        return drawn.ece(bin_edges(cells, n, strategy)).estimate(value, level)

    curve = _reliability(cells, settings, held_out.clusters(method.key))
    largest = drawn.mce(bin_edges(cells, n, settings.strategy))
    binned = {
        "ece_uniform": ece("uniform"),
        "ece_quantile": ece("quantile"),
        "mce": largest.estimate(float(np.abs(curve.gap).max()), level),
    }
    return replace(method, metrics=dict(method.metrics) | binned, reliability=curve)


def _reliability(
    cells: ScoreCells, settings: Settings, clusters: Replicates | None
) -> ReliabilityCurve:
    return reliability_curve(
        cells,
        n_bins=settings.n_bins,
        strategy=settings.strategy,
        confidence_level=settings.confidence_level,
        clusters=clusters,
    )


def _columns(settings: Settings) -> tuple[Column, ...]:
    def column(key: str, metric: str, detail: str = "", digits: int = 4) -> Column:
        entry = METRICS[metric]
        label = f"{entry.label}{detail}"
        return Column(key, label, entry.meaning, digits, entry.better, entry.convention)

    ece, n = "expected_calibration_error", settings.n_bins
    mce = f"Largest gap between observed frequency and mean score in {n} {settings.strategy} bins."
    return (
        column("log_loss", "log_loss"),
        column("brier_score", "brier_score"),
        column("ece_uniform", ece, f", {n} uniform bins"),
        column("ece_quantile", ece, f", {n} quantile bins"),
        Column("mce", f"MCE, {n} {settings.strategy} bins", mce),
        column("ks_error", "ks_error"),
        column("slope", "calibration_slope_intercept", digits=3),
        column("auc", "auc"),
        column("distinct", "distinct_scores", digits=0),
    )


def _summary(
    predictions: Predictions, view: str, held_out: HeldOut, scored: ScoreCells
) -> DataSummary:
    return DataSummary(
        name=predictions.name,
        fingerprint=predictions.fingerprint,
        score_name=predictions.score_name,
        outcome_name=predictions.outcome_name,
        positive_name=predictions.view_label(view),
        n_rows=len(held_out.rows),
        n_calibration=held_out.fitted_on.n_rows,
        n_positive=int(held_out.rows.outcome.sum()),
        base_rate=scored.base_rate,
        mean_score=scored.mean_score,
        n_distinct=len(scored),
        protocol=held_out.protocol,
        weighted=held_out.rows.weight is not None,
        set_aside=dict(predictions.set_aside),
    )


def _rows_outside(cells: ScoreCells, epsilon: float) -> int:
    outside = (cells.score < epsilon) | (cells.score > 1.0 - epsilon)
    return int(cells.rows[outside].sum())


def _recommendation(
    held_out: HeldOut, methods: Mapping[str, MethodResult], settings: Settings
) -> Recommendation:
    log_losses = {key: method.metrics["log_loss"] for key, method in methods.items()}
    best = min(log_losses, key=lambda key: log_losses[key].value)
    level = settings.confidence_level
    per_row = {key: losses(held_out, key)["log_loss"] for key in methods}
    to_best = {
        key: mean_estimate(values - per_row[best], held_out.rows, level)
        for key, values in per_row.items()
    }
    return recommend(log_losses, to_best, held_out.cells["uncalibrated"])


def _warnings(held_out: HeldOut, scored: ScoreCells) -> tuple[str, ...]:
    found = list(held_out.failures.values())
    if held_out.rows.group is not None:
        found.append(_clusters(len(np.unique(held_out.rows.group))))
    wrong = int(certain_and_wrong(scored))
    if wrong:
        scores = "certain score was" if wrong == 1 else "certain scores were"
        found.append(
            f"{wrong:,} {scores} wrong (exactly 0 or 1, and the other outcome came): "
            "how far log loss clips them decides its value."
        )
    if len(scored) < 20:
        found.append(
            f"Only {len(scored)} distinct scores: curves have that many points and no more."
        )
    return tuple(found)


def _clusters(n: int) -> str:
    few = f" {n:,} clusters are few: all of it is rough." if n < FEW_CLUSTERS else ""
    return (
        f"Rows come in {n:,} clusters. Tests, intervals, bars and bands go by cluster; only bars "
        f"of separate calibration rows and of single slices take rows as independent.{few}"
    )
