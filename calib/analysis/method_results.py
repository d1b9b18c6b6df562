"""Results of one method, and its calibration function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib.analysis.analysis import Analysis, MethodResult
from calib.analysis.summary import added_metrics
from calib.analysis.verdict import calibration_tests
from calib.calibrators import CALIBRATORS, Calibrator, MatrixCalibrator
from calib.crossfit.cross_fitted import LOSSES, CrossFitted, losses, mean_estimate
from calib.crossfit.settings import Settings
from calib.curves.functions import CalibrationFunction, calibration_function
from calib.curves.reliability import (
    CumulativeCurve,
    ReliabilityCurve,
    cumulative_curve,
    reliability_curve,
)
from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.metrics import (
    METRICS,
    Metric,
    TestResult,
    distinct_scores,
    expected_calibration_error,
    ks_error,
    ks_test,
    kuiper_test,
)
from calib.metrics.by_cluster import clustered_tests, resampled_test
from calib.metrics.ranking import auc, auc_difference, auc_estimate, row_auc, row_auc_within
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, increasing_order, over_cores
from calib.numerics.binning import Strategy, bin_edges, score_histogram
from calib.numerics.intervals import Estimate
from calib.numerics.logistic import LogisticFit
from calib.numerics.score_grid import edges_on_grid
from calib.text import joined, score_percents, significant
from calib.uncertainty import Bootstrap, Errors, Replicates, fit_line, slope_estimate


def differences_from_best(
    held_out: CrossFitted, best: str, confidence_level: float
) -> dict[str, Estimate]:
    """Log loss of each method minus that of the best, paired by row.

    The intervals contain the variance of both calibrators, which are fitted in folds.

    Examples
    --------
    >>> import calib
    >>> analysis = calib.analyze(calib.examples.EXAMPLES["naive_bayes"].load())
    >>> best = analysis.ranked[0]
    >>> change = differences_from_best(analysis.held_out, best, 0.95)["logistic"]
    >>> best, change.low < 0.0 < change.high  # a tie
    ('beta', True)
    """
    return {
        key: difference_from_best(held_out, key, best, confidence_level) for key in held_out.scores
    }


def difference_from_best(
    held_out: CrossFitted, key: str, best: str, confidence_level: float
) -> Estimate:
    """The same for one method."""
    values, lowest = (losses(held_out, of)["log_loss"] for of in (key, best))
    added = held_out.fold_variance(key, LOSSES["log_loss"], best)
    return mean_estimate(values - lowest, held_out.rows, confidence_level, added)


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Values of the uncalibrated scores, with which every method is compared.

    Attributes
    ----------
    held_out : CrossFitted
    rows : mapping of str to ndarray
        Contribution of each row to log loss, Brier score and AUC (with folds: AUC within folds).
    pooled_auc : ndarray
        Contribution of each row to the AUC of all rows.
    by_fold : tuple of ndarray of int
        The rows of each fold, by increasing score.
    """

    held_out: CrossFitted
    rows: Mapping[str, FloatArray]
    pooled_auc: FloatArray
    by_fold: tuple[IntArray, ...]

    @classmethod
    def of(cls, held_out: CrossFitted) -> Reference:
        plain, fold = held_out.view("uncalibrated"), held_out.rows.fold
        pooled = row_auc(held_out.cells["uncalibrated"], plain.outcome, plain.score)
        loss = losses(held_out, "uncalibrated")
        if fold is None:
            return cls(held_out, loss | {"auc": pooled}, pooled, ())
        order = increasing_order(plain.score)
        in_order = fold[order]
        by_fold = tuple(order[in_order == number] for number in np.unique(fold))
        return cls(held_out, loss | {"auc": row_auc_within(plain, fold)}, pooled, by_fold)

    def contributions(self, key: str) -> Mapping[str, FloatArray]:
        """The values of a method that correspond to `rows`."""
        if key == "uncalibrated":
            return self.rows
        held_out = self.held_out
        rows = held_out.view(key)
        if rows.fold is None:
            area = row_auc(held_out.cells[key], rows.outcome, rows.score)
        elif self._ranks_alike(key):
            # The ranks are equal, and sorting a million rows again takes a third of a second.
            area = self.rows["auc"]
        else:
            area = row_auc_within(rows, rows.fold)
        return losses(held_out, key) | {"auc": area}

    def _ranks_alike(self, key: str) -> bool:
        """Whether a method keeps the order and the ties of the rows in each fold."""
        if key in self.held_out.outcomes:
            return False
        uncalibrated, calibrated = self.held_out.scores["uncalibrated"], self.held_out.scores[key]
        for rows in self.by_fold:
            before, after = np.diff(uncalibrated[rows]), np.diff(calibrated[rows])
            if not np.array_equal(before > 0.0, after > 0.0) or (after < 0.0).any():
                return False
        return True

    def differences(
        self, key: str, contributions: Mapping[str, FloatArray], confidence_level: float
    ) -> dict[str, Estimate]:
        """Log loss, Brier score and AUC of a method, minus those of the uncalibrated scores.

        Calibration errors are not included: they are biased, so their differences have no valid
        interval.
        """
        rows, held_out = self.held_out.view(key), self.held_out
        estimates = {
            name: mean_estimate(
                contributions[name] - self.rows[name],
                rows,
                confidence_level,
                held_out.fold_variance(key, loss),
            )
            for name, loss in LOSSES.items()
        }
        estimates["auc"] = auc_difference(
            rows,
            contributions["auc"],
            self.rows["auc"],
            confidence_level=confidence_level,
            added_variance=held_out.fold_variance_of_auc(key),
        )
        return estimates

    def area(
        self, key: str, contributions: FloatArray, change: Estimate, confidence_level: float
    ) -> Estimate:
        """AUC. If methods were fitted in folds: that of the uncalibrated scores plus the change."""
        rows, cells = self.held_out.view(key), self.held_out.cells[key]
        if rows.fold is None:
            return auc_estimate(rows, cells, contributions, confidence_level=confidence_level)
        area = auc(self.held_out.cells["uncalibrated"]) + change.value
        return auc_estimate(
            rows,
            cells,
            self.pooled_auc + (contributions - self.rows["auc"]),
            area=min(max(area, 0.0), 1.0),
            confidence_level=confidence_level,
        )


