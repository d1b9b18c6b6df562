"""Metrics of the table: those of every table, and those that the settings add."""

from __future__ import annotations

from dataclasses import dataclass

from calib.crossfit.settings import Settings
from calib.metrics import METRICS, Metric


@dataclass(frozen=True, slots=True)
class TableMetric:
    """A column of the table that shows a metric."""

    key: str  # of the metric
    # Text after the name of the metric, or in place of its name or meaning. {n} and {strategy} are
    # replaced by the number of bins and the strategy.
    detail: str = ""
    label: str = ""
    meaning: str = ""

    @property
    def metric(self) -> Metric:
        """The entry of the registry."""
        return METRICS[self.key]


TABLE = {
    "log_loss": TableMetric("log_loss"),
    "brier_score": TableMetric("brier_score"),
    "ece_uniform": TableMetric("expected_calibration_error", ", {n} uniform bins"),
    "ece_quantile": TableMetric("expected_calibration_error", ", {n} quantile bins"),
    "mce": TableMetric(
        "expected_calibration_error",
        label="MCE, {n} {strategy} bins",
        meaning="Largest gap between observed frequency and mean score in {n} {strategy} bins.",
    ),
    "ks_error": TableMetric("ks_error"),
    "slope": TableMetric("calibration_slope_intercept"),
    "auc": TableMetric("auc"),
    "distinct": TableMetric("distinct_scores"),
}


def table_metric(column: str) -> TableMetric:
    """The column for a key: one of `TABLE`, or a metric that the settings add."""
    return TABLE.get(column) or TableMetric(column)


def is_error(column: str) -> bool:
    """Whether a column is a calibration error, which has an upward bias from noise.

    The answer is False if no metric is registered for the column, for example in an old report.
    """
    key = table_metric(column).key
    return key in METRICS and METRICS[key].interval == "error"


def added_metrics(settings: Settings) -> tuple[str, ...]:
    """Metrics that the settings add to those of every table."""
    shown = {own.key for own in TABLE.values()}
    return tuple(key for key in settings.metrics if key not in shown)
