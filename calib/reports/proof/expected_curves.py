"""What the curves and tests of a method must be, from its held-out cells; see `expected`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.special import ndtr

from calib.analysis import MethodResult
from calib.curves.reliability import ReliabilityCurve
from calib.metrics import TestResult
from calib.numerics.arrays import FloatArray
from calib.numerics.calibrated_null import range_survival, supremum_quantile, supremum_survival
from calib.numerics.intervals import wilson_interval
from calib.reports.contents.disclosure import MIN_ROWS
from calib.reports.contents.evidence import Evidence
from calib.reports.contents.structure import Contents
from calib.reports.proof.ranges import ROUNDING, HeldOutCells

# By place: the range of a number, or a value that must be equal.
Expected = dict[str, Any]
# In place of a value from which others were derived: if it is changed, those differ.
RELATED = object()
# Null distributions of tests with many scores, in words, and their survival functions.
BROWNIAN = {
    "ks": ("supremum of Brownian motion", supremum_survival),
    "kuiper": ("range of Brownian motion", range_survival),
}
COARSE = 0.01  # An edge has three digits of its distance from 0 or 1.


def every(place: str, value: Any) -> Expected:
    """Every value of a JSON value, by its place."""
    if isinstance(value, Mapping):
        items: Iterable[tuple[str, Any]] = ((f"{place}.{name}", v) for name, v in value.items())
    elif isinstance(value, list):
        items = ((f"{place}[{i}]", v) for i, v in enumerate(value))
    else:
        number = type(value) in (int, float)
        return {place: (value, value) if number else value}
    return {name: own for at, each in items for name, own in every(at, each).items()}


def listed(place: str, low: FloatArray, high: FloatArray | None = None) -> Expected:
    """The ranges of the numbers of a list."""
    ends = zip(low.tolist(), (low if high is None else high).tolist(), strict=True)
    return {f"{place}[{i}]": pair for i, pair in enumerate(ends)}


def related(place: str, n: int) -> Expected:
    """The values of a list, from which others were derived."""
    return dict.fromkeys((f"{place}[{i}]" for i in range(n)), RELATED)


def bins(
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
    found: Expected = {
        f"{place}.strategy": settings.strategy,
        f"{place}.band": settings.band,
        f"{place}.confidence_level": (settings.confidence_level, settings.confidence_level),
        # Other rows would have other sums.
        **related(f"{place}.rows", len(end)),
    }

    def total(values: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = cells.between(cells.rows, end, values)
        before, after = (np.concatenate([[0.0], each[:-1]]) for each in (high, low))
        return np.maximum(low - before, 0.0), high - after

    weight, positive, score = (
        total(each) for each in (cells.weight, cells.positive, cells.weight * cells.mean)
    )
    found |= listed(f"{place}.weight", *weight)
    found |= listed(f"{place}.positive", *positive)
    least, most = (np.where(each > 0.0, each, np.inf) for each in weight)
    for name, (low, high) in (("mean_score", score), ("observed", positive)):
        ends = np.where(np.isfinite(least), high / least, 1.0)
        found |= listed(f"{place}.{name}", low / most, np.minimum(ends, 1.0))
    found |= _edges(place, end, cells)
    square = total(cells.weight_sq)
    if evidence.refits and all(np.allclose(*each) for each in (weight, positive, square)):
        rows = weight[0] ** 2 / np.maximum(square[0], weight[0] ** 2 / curve.rows)
        rate = np.clip(positive[0] / weight[0], 0.0, 1.0)
        for name, own in zip(
            ("low", "high"), wilson_interval(rate, rows, settings.confidence_level), strict=True
        ):
            found |= listed(f"{place}.{name}", own)
    return found


def _edges(place: str, end: FloatArray, cells: HeldOutCells) -> Expected:
    """An edge lies between the rows on both sides of it, to three digits."""
    last = np.clip(np.searchsorted(np.cumsum(cells.rows), end - 0.5), 0, len(cells.rows) - 1)
    low, high = cells.low[last], np.append(cells.high, 1.0)[last + 1]
    low = low - COARSE * np.minimum(low, 1.0 - low)
    high = high + COARSE * np.minimum(high, 1.0 - high)
    first = np.array([[0.0], cells.high[:1]])
    return listed(f"{place}.high_edge", low, high) | listed(
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
    found: Expected = {f"{place}.confidence_level": (level, level)}
    found |= listed(
        f"{place}.fractile", *cells.between(score, curve.cumulative_score, weight, ROUNDING)
    )
    for name, values in (
        ("cumulative_score", score),
        ("cumulative_outcome", cells.positive / cells.total),
    ):
        found |= listed(f"{place}.{name}", *cells.between(weight, curve.fractile, values, ROUNDING))
    step = np.maximum(np.diff(curve.fractile), 1e-300)
    mean = np.clip(np.diff(curve.cumulative_score) / step, 0.0, 1.0)
    slack = 2.0 * ROUNDING / step
    mean, slack = (np.concatenate([each[:1], each]) for each in (mean, slack))
    found |= listed(f"{place}.score", mean - slack, mean + slack)
    if evidence.refits and cells.brownian:
        half = supremum_quantile(level)
        low, high = cells.null_deviation
        found[f"{place}.null_half_width"] = (half * low, half * high)
    return found


def cumulative_tests(place: str, method: MethodResult, cells: HeldOutCells) -> Expected:
    """Tests of the cumulative difference, and of the Brier score."""
    found: Expected = {}
    error = {"ks": cells.ks_error, "kuiper": cells.kuiper_error}
    deviation = cells.null_deviation
    for key, (null, survival) in BROWNIAN.items():
        own: TestResult | None = method.all_tests.get(key)
        at = f"{place}.{key}" if key == "ks" else f"{place}.tests.{key}"
        if own is None:
            continue
        low, high = found[f"{at}.statistic"] = error[key]
        if cells.brownian:
            found[f"{at}.null"] = null
        if own.null == null and deviation[0] > 0.0:
            found[f"{at}.p_value"] = (survival(high / deviation[0]), survival(low / deviation[1]))
    z = cells.spiegelhalter
    if z is not None and "spiegelhalter" in method.tests:
        at = f"{place}.tests.spiegelhalter"
        least = 0.0 if z[0] <= 0.0 <= z[1] else min(map(abs, z))
        p_low, p_high = (2.0 * float(ndtr(-size)) for size in (max(map(abs, z)), least))
        found |= {f"{at}.statistic": z, f"{at}.p_value": (p_low, p_high)}
        found[f"{at}.null"] = "standard normal"
    return found
