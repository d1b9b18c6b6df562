"""What a report must say, as far as it follows from its held-out cells or its other numbers.

No calibrator is fitted for this: the cells of an analysis without its rows or folds give other
calibrators. What has no entry here is not verified.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calib.analysis import MethodResult
from calib.analysis.miscalibration import view_words
from calib.analysis.recommendation import advice_sentence
from calib.analysis.summary import table_columns
from calib.analysis.verdict import adjusted, judge
from calib.calibrators import CALIBRATORS
from calib.curves.functions import compact_logit_curve
from calib.numerics.binning import Strategy
from calib.numerics.intervals import holm
from calib.reports.contents.codec import encode
from calib.reports.contents.disclosure import MERGED
from calib.reports.contents.evidence import SLICE, TIME, Evidence
from calib.reports.contents.structure import Contents
from calib.reports.proof.expected_curves import (
    RELATED,
    Expected,
    bins,
    cumulative_tests,
    curve_points,
    every,
)
from calib.reports.proof.ranges import HeldOutCells, Range
from calib.reports.proof.recomputing import recomputed_parts

STRATEGIES: tuple[Strategy, ...] = ("uniform", "quantile")
OF_SLICES = frozenset({"columns", "names", "rows", "positives", "mean_score", "observed", "gap"})
OF_PERIODS = frozenset(
    {"names", "rows", "positives", "mean_score", "n_missing"}
    | {"base_rate", "base_rate_low", "base_rate_high"}
)


def expected(report: Contents, evidence: Evidence) -> Expected:
    """The values that follow from the cells, by their place in report.json."""
    analysis, settings = report.analysis, report.analysis.settings
    cells = {key: HeldOutCells.of(evidence.table(key)[1]) for key in analysis.methods}
    found: Expected = {
        "analysis.settings.view": evidence.methods.view_key,
        "analysis.settings.strategy": RELATED,
        "analysis.settings.band": RELATED,
        "analysis.settings.confidence_level": RELATED,
    }
    found |= _data(evidence, cells["uncalibrated"])
    of_matrix = analysis.data.positive_name if analysis.multiclass else ""
    found |= every("analysis.columns", encode(table_columns(settings, of_matrix)))
    for key, method in analysis.methods.items():
        place = f"analysis.methods.{key}"
        found[f"{place}.label"] = CALIBRATORS[key].label if key in CALIBRATORS else method.label
        found[f"{place}.key"] = key
        found |= bins(f"{place}.reliability", report, evidence, method.reliability, cells[key])
        found |= _metrics(report, method, cells[key])
        found |= curve_points(f"{place}.cumulative", report, evidence, method, cells[key])
        found |= _differences(place, method, analysis.methods["uncalibrated"])
        if evidence.refits:
            found |= cumulative_tests(place, method, cells[key])
    if analysis.data.protocol == "folds":
        place, curve = "analysis.fitted_reliability", analysis.fitted_reliability
        found |= bins(place, report, evidence, curve, cells["uncalibrated"])
    return found | _epsilon(report) | _words(report, evidence) | _parts(report, evidence)


def _data(evidence: Evidence, cells: HeldOutCells) -> Expected:
    rows = evidence.rows("uncalibrated")[0]
    n_rows, weight = rows.n_rows, cells.total
    numbers = {
        "n_rows": n_rows,
        "n_positive": int(rows.counts[rows.outcome].sum()),
        "base_rate": float(cells.positive.sum()) / weight,
        "mean_score": float(cells.weight @ cells.mean) / weight,
    }
    found: Expected = {f"analysis.data.{name}": (v, v) for name, v in numbers.items()}
    split = evidence.cells.is_split
    n_fitted = evidence.cells.n_rows - (n_rows if split else 0)
    return found | {
        "analysis.data.n_calibration": (n_fitted, n_fitted),
        "analysis.data.protocol": "test rows" if split else "folds",
        "analysis.data.weighted": evidence.methods.weighted,
    }


def _metrics(report: Contents, method: MethodResult, cells: HeldOutCells) -> Expected:
    settings = report.analysis.settings
    ranges: dict[str, Range] = {
        "log_loss": cells.log_loss,
        "brier_score": cells.brier_score,
        "ks_error": cells.ks_error,
    }
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
        if MERGED not in report.analysis.warnings:
            # These are all bins of the diagram, whose numbers are compared with the cells.
            mean = float(curve.weight @ gap) / float(curve.weight.sum())
            ranges[f"ece_{curve.strategy}"] = (mean, mean)
    place = f"analysis.methods.{method.key}.metrics"
    return {f"{place}.{name}.value": ends for name, ends in ranges.items()}


def _differences(place: str, method: MethodResult, reference: MethodResult) -> Expected:
    """Differences of mean losses are those of the numbers that are printed."""
    found: Expected = {}
    for name in ("log_loss", "brier_score"):
        value = method.metrics[name].value - reference.metrics[name].value
        found[f"{place}.differences.{name}.value"] = (value, value)
    return found


def _epsilon(report: Contents) -> Expected:
    curve, chosen = report.analysis.compact_logit, report.analysis.settings.epsilon
    again = encode(compact_logit_curve(curve.epsilon, curve.rule, curve.n_outside))
    place = "analysis.compact_logit"
    found = every(f"{place}.score", again["score"])
    found |= every(f"{place}.transformed", again["transformed"])
    epsilon = curve.rule if chosen is None else chosen
    found[f"{place}.epsilon"] = (epsilon, epsilon)
    if chosen is None:
        found[f"{place}.rule"] = RELATED
    return found


def _words(report: Contents, evidence: Evidence) -> Expected:
    """The answer and the texts that follow from the numbers that are printed."""
    analysis = report.analysis
    scores, advice, level = (
        analysis.uncalibrated,
        analysis.recommendation,
        analysis.settings.confidence_level,
    )
    if analysis.multiclass is not None:
        return {}
    # The heading of the sentence, which is compared with it, names the kind.
    found: Expected = {"analysis.verdict.kind": RELATED}
    found |= every("analysis.verdict.p_adjusted", adjusted(scores.all_tests))
    if evidence.refits:
        cells, words = evidence.scores("uncalibrated"), view_words(analysis.settings.view)
        slope = scores.metrics["slope"]
        again = judge(cells, scores.all_tests, advice, slope=slope, words=words)
        found["analysis.verdict.answer"] = again.answer
    if advice.method in analysis.methods:
        losses = {key: method.metrics["log_loss"] for key, method in analysis.methods.items()}
        change = analysis.methods[advice.method].differences["log_loss"]
        sentence = advice_sentence(advice.method, losses, change, level=level)
        found["analysis.recommendation.sentence"] = sentence
        found["analysis.recommendation.method"] = RELATED
    return found


def _parts(report: Contents, evidence: Evidence) -> Expected:
    """Sums of slices and periods. Their tests and intervals depend on single rows."""
    if report.parts is None:
        return {}
    again = encode(recomputed_parts(report.parts, evidence, report.analysis.data.n_rows))
    found: Expected = {}
    level = (report.analysis.settings.confidence_level,) * 2
    for i, part in enumerate(report.parts.slices):
        if SLICE.format(i) in evidence.columns:
            for key, gaps in part.gaps.items():
                place = f"parts.slices[{i}].gaps.{key}"
                found |= _picked(place, again["slices"][i]["gaps"][key], OF_SLICES)
                found[f"{place}.confidence_level"] = level
                tested = np.where(gaps.few, np.nan, gaps.p_value)
                found |= every(f"{place}.p_adjusted", encode(holm(tested)))
            for key, tests in part.tests.items():
                place = f"parts.slices[{i}].tests.{key}"
                found |= _picked(place, again["slices"][i]["tests"][key], OF_SLICES)
                found[f"{place}.confidence_level"] = level
                tested = np.where(tests.few, np.nan, tests.p_value)
                found |= every(f"{place}.p_adjusted", encode(holm(tested)))
    if report.parts.periods is not None and TIME in evidence.columns:
        names = OF_PERIODS if evidence.refits else OF_PERIODS - {"base_rate_low", "base_rate_high"}
        for key, table in report.parts.periods.tables.items():
            place = f"parts.periods.tables.{key}"
            found |= _picked(place, again["periods"]["tables"][key], names)
            found[f"{place}.confidence_level"] = level
            tested = np.where(table.few, np.nan, table.ks_p_value)
            found |= every(f"{place}.ks_p_adjusted", encode(holm(tested)))
    return found


def _picked(place: str, again: Mapping[str, Any], names: frozenset[str]) -> Expected:
    return every(place, {name: value for name, value in again.items() if name in names})