BIN_ARGUMENTS = ("n_bins", "strategy")
# Metrics that the settings add have fewer resamples, because each costs a call of the metric.
N_REPLICATES_OF_ADDED = 400


def method_results(held_out: CrossFitted, settings: Settings) -> dict[str, MethodResult]:
    """All results of every method."""
    reference = Reference.of(held_out)
    return over_cores(lambda key: _method_result(key, settings, reference), held_out.scores)


def _method_result(key: str, settings: Settings, reference: Reference) -> MethodResult:
    held_out = reference.held_out
    rows, cells, drawn = held_out.view(key), held_out.cells[key], held_out.clusters(key)
    level = settings.confidence_level
    contributions = reference.contributions(key)
    curve = cumulative_curve(cells, confidence_level=level)
    line = fit_line(cells)
    tests = row_tests(rows, cells, line, drawn)
    change = reference.differences(key, contributions, level)
    metrics = {name: mean_estimate(contributions[name], rows, level) for name in LOSSES} | {
        "ks_error": held_out.replicates[key].ks.estimate(ks_error(cells), level),
        "slope": slope_estimate(rows, cells, line, confidence_level=level),
        "auc": reference.area(key, contributions["auc"], change["auc"], level),
        "distinct": Estimate(float(_distinct(key, held_out))),
    }
    bounds = held_out.resolution.get(key, {})
    metrics = {
        name: replace(estimate, resolution=bounds.get(name, 0.0))
        for name, estimate in metrics.items()
    }
    return MethodResult(
        key=key,
        label=CALIBRATORS[key].label,
        differences=change,
        histogram=score_histogram(cells.score, cells.weight),
        cumulative=curve if drawn is None else _clustered_null(curve, drawn.ks),
        ks=tests.pop("ks"),
        function=_function(held_out.calibrators[key]),
        tests=tests,
        **_binned(key, metrics, held_out, settings),
    )


def _distinct(key: str, held_out: CrossFitted) -> int:
    """Number of distinct scores of one calibrator. With folds, ties are counted within a fold.

    For a matrix, all held-out scores are counted.
    """
    fitted = held_out.calibrators[key]
    if held_out.rows.fold is None or not isinstance(fitted, Calibrator):
        return distinct_scores(held_out.cells[key])
    return len(np.unique(fitted.predict(held_out.fitted_on.score, held_out.fitted_on.log_odds)))


def _function(fitted: Calibrator | MatrixCalibrator) -> CalibrationFunction:
    if isinstance(fitted, Calibrator):
        return calibration_function(fitted)
    # A calibrator of whole rows has a formula but no curve.
    nothing = np.empty(0)
    return CalibrationFunction(nothing, nothing, nothing, fitted.formula())


