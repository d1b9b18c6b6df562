"""Whether scores became worse than those of a saved report, for ``check``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from calib.analysis import Analysis, Column
from calib.cli.streams import tell
from calib.numerics.intervals import Estimate
from calib.reports import Report, ReportError
from calib.reports.comparison.changes import MetricChange, metric_change
from calib.text import level, significant

COMPARED = ("log_loss", "ks_error")


@dataclass(frozen=True, slots=True)
class Worsening:
    """A metric of a report and of these rows, and whether it is significantly higher now.

    The rows are independent of those of the report. The log loss is worse if the interval of the
    difference lies above 0. Differences of calibration errors have no valid interval, because
    these errors are biased upward. The KS error is worse if its interval lies above the interval
    of the report, which happens by chance less often than the confidence level allows.
    """

    change: MetricChange
    report: str  # The name of the report's file.
    confidence_level: float

    @property
    def is_met(self) -> bool:
        """Whether the metric is not significantly worse."""
        return not self._lowest_difference > 0.0

    @property
    def kind(self) -> str:
        """JUnit's name of the result."""
        return "system-out" if self.is_met else "failure"

    @property
    def rule(self) -> str:
        return f"{self.change.column.label} not significantly above {self.report}"

    @property
    def sentence(self) -> str:
        """The result in words, with both numbers and the rule."""
        first, second, difference = self.change.first, self.change.second, self.change.difference
        label, significance = self.change.column.label, "not " * self.is_met + "significantly"
        interval = f"{level(self.confidence_level)} CI"
        if self._has_interval:
            values = f"{_shown(second.value)}, was {_shown(first.value)}"
            values += f"; difference {_shown(difference.value)}, {interval} {_ends(difference)}"
            return f"{label} is {significance} higher than in {self.report} ({values})"
        values = f"{_shown(second.value)}, {interval} {_ends(second)}; was {_shown(first.value)}"
        values += f", {interval} {_ends(first)}"
        rule = "do not overlap" if not self.is_met else "overlap, or the error is lower"
        return f"{label} is {significance} higher than in {self.report} ({values}: they {rule})"

    @property
    def _has_interval(self) -> bool:
        return not self.change.reason

    @property
    def _lowest_difference(self) -> float:
        if self._has_interval:
            return self.change.difference.low
        return self.change.second.low - self.change.first.high


def open_report(path: Path) -> Report:
    """The report of a file; an error names the file."""
    try:
        return Report.open(path)
    except ReportError as error:
        raise ReportError(f"{path.name}: {error}") from error


def findings(path: Path, analysis: Analysis, method: str) -> list[Worsening]:
    """Log loss and KS error of a method, compared with those of a saved report."""
    report = open_report(path)
    if method not in report.analysis.methods:
        raise ValueError(
            f"--against: {path.name} has no scores of {method}, only of "
            f"{', '.join(report.analysis.methods)}. Write the report with --methods {method}."
        )
    if report.analysis.data.fingerprint == analysis.data.fingerprint:
        tell(f"note: {path.name} is a report of the same rows, so nothing can have become worse")
    levels = [one.settings.confidence_level for one in (report.analysis, analysis)]
    if levels[0] != levels[1]:
        raise ValueError(
            f"--against: {path.name} has {level(levels[0])} intervals and this check "
            f"{level(levels[1])} ones. Give --level {levels[0]:g}."
        )
    return [
        Worsening(
            _comparable(report.analysis, analysis, method, column, path), path.name, levels[0]
        )
        for column in report.analysis.columns
        if column.key in COMPARED
    ]


def _comparable(
    first: Analysis, second: Analysis, method: str, column: Column, path: Path
) -> MetricChange:
    change = metric_change(first, second, method, column)
    if math.isnan(change.difference.value):
        raise ValueError(
            f"--against: {path.name} cannot be compared: {change.reason}. Use its settings: "
            f"--settings {path.name}."
        )
    if math.isnan(change.first.low) or math.isnan(change.second.low):
        raise ValueError(f"--against: {column.label} has no interval, because there are few rows.")
    return change


def _shown(value: float) -> str:
    return significant(value, 4)


def _ends(estimate: Estimate) -> str:
    return f"{_shown(estimate.low)} to {_shown(estimate.high)}"
