"""The differences between two reports, and which of their numbers can be subtracted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from math import isnan

import pandas as pd

from calib.analysis import Analysis, Column
from calib.analysis.summary import is_error, table_metric
from calib.calibrators import CALIBRATORS
from calib.crossfit.settings import Settings
from calib.metrics import METRICS
from calib.numerics.intervals import Estimate, unpaired_difference
from calib.reports.contents.structure import Contents, written_setting
from calib.text import percent

FINGERPRINT = "Fingerprint"
BIASED = (
    "no interval: calibration errors are biased upward in small samples, so no valid interval "
    "exists for the difference"
)


@dataclass(frozen=True, slots=True)
class Change:
    """One property of both reports, in words."""

    name: str
    first: str
    second: str

    @property
    def changed(self) -> bool:
        """Whether the two differ."""
        return self.first != self.second


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One metric of one method in both reports."""

    method: str
    label: str
    column: Column
    first: Estimate
    second: Estimate
    # This is second minus first. The value is NaN if the two cannot be compared, and the bounds are
    # NaN if there is no interval.
    difference: Estimate
    # It says why they cannot be compared, or why there is no interval. It is empty if there is one.
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """The differences between two reports."""

    first: Contents
    second: Contents
    # These are all properties that were compared, whether they changed or not.
    data: tuple[Change, ...]
    settings: tuple[Change, ...]
    verdict: tuple[Change, ...]
    metrics: tuple[MetricChange, ...]  # Only methods that both reports have can be compared.
    # These are labels of the methods that only one report has.
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]

    @property
    def same_rows(self) -> bool:
        """Whether both reports are of the same data. Intervals of differences are then too wide."""
        return self.first.analysis.data.fingerprint == self.second.analysis.data.fingerprint

    @property
    def same_view(self) -> bool:
        """Whether both reports are of the same binary view."""
        return self.first.analysis.settings.view == self.second.analysis.settings.view

    def frame(self) -> pd.DataFrame:
        """One row per method and metric."""
        return pd.DataFrame([row_of(change) for change in self.metrics])


def row_of(change: MetricChange) -> dict[str, object]:
    row: dict[str, object] = {"method": change.method, "metric": change.column.key}
    for name in ("first", "second", "difference"):
        row |= getattr(change, name).with_bounds(name)
    return row | {"reason": change.reason}


def changes_of(first: dict[str, str], second: dict[str, str]) -> tuple[Change, ...]:
    return tuple(Change(name, first[name], second[name]) for name in first)


def data_facts(report: Contents) -> dict[str, str]:
    data = report.analysis.data
    return {
        "Name": data.name,
        FINGERPRINT: data.fingerprint,
        "Score column": data.score_name,
        "Outcome column": data.outcome_name,
        "Positive class": data.positive_name,
        "Rows scored": f"{data.n_rows:,}",
        "Positive rows": f"{data.n_positive:,}",
        "Observed frequency": percent(data.base_rate),
        "Mean score": percent(data.mean_score),
        "Scored on": data.protocol,
        "Held-out (declared)": report.held_out_declared,
    }


def setting_facts(analysis: Analysis) -> dict[str, str]:
    chosen = analysis.settings
    return {field.name: written_setting(getattr(chosen, field.name)) for field in fields(Settings)}


def verdict_facts(analysis: Analysis) -> dict[str, str]:
    chosen, plan = analysis.recommendation.method, analysis.recommendation.plan
    return {
        "Verdict": analysis.verdict.summary,
        "Summary": analysis.verdict.sentence,
        "Recommended": plan.words if plan else analysis.methods[chosen].label if chosen else "none",
    }


def metric_change(one: Analysis, two: Analysis, key: str, column: Column) -> MetricChange:
    first, second = (analysis.methods[key].metrics[column.key] for analysis in (one, two))
    refused = _reason_without_difference(one, two, key, column.key)
    reason = refused or _reason_without_interval(one, two, first, second, column.key)
    if refused:
        difference = Estimate(float("nan"))
    elif reason:
        difference = Estimate(second.value - first.value)
    else:
        difference = unpaired_difference(first, second)
    label = one.methods[key].label
    return MetricChange(key, label, column, first, second, difference, reason)


def _reason_without_difference(one: Analysis, two: Analysis, key: str, column: str) -> str:
    """The reason why the two cannot be subtracted, or ""."""
    protocols = one.data.protocol, two.data.protocol
    if key != "uncalibrated" and protocols[0] != protocols[1]:
        return f"scored on {protocols[0]} and on {protocols[1]}"
    if key != "uncalibrated" and protocols[0] == "folds":
        named_folds = [analysis.data.named_folds for analysis in (one, two)]
        drawn_folds = [analysis.settings.n_folds for analysis in (one, two)]
        folds = [
            f"{n} named" if n else str(m) for n, m in zip(named_folds, drawn_folds, strict=True)
        ]
        if folds[0] != folds[1]:
            return f"n_folds differs: {folds[0]} and {folds[1]}"
    return _different_setting(one.settings, two.settings, _settings_behind(key, column))


def _settings_behind(key: str, column: str) -> list[str]:
    """Settings on which a number depends."""
    names = ["view"]
    metric = METRICS.get(table_metric(column).key)
    if metric is not None and metric.takes("n_bins"):
        names.append("n_bins")
    if metric is not None and metric.takes("strategy") and not column.startswith("ece_"):
        names.append("strategy")
    return names + [n for n in ("epsilon", "epsilon_rule") if CALIBRATORS[key].takes(n)]


def _different_setting(first: Settings, second: Settings, names: Iterable[str]) -> str:
    for name in names:
        values = [written_setting(getattr(settings, name)) for settings in (first, second)]
        if values[0] != values[1]:
            return f"{name} differs: {values[0]} and {values[1]}"
    return ""


def _reason_without_interval(
    one: Analysis, two: Analysis, first: Estimate, second: Estimate, column: str
) -> str:
    """The reason why a difference has no interval, or ""."""
    if is_error(column):
        return BIASED
    if column == "distinct":
        return "no interval: a count, not an estimate"
    if any(isnan(estimate.low) for estimate in (first, second)):
        return "no interval: one of the two has none"
    level = _different_setting(one.settings, two.settings, ["confidence_level"])
    return f"no interval: {level}" if level else ""