def row_tests(
    rows: BinaryView, cells: ScoreCells, line: LogisticFit | None, drawn: Replicates | None
) -> dict[str, TestResult]:
    """The five tests of calibration. `drawn` are resamples of clusters, None without clusters."""
    if drawn is None:
        return calibration_tests(cells, line)
    return {
        "ks": resampled_test(ks_test(cells), drawn.ks),
        "kuiper": resampled_test(kuiper_test(cells), drawn.kuiper),
        **clustered_tests(rows, cells, line),
    }


def _clustered_null(curve: CumulativeCurve, noise: Errors) -> CumulativeCurve:
    half = float(np.quantile(noise.noise, curve.confidence_level))
    return replace(curve, null_half_width=max(curve.null_half_width, half))


def with_bins(method: MethodResult, held_out: CrossFitted, settings: Settings) -> MethodResult:
    """The same results with the bins of these settings. Nothing else depends on the bins."""
    return replace(method, **_binned(method.key, method.metrics, held_out, settings))


def _binned(
    key: str, metrics: Mapping[str, Estimate], held_out: CrossFitted, settings: Settings
) -> dict[str, Any]:
    """The fields of a result that depend on the bins, with these metrics among all."""
    cells, drawn = held_out.cells[key], held_out.replicates[key]
    n, level = settings.n_bins, settings.confidence_level

    def ece(strategy: Strategy) -> Estimate:
        value = expected_calibration_error(cells, n_bins=n, strategy=strategy)
        return drawn.ece(bin_edges(cells, n, strategy), cells).estimate(value, level)

    curve = reliability(cells, settings, held_out.clusters(key))
    largest = drawn.mce(bin_edges(cells, n, settings.strategy))
    binned = {
        "ece_uniform": ece("uniform"),
        "ece_quantile": ece("quantile"),
        "mce": largest.estimate(float(np.abs(curve.gap).max()), level),
    }
    bounds = held_out.resolution.get(key)
    if bounds:
        # An edge between two bins can lie within a cell, whose rows then count on one side.
        parted = bounds["mean_score"] + 2.0 * (n - 1) * bounds["edge"]
        whole = key == "uncalibrated" and edges_on_grid(n)
        smallest_share = float(curve.weight.min() / curve.weight.sum())
        off = {
            "ece_uniform": bounds["mean_score"] if whole else parted,
            "ece_quantile": parted,
            "mce": (bounds["mean_score"] + 2.0 * bounds["edge"]) / smallest_share,
        }
        binned = {
            name: replace(estimate, resolution=off[name]) for name, estimate in binned.items()
        }
    names = [
        name
        for name in added_metrics(settings)
        if name not in metrics or METRICS[name].takes("n_bins")
    ]
    added = _added(key, names, held_out, settings) if names else {}
    return {"metrics": dict(metrics) | binned | added, "reliability": curve}


def _added(
    key: str, names: list[str], held_out: CrossFitted, settings: Settings
) -> dict[str, Estimate]:
    """The additional metrics of the settings, each with the interval that it declares."""
    drawn = Bootstrap.of_rows(
        held_out.view(key), n_replicates=N_REPLICATES_OF_ADDED, random_state=settings.seed
    )
    level = settings.confidence_level

    def estimate(metric: Metric) -> Estimate:
        bins = {name: getattr(settings, name) for name in BIN_ARGUMENTS if metric.takes(name)}

        def value(cells: ScoreCells) -> float:
            return metric.number(cells, **bins)

        if metric.of_rows is not None:
            return metric.of_rows(held_out.view(key), level)
        if metric.interval is None:
            return Estimate(value(held_out.cells[key]))
        estimated = drawn.estimate(value, confidence_level=level, kind=metric.interval)
        low, high = np.clip((estimated.low, estimated.high), *metric.bounds).tolist()
        return replace(estimated, low=low, high=high)

    return {name: estimate(METRICS[name]) for name in names}


def reliability(
    cells: ScoreCells, settings: Settings, clusters: Replicates | None
) -> ReliabilityCurve:
    """The reliability curve with the bins of the settings."""
    return reliability_curve(
        cells,
        n_bins=settings.n_bins,
        strategy=settings.strategy,
        confidence_level=settings.confidence_level,
        clusters=clusters,
        band=settings.band,
    )


