"""The whole matrix: what calibration makes of all classes together, beside the view shown."""

from __future__ import annotations

from calib.crossfit.comparison import Estimate
from calib.matrices import MulticlassResult
from calib.multiclass import MULTICLASS_METRICS
from calib.multiclass.metrics import ROW_METRICS
from calib.reports.blocks import Paragraph, Section, Table, Value
from calib.reports.contents import Contents
from calib.reports.words import CALIBRATED
from calib.text import interval, level, noise_floor, number, signed

OVERALL = tuple(ROW_METRICS)


def whole_matrix(report: Contents) -> Section | None:
    """Metrics of every method on all classes; None where there is one score a row."""
    compared = report.analysis.multiclass
    if compared is None:
        return None
    at = level(compared.confidence_level)
    errors = tuple(name for name in MULTICLASS_METRICS if name not in OVERALL)
    text = (
        "All classes together, on held-out rows. The other sections show the view "
        f"{report.analysis.settings.view}: {report.analysis.data.positive_name}."
    )
    return Section(
        "The whole matrix",
        (
            Paragraph(text),
            _table(report, f"Scores of all classes; {at} intervals below the values.", OVERALL),
            _table(
                report,
                f"Calibration errors; {at} intervals below the values. {CALIBRATED}",
                errors,
            ),
            _changes(report, at),
        ),
    )


def _results(report: Contents) -> list[MulticlassResult]:
    compared = report.analysis.multiclass
    return [] if compared is None else list(compared.results.values())


def _named(report: Contents, result: MulticlassResult) -> Value:
    marked = result.key == report.analysis.recommendation.method
    return Value(result.label, "recommended" if marked else "", marked=marked)


def _table(report: Contents, caption: str, names: tuple[str, ...]) -> Table:
    rows = tuple(
        (_named(report, result), *(_value(result.metrics[name]) for name in names))
        for result in _results(report)
    )
    return Table(caption, _head(names), rows)


def _changes(report: Contents, at: str) -> Table:
    rows = tuple(
        (_named(report, result), *(_change(result.differences[name]) for name in OVERALL))
        for result in _results(report)
        if result.key != "uncalibrated"
    )
    said = f"Differences to the uncalibrated scores, paired by row, with {at} intervals."
    return Table(said, _head(OVERALL), rows)


def _head(names: tuple[str, ...]) -> tuple[str, ...]:
    return ("Method", *(MULTICLASS_METRICS[name].label for name in names))


def _value(estimate: Estimate) -> Value:
    details = interval(estimate, 4), noise_floor(estimate, 4)
    return Value(number(estimate.value, 4), "\n".join(filter(None, details)))


def _change(estimate: Estimate) -> Value:
    return Value(signed(estimate.value, 4), interval(estimate, 4, sign=True))
