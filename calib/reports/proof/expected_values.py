"""The values that a report must have, as they follow from its held-out cells or other numbers.

No calibrator is fitted for this: the cells of an analysis without its rows or folds give other
calibrators. Values without an entry here are not verified.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.special import ndtr

from calib.analysis import MethodResult
from calib.analysis.verdict import adjusted, judge
from calib.curves.functions import compact_logit_curve
from calib.curves.reliability import ReliabilityCurve
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import Strategy
from calib.numerics.calibrated_null import range_survival, supremum_quantile, supremum_survival
from calib.numerics.intervals import holm, wilson_interval
from calib.reports.contents.codec import encode
from calib.reports.contents.disclosure import MIN_ROWS
from calib.reports.contents.evidence import SLICE, TIME, Evidence
from calib.reports.contents.structure import Contents
from calib.reports.proof.ranges import ROUNDING, HeldOutCells, Range
from calib.reports.proof.recomputing import recomputed_parts

# The keys are places in report.json. A value is the range of a number, or must be equal.
Expected = dict[str, Any]
# This stands for a value from which others were derived: if it is changed, those differ.
RELATED = object()
# With many scores the tests have null distributions with these survival functions.
BROWNIAN_SURVIVAL = {"ks": supremum_survival, "kuiper": range_survival}
# An edge has three digits of its distance from 0 or 1, so it may be off by one percent of it.
EDGE_PRECISION = 0.01


STRATEGIES: tuple[Strategy, ...] = ("uniform", "quantile")
SLICE_FIELDS = frozenset({"columns", "names", "rows", "positives", "mean_score", "observed", "gap"})
PERIOD_FIELDS = frozenset(
    {"names", "rows", "positives", "mean_score", "n_missing"}
    | {"base_rate", "base_rate_low", "base_rate_high"}
)


def expected(report: Contents, evidence: Evidence) -> Expected:
    """The values that follow from the cells, by their place in report.json."""
    analysis = report.analysis
    cells = {key: HeldOutCells.of(evidence.table(key)[1]) for key in analysis.methods}
    values: Expected = {
        "analysis.settings.view": evidence.methods.view_key,
        "analysis.settings.strategy": RELATED,
        "analysis.settings.band": RELATED,
        "analysis.settings.confidence_level": RELATED,
    }
    values |= _data(evidence, cells["uncalibrated"])
    for key, method in analysis.methods.items():
        place = f"analysis.methods.{key}"
        values[f"{place}.key"] = key
        values |= bin_values(
            f"{place}.reliability", report, evidence, method.reliability, cells[key]
        )
        values |= _metrics(report, evidence, method, cells[key])
        values |= curve_points(f"{place}.cumulative", report, evidence, method, cells[key])
        values |= _differences(place, method, analysis.methods["uncalibrated"])
        if evidence.can_be_refitted and not evidence.rows(key)[0].step:
            values |= cumulative_tests(place, method, cells[key])
    if analysis.data.protocol == "folds":
        place, curve = "analysis.fitted_reliability", analysis.fitted_reliability
        values |= bin_values(place, report, evidence, curve, cells["uncalibrated"])
    return values | _epsilon(report) | _verdict(report, evidence) | _parts(report, evidence)


def _data(evidence: Evidence, cells: HeldOutCells) -> Expected:
    rows = evidence.rows("uncalibrated")[0]
    n_rows, weight = rows.n_rows, cells.total
    numbers = {
        "n_rows": n_rows,
        "n_positive": int(rows.counts[rows.outcome].sum()),
        "base_rate": float(cells.positive.sum()) / weight,
        "mean_score": float(cells.weight @ cells.mean) / weight,
    }
    values: Expected = {f"analysis.data.{name}": (v, v) for name, v in numbers.items()}
    split = evidence.cells.is_split
    n_fitted = evidence.cells.n_rows - (n_rows if split else 0)
    return values | {
        "analysis.data.n_calibration": (n_fitted, n_fitted),
        "analysis.data.protocol": "test rows" if split else "folds",
        "analysis.data.weighted": evidence.methods.weighted,
    }


def _metrics(
    report: Contents, evidence: Evidence, method: MethodResult, cells: HeldOutCells
) -> Expected:
    settings = report.analysis.settings
    ranges: dict[str, Range] = {"brier_score": cells.brier_score, "ks_error": cells.ks_error}
    if method.key != "uncalibrated" or evidence.uncounted != "log_odds":
        ranges["log_loss"] = cells.log_loss
    # With folds, the AUC of a calibrator is within folds, which the cells do not know.
    if method.key == "uncalibrated" or report.analysis.data.protocol != "folds":
        ranges["auc"] = cells.auc
    for strategy in STRATEGIES:
        ranges[f"ece_{strategy}"] = cells.ece(settings.n_bins, strategy)
    curve = method.reliability
    if curve.strategy in STRATEGIES:
        gap = np.abs(curve.gap)
        largest = float(gap.max())
        ranges["mce"] = (largest, largest)
        mean = float(curve.weight @ gap) / float(curve.weight.sum())
        # The bins of the diagram are compared with the cells. The ECE is that of these bins, or is
        # larger if the report has merged some of them.
        merged = len(curve.rows) + curve.n_empty < settings.n_bins
        ranges[f"ece_{curve.strategy}"] = (
            (mean, max(mean, cells.ece(settings.n_bins, curve.strategy)[1]))
            if merged
            else (mean, mean)
        )
    place = f"analysis.methods.{method.key}.metrics"
    return {f"{place}.{name}.value": ends for name, ends in ranges.items()}


def _differences(place: str, method: MethodResult, reference: MethodResult) -> Expected:
    """Differences of mean losses are those of the numbers that are printed."""
    values: Expected = {}
    for name in ("log_loss", "brier_score"):
        value = method.metrics[name].value - reference.metrics[name].value
        values[f"{place}.differences.{name}.value"] = (value, value)
    return values


def _epsilon(report: Contents) -> Expected:
    curve, chosen = report.analysis.compact_logit, report.analysis.settings.epsilon
    again = encode(compact_logit_curve(curve.epsilon, curve.rule, curve.n_outside))
    place = "analysis.compact_logit"
    values = exact_values(f"{place}.score", again["score"])
    values |= exact_values(f"{place}.transformed", again["transformed"])
    epsilon = curve.rule if chosen is None else chosen
    values[f"{place}.epsilon"] = (epsilon, epsilon)
    if chosen is None:
        values[f"{place}.rule"] = RELATED
    return values


def _verdict(report: Contents, evidence: Evidence) -> Expected:
    """The p-values and the answer that follow from the numbers that are printed.

    The kind of the error depends on single scores, and the recommendation on resamples of rows.
    """
    analysis, scores = report.analysis, report.analysis.uncalibrated
    if analysis.multiclass is not None:
        return {}
    values = exact_values("analysis.verdict.p_adjusted", adjusted(scores.all_tests))
    if evidence.can_be_refitted:
        cells, advice = evidence.scores("uncalibrated"), analysis.recommendation
        slope = scores.metrics["slope"]
        again = judge(cells, scores.all_tests, advice, slope=slope, words=analysis.words)
        values["analysis.verdict.answer"] = again.answer
    return values


def _parts(report: Contents, evidence: Evidence) -> Expected:
    """Sums of slices and periods. Their tests and intervals depend on single rows."""
    if report.parts is None:
        return {}
    again = encode(recomputed_parts(report.parts, evidence, report.analysis.data.n_rows))
    values: Expected = {}
    level = (report.analysis.settings.confidence_level,) * 2
    for i, part in enumerate(report.parts.slices):
        if SLICE.format(i) in evidence.columns:
            for key, gaps in part.gaps.items():
                place = f"parts.slices[{i}].gaps.{key}"
                values |= _chosen_fields(place, again["slices"][i]["gaps"][key], SLICE_FIELDS)
                values[f"{place}.confidence_level"] = level
                tested = np.where(gaps.few, np.nan, gaps.p_value)
                values |= exact_values(f"{place}.p_adjusted", encode(holm(tested)))
            for key, tests in part.tests.items():
                place = f"parts.slices[{i}].tests.{key}"
                values |= _chosen_fields(place, again["slices"][i]["tests"][key], SLICE_FIELDS)
                values[f"{place}.confidence_level"] = level
                tested = np.where(tests.few, np.nan, tests.p_value)
                values |= exact_values(f"{place}.p_adjusted", encode(holm(tested)))
    if report.parts.periods is not None and TIME in evidence.columns:
        names = (
            PERIOD_FIELDS
            if evidence.can_be_refitted
            else PERIOD_FIELDS - {"base_rate_low", "base_rate_high"}
        )
        for key, table in report.parts.periods.tables.items():
            place = f"parts.periods.tables.{key}"
            values |= _chosen_fields(place, again["periods"]["tables"][key], names)
            values[f"{place}.confidence_level"] = level
            tested = np.where(table.few, np.nan, table.ks_p_value)
            values |= exact_values(f"{place}.ks_p_adjusted", encode(holm(tested)))
    return values


def _chosen_fields(place: str, again: Mapping[str, Any], names: frozenset[str]) -> Expected:
    return exact_values(place, {name: value for name, value in again.items() if name in names})


def exact_values(place: str, value: Any) -> Expected:
    """Every value of a JSON value, by its place."""
    if isinstance(value, Mapping):
        items: Iterable[tuple[str, Any]] = ((f"{place}.{name}", v) for name, v in value.items())
    elif isinstance(value, list):
        items = ((f"{place}[{i}]", v) for i, v in enumerate(value))
    else:
        number = type(value) in (int, float)
        return {place: (value, value) if number else value}
    return {name: leaf for at, item in items for name, leaf in exact_values(at, item).items()}


def list_of_ranges(place: str, low: FloatArray, high: FloatArray | None = None) -> Expected:
    """The ranges of the numbers of a list."""
    ends = zip(low.tolist(), (low if high is None else high).tolist(), strict=True)
    return {f"{place}[{i}]": pair for i, pair in enumerate(ends)}


def bin_values(
    place: str,
    report: Contents,
    evidence: Evidence,
    curve: ReliabilityCurve,
    cells: HeldOutCells,
) -> Expected:
    """The sums of each bin, which are known where a bin ends with a cell."""
    settings, end = report.analysis.settings, np.cumsum(curve.rows)
    if (curve.rows < MIN_ROWS).any():
        raise ValueError(f"{place} has a bin of fewer than {MIN_ROWS} rows")
    if abs(end[-1] - cells.rows.sum()) > ROUNDING * end[-1]:
        raise ValueError(f"the bins of {place} do not have all rows")
    expected_values: Expected = {
        f"{place}.strategy": settings.strategy,
        f"{place}.band": settings.band,
        f"{place}.confidence_level": (settings.confidence_level, settings.confidence_level),
        # The sums below would differ if the rows were changed.
        **{f"{place}.rows[{i}]": RELATED for i in range(len(end))},
    }

    def total(values: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = cells.between(cells.rows, end, values)
        before, after = (np.concatenate([[0.0], ends[:-1]]) for ends in (high, low))
        return np.maximum(low - before, 0.0), high - after

    weight, positive, score = (
        total(of_cell) for of_cell in (cells.weight, cells.positive, cells.weight * cells.mean)
    )
    expected_values |= list_of_ranges(f"{place}.weight", *weight)
    expected_values |= list_of_ranges(f"{place}.positive", *positive)
    least, most = (np.where(of_bin > 0.0, of_bin, np.inf) for of_bin in weight)
    for name, (low, high) in (("mean_score", score), ("observed", positive)):
        ends = np.where(np.isfinite(least), high / least, 1.0)
        expected_values |= list_of_ranges(f"{place}.{name}", low / most, np.minimum(ends, 1.0))
    expected_values |= _edges(place, end, cells)
    square = total(cells.weight_sq)
    if evidence.can_be_refitted and all(np.allclose(*ends) for ends in (weight, positive, square)):
        rows = weight[0] ** 2 / np.maximum(square[0], weight[0] ** 2 / curve.rows)
        rate = np.clip(positive[0] / weight[0], 0.0, 1.0)
        for name, ends in zip(
            ("low", "high"), wilson_interval(rate, rows, settings.confidence_level), strict=True
        ):
            expected_values |= list_of_ranges(f"{place}.{name}", ends)
    return expected_values


def _edges(place: str, end: FloatArray, cells: HeldOutCells) -> Expected:
    """An edge lies between the rows on both sides of it, to three digits."""
    last = np.clip(np.searchsorted(np.cumsum(cells.rows), end - 0.5), 0, len(cells.rows) - 1)
    low, high = cells.low[last], np.append(cells.high, 1.0)[last + 1]
    low = low - EDGE_PRECISION * np.minimum(low, 1.0 - low)
    high = high + EDGE_PRECISION * np.minimum(high, 1.0 - high)
    first = np.array([[0.0], cells.high[:1]])
    return list_of_ranges(f"{place}.high_edge", low, high) | list_of_ranges(
        f"{place}.low_edge",
        np.concatenate([first[0], low[:-1]]),
        np.concatenate([first[1], high[:-1]]),
    )


def curve_points(
    place: str, report: Contents, evidence: Evidence, method: MethodResult, cells: HeldOutCells
) -> Expected:
    """Points of the cumulative curves: one sum of the rows up to a point decides the others."""
    curve, level = method.cumulative, report.analysis.settings.confidence_level
    weight, score = cells.weight / cells.total, cells.weight * cells.mean / cells.total
    expected_values: Expected = {f"{place}.confidence_level": (level, level)}
    expected_values |= list_of_ranges(
        f"{place}.fractile", *cells.between(score, curve.cumulative_score, weight, ROUNDING)
    )
    for name, values in (
        ("cumulative_score", score),
        ("cumulative_outcome", cells.positive / cells.total),
    ):
        expected_values |= list_of_ranges(
            f"{place}.{name}", *cells.between(weight, curve.fractile, values, ROUNDING)
        )
    step = np.maximum(np.diff(curve.fractile), 1e-300)
    mean = np.clip(np.diff(curve.cumulative_score) / step, 0.0, 1.0)
    slack = 2.0 * ROUNDING / step
    mean, slack = (np.concatenate([of_step[:1], of_step]) for of_step in (mean, slack))
    expected_values |= list_of_ranges(f"{place}.score", mean - slack, mean + slack)
    if evidence.can_be_refitted and cells.brownian:
        half = supremum_quantile(level)
        low, high = cells.null_deviation
        expected_values[f"{place}.null_half_width"] = (half * low, half * high)
    return expected_values


def cumulative_tests(place: str, method: MethodResult, cells: HeldOutCells) -> Expected:
    """Tests of the cumulative difference, and of the Brier score."""
    expected_values: Expected = {}
    error = {"ks": cells.ks_error, "kuiper": cells.kuiper_error}
    deviation = cells.null_deviation
    for key, survival in BROWNIAN_SURVIVAL.items():
        at = f"{place}.{key}" if key == "ks" else f"{place}.tests.{key}"
        if key not in method.all_tests:
            continue
        low, high = expected_values[f"{at}.statistic"] = error[key]
        if cells.brownian and deviation[0] > 0.0:
            expected_values[f"{at}.p_value"] = (
                survival(high / deviation[0]),
                survival(low / deviation[1]),
            )
    z = cells.spiegelhalter
    if z is not None and "spiegelhalter" in method.tests:
        at = f"{place}.tests.spiegelhalter"
        least = 0.0 if z[0] <= 0.0 <= z[1] else min(map(abs, z))
        p_low, p_high = (2.0 * float(ndtr(-size)) for size in (max(map(abs, z)), least))
        expected_values |= {f"{at}.statistic": z, f"{at}.p_value": (p_low, p_high)}
    return expected_values