# Curves nearly coincide if they are nowhere further apart than this share of the height over which
# all of them extend. A twentieth is about what the intervals of 1,000 rows leave open.
MAX_RELATIVE_DISTANCE = 0.05
# A smaller change of a score is not seen in a chart.
MIN_CHANGE = 0.005


@dataclass(frozen=True, slots=True)
class FunctionFindings:
    """What the curves of an analysis show over the range of its scores.

    Attributes
    ----------
    close : tuple of str
        Keys of the methods whose curves nearly coincide; empty if no two do. If "uncalibrated" is
        among them, these methods hardly change the scores.
    bounds : mapping of str to tuple of two floats
        Lowest and highest output of each method that cannot reach an observed frequency. A bound
        that does not matter is NaN.
    sentence : str
        The findings in one sentence.
    detail : str
        How far apart the close curves are, or "".
    """

    close: tuple[str, ...]
    bounds: Mapping[str, tuple[float, float]]
    sentence: str
    detail: str


def function_findings(analysis: Analysis) -> FunctionFindings:
    """Compare the calibration functions of an analysis over the range of its scores.

    Examples
    --------
    >>> import calib
    >>> from calib.analysis.method_results import function_findings
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("platt", "logistic", "beta", "spline")})
    >>> function_findings(analysis).sentence
    'Beta, Logistic and Spline nearly coincide; Platt scaling cannot go below 12% or above 92%'
    """
    functions = {key: one.function for key, one in analysis.methods.items()}
    inside = _scores_inside(analysis)
    curves = {key: one.calibrated[inside] for key, one in functions.items()}
    close = _close(curves, analysis.recommendation.method)
    bounds = _bounds(analysis, functions)
    labels = {key: one.short_label for key, one in analysis.methods.items()}
    score = functions["uncalibrated"].score[inside]
    return FunctionFindings(
        close,
        bounds,
        _sentence(labels, curves, close, bounds, score, analysis.recommendation.method),
        _detail(labels, curves, close),
    )


def _scores_inside(analysis: Analysis) -> BoolArray:
    """The points of the curves' grid between the lowest and the highest score."""
    heights, grid = analysis.uncalibrated.histogram, analysis.uncalibrated.function.score
    edges = np.linspace(0.0, 1.0, len(heights) + 1)
    occupied = np.flatnonzero(heights)
    return np.asarray((grid >= edges[occupied[0]]) & (grid <= edges[occupied[-1] + 1]))


def _distance(curves: Iterable[FloatArray]) -> float:
    """The largest vertical distance between two of the curves."""
    return float(np.ptp(np.vstack(list(curves)), axis=0).max())


def _close(curves: Mapping[str, FloatArray], advised: str) -> tuple[str, ...]:
    """The largest set of methods whose curves nearly coincide, in the order of the methods."""
    height = np.vstack(list(curves.values()))
    limit = MAX_RELATIVE_DISTANCE * float(height.max() - height.min())
    sets = [_around(key, curves, limit) for key in curves]
    sets = [near for near in sets if near != {"uncalibrated"} and len(near) > 1]
    best = max(sets, key=lambda near: (len(near), advised in near), default=set())
    return tuple(key for key in curves if key in best)


def _around(first: str, curves: Mapping[str, FloatArray], limit: float) -> set[str]:
    """A curve and those near it, the nearest first, as long as all are near each other."""
    near = {first}
    for key in sorted(curves, key=lambda key: _distance([curves[first], curves[key]])):
        if _distance(curves[one] for one in {*near, key}) <= limit:
            near.add(key)
    return near


def _bounds(
    analysis: Analysis, functions: Mapping[str, CalibrationFunction]
) -> dict[str, tuple[float, float]]:
    """Bounds that lie outside the interval of an observed frequency of a bin with enough rows."""
    bins = analysis.fitted_reliability
    enough = ~bins.few
    if not enough.any():
        return {}
    lowest, highest = float(bins.high[enough].min()), float(bins.low[enough].max())
    bounds = {}
    for key, function in functions.items():
        floor, ceiling = float(function.calibrated.min()), float(function.calibrated.max())
        pair = (
            floor if floor > lowest else float("nan"),
            ceiling if ceiling < highest else float("nan"),
        )
        if not np.isnan(pair).all():
            bounds[key] = pair
    return bounds


