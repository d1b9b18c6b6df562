"""Common settings: when two reports' numbers may be subtracted, and have an interval."""

from __future__ import annotations

from collections.abc import Iterable

from calib.analysis import Analysis
from calib.analysis.metric_table import is_error, table_metric
from calib.calibrators import CALIBRATORS
from calib.crossfit.comparison import Estimate
from calib.metrics import METRICS
from calib.reports.words import written_setting
from calib.settings import Settings

BIASED = (
    "no interval: errors of a sample lie above the true one, by more the fewer its rows are, so "
    "that of two samples cannot be told from it"
)


def refusal(one: Analysis, two: Analysis, key: str, column: str) -> str:
    """Which setting forbids the difference; "" if none does."""
    protocols = one.data.protocol, two.data.protocol
    if key != "uncalibrated" and protocols[0] != protocols[1]:
        return f"scored on {protocols[0]} and on {protocols[1]}"
    if key != "uncalibrated" and (found := _other_folds(one, two)):
        return found
    return _differing(one.settings, two.settings, _deciding(key, column))


def _other_folds(one: Analysis, two: Analysis) -> str:
    """In how many folds each is cross-fitted, where these differ; "" where they do not."""
    if one.data.protocol != "folds":
        return ""
    said = [
        f"{each.data.named_folds} named" if each.data.named_folds else str(each.settings.n_folds)
        for each in (one, two)
    ]
    return f"n_folds differs: {said[0]} and {said[1]}" if said[0] != said[1] else ""


def _deciding(key: str, column: str) -> list[str]:
    """Settings that make a number what it is."""
    names = ["view"]
    metric = METRICS.get(table_metric(column).key)
    if metric is not None and metric.takes("n_bins"):
        names.append("n_bins")
    if metric is not None and metric.takes("strategy") and not column.startswith("ece_"):
        names.append("strategy")
    if key in CALIBRATORS and "epsilon" in CALIBRATORS[key].create().get_params():
        names.append("epsilon")
    return names


def _differing(first: Settings, second: Settings, names: Iterable[str]) -> str:
    for name in names:
        values = [written_setting(getattr(each, name)) for each in (first, second)]
        if values[0] != values[1]:
            return f"{name} differs: {values[0]} and {values[1]}"
    return ""


def without_interval(
    one: Analysis, two: Analysis, first: Estimate, second: Estimate, column: str
) -> str:
    """Why a difference has no interval; "" if it has one."""
    if is_error(column):
        return BIASED
    if column == "distinct":
        return "no interval: a count of these scores, and no estimate"
    if any(estimate.low != estimate.low for estimate in (first, second)):
        return "no interval: one of the two has none"
    level = _differing(one.settings, two.settings, ["confidence_level"])
    return f"no interval: {level}" if level else ""