def _sentence(
    labels: Mapping[str, str],
    curves: Mapping[str, FloatArray],
    close: Sequence[str],
    bounds: Mapping[str, tuple[float, float]],
    score: FloatArray,
    advised: str,
) -> str:
    calibrators = [key for key in curves if key != "uncalibrated"]
    if not calibrators:
        return "No calibrator is chosen"
    names = [labels[key] for key in close if key != "uncalibrated"]
    if "uncalibrated" in close:
        verb = "leaves" if len(names) == 1 else "leave"
        first = f"{joined(names)} {verb} the scores nearly unchanged"
    elif len(calibrators) == 1:
        first = direction(labels[calibrators[0]], score, curves[calibrators[0]])
    elif len(names) == len(calibrators) > 2:
        first = f"All {len(names)} calibrators nearly coincide"
    elif names:
        first = f"{joined(names)} nearly coincide"
    else:
        apart = np.ptp(np.vstack([curves[key] for key in calibrators]), axis=0)
        widest = int(apart.argmax())
        first = (
            f"The calibrators differ by up to {_points(apart[widest])}, at a score of "
            f"{score_percents(float(score[widest]))[0]}"
        )
    if close and advised in curves and advised not in (*close, "uncalibrated"):
        first = f"{direction(labels[advised], score, curves[advised])}; {first}"
    limits = [f"{labels[key]} {_limits(*pair)}" for key, pair in bounds.items()]
    return "; ".join([first, *limits])


def _limits(floor: float, ceiling: float) -> str:
    parts = [
        f"{side} {score_percents(bound)[0]}"
        for side, bound in (("below", floor), ("above", ceiling))
        if not np.isnan(bound)
    ]
    return f"cannot go {' or '.join(parts)}"


def _detail(
    labels: Mapping[str, str], curves: Mapping[str, FloatArray], close: Sequence[str]
) -> str:
    if not close:
        return ""
    distance = _points(_distance(curves[key] for key in close))
    names = joined([labels[key] for key in close])
    return f"Over the range of the scores, {names} are at most {distance} apart."


def _points(difference: float) -> str:
    """A distance of two curves, such as "4 points"."""
    size = significant(100.0 * difference, 2)
    return f"{size} {'point' if size == '1' else 'points'}"


def title(analysis: Analysis, methods: Sequence[str]) -> str:
    """What the recommended one of the drawn calibrators, or else all of them, do to the scores."""
    drawn = [key for key in methods if key != "uncalibrated"]
    if not drawn:
        return "The scores are unchanged"
    advised = analysis.recommendation.method
    keys = [advised] if advised in drawn else drawn
    inside = _scores_inside(analysis)
    score = analysis.uncalibrated.function.score[inside]
    curves = [analysis.methods[key].function.calibrated[inside] for key in keys]
    name = "The calibrators"
    if len(keys) == 1:
        name = analysis.methods[keys[0]].short_label
        clause, findings = direction(name, score, curves[0]), function_findings(analysis)
        # The sentence is the heading of the page. If it says that the scores hardly change, the
        # direction of the change would contradict it.
        unchanged = {"uncalibrated", keys[0]} <= set(findings.close)
        if not unchanged and clause not in findings.sentence:
            return clause
    largest = max(float(np.abs(curve - score).max()) for curve in curves)
    return f"{name} change{'s' if len(keys) == 1 else ''} scores by up to {_points(largest)}"


def direction(label: str, score: FloatArray, calibrated: FloatArray) -> str:
    """Where a calibrator raises scores and where it lowers them, in a clause.

    >>> import numpy as np
    >>> score = np.linspace(0.0, 1.0, 101)
    >>> direction("Beta", score, 0.3 + 0.5 * score)
    'Beta raises scores below 60% and lowers others'
    """
    change = calibrated - score
    visible = np.abs(change) >= MIN_CHANGE
    signs = np.sign(change[visible])
    turns = np.flatnonzero(np.diff(signs))
    if not len(signs):
        return f"{label} leaves the scores nearly unchanged"
    verbs = ("raises", "lowers") if signs[0] > 0 else ("lowers", "raises")
    if not len(turns):
        return f"{label} {verbs[0]} the scores"
    if len(turns) > 1:
        return f"{label} raises some ranges of scores and lowers others"
    pair = slice(turns[0], turns[0] + 2)
    (left, right), (before, after) = score[visible][pair], change[visible][pair]
    (at,) = score_percents(float(left + (right - left) * before / (before - after)))
    return f"{label} {verbs[0]} scores below {at} and {verbs[1]} others"
