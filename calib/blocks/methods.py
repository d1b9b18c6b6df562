"""Methods as blocks: their metrics, what calibration changes about them, and their tests."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from calib.analysis import Analysis, Column, MethodResult
from calib.analysis.miscalibration import CURVE_TESTS
from calib.analysis.model_comparison import ModelComparison
from calib.analysis.summary import is_error
from calib.analysis.verdict import SIGNIFICANCE
from calib.blocks.kinds import Action, Table, Text, Value
from calib.calibrators import CALIBRATORS
from calib.crossfit.matrix_comparison import MulticlassComparison, MulticlassResult
from calib.figures.summary import change_bars
from calib.metrics import matrix_metrics
from calib.metrics.base import TestResult
from calib.metrics.matrix import ROW_METRICS
from calib.numerics.intervals import Estimate
from calib.text import interval, number, p_value, percent, plural, printed_change, within_sentence
from calib.words.measures import (
    best_model,
    chance_level,
    metric_change,
    metric_interval,
    metric_text,
)
from calib.words.verdicts import TEST_NAMES

CHANGE_HELP = (
    "Minus that of the uncalibrated scores, paired by row. Significantly: the interval does not "
    "include 0."
)
DIFFERENCE = "Log loss difference\nfrom the best"
BEST_HELP = (
    "Log loss minus the lowest one, paired by row. Tied with the best: the interval includes 0."
)
# The plain name of a metric stands in front of that of the field.
PLAIN = {
    "log_loss": "Error on held-out rows",
    "ece_uniform": "Average gap",
    "ece_quantile": "Average gap",
    "ks_error": "Largest cumulative gap",
}
DIRECTIONS: Mapping[str, str] = {
    "lower": "lower is better",
    "higher": "higher is better",
    "zero": "0 is calibrated",
    "one": "1 is calibrated",
    "none": "no better direction",
}
WHAT_IT_TESTS = {
    "ks": "Largest cumulative gap up to any score",
    "kuiper": "Largest gap over any interval of scores",
    "spiegelhalter": "Brier score equals that of a calibrated model",
    "hosmer_lemeshow": "Positives in ten groups of equal size",
    "line": "Calibration slope = 1 and intercept = 0",
}
STATISTIC_HELP = "The statistic, and its p-value before Holm's correction."
HOLM_HELP = (
    "The verdict uses it: a calibrated model is rejected by at least one test in at most 5% of "
    "data sets. A matrix is corrected for the tests of its classes too."
)
HOLM = "p (Holm)"
TIED = "tied with the best"
CHANGE_DRAWN = "Change and interval\n(line: no change)"
TESTS_READING = (
    "A test rejects calibration if its p-value after Holm's correction for the number of tests, "
    f"those of a matrix's classes included, is below {SIGNIFICANCE:g}. The verdict uses these "
    "p-values. With many rows even negligible differences are significant; check the effect size."
)
CHANCE_LEVEL = "Chance level: the average for a calibrated model with this many rows."
# The columns of tables have no room for the full name.
ECE = "ECE (expected calibration error) depends on its bins, so log loss decides."
MODELS_TABLE = "Uncalibrated → calibrated, on held-out rows. Small: intervals and chance levels."
MODELS_BEST_HELP = (
    "Log loss minus the lowest one, of the uncalibrated scores. Tied with the best: the interval "
    "includes 0."
)
COUNTED_MODELS = (
    "Counts do not pair rows, so intervals are unpaired. If all models scored the same rows, "
    "intervals of the rows themselves would be narrower."
)


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """A column of the metric table, by method.

    A column with the `key` of another is shown with it. `cells` are printed, and `name` and
    `values` are copied.
    """

    key: str
    label: str
    help: str
    cells: Mapping[str, Value]
    name: str
    values: Mapping[str, Estimate]
    is_change: bool = False

    @property
    def has_chance_level(self) -> bool:
        return any(not math.isnan(one.noise_floor) for one in self.values.values())


def metric_table(
    name: str,
    columns: Sequence[MetricColumn],
    methods: Sequence[str],
    recommended: str,
    *,
    caption: str = "",
    hints: Mapping[str, str] | None = None,
    with_code: Collection[str] = (),
    opened: Mapping[str, tuple[Text, ...]] | None = None,
) -> Table:
    """One row per method. `hints` are by method, and actions get the code of calibrators.

    `opened` is what a row opens, by method. The row of the recommended one is open at first.
    """
    rows, exact = [], []
    bars = {
        column.name: change_bars(column.values, recommended)
        for column in columns
        if column.key == "log_loss_change"
    }
    for key in methods:
        note = "recommended" if key == recommended else ""
        first = Value(CALIBRATORS[key].label, note, marked=key == recommended)
        cells = [column.cells.get(key, Value("")) for column in columns]
        rows.append(
            (
                first,
                *(
                    replace(cell, drawn=bars.get(column.name, {}).get(key, ""))
                    for column, cell in zip(columns, cells, strict=True)
                ),
            )
        )
        values: dict[str, object] = {"method": CALIBRATORS[key].label}
        for column in columns:
            if key in column.values:
                values |= column.values[key].columns(column.name)
        exact.append(values)
    return Table(
        caption,
        ("Method", *(column.label for column in columns)),
        tuple(rows),
        meanings={column.label: column.help for column in columns},
        name=name,
        actions=tuple(_code_of(key) if key in with_code else None for key in methods),
        hints=tuple((hints or {}).get(key, "") for key in methods),
        exact=pd.DataFrame(exact),
        opened=tuple((opened or {}).get(key, ()) for key in methods) if opened else (),
        is_open=frozenset(n for n, key in enumerate(methods) if key == recommended),
        drawn_head=CHANGE_DRAWN,
    )


def _code_of(key: str) -> Action:
    return Action(key, "Get the code", f"Get the code of {CALIBRATORS[key].label}")


def printed_tables(
    analysis: Analysis, columns: Sequence[MetricColumn], at: str
) -> tuple[Table, ...]:
    """The metrics, the calibration errors and the changes; one table would not fit on paper.

    `at` is the level of the intervals in words.
    """
    of_matrix = matrix_metrics().keys() - ROW_METRICS.keys()
    changes = [column for column in columns if column.is_change]
    errors = [one for one in columns if is_error(one.key) or one.key in of_matrix]
    others = [one for one in columns if one not in changes and one not in errors]
    intervals = f"on held-out rows, with {at} intervals."
    captions = {
        f"Metrics {intervals}": others,
        f"Calibration errors {intervals} {CHANCE_LEVEL}": errors,
        f"Differences from the uncalibrated scores, paired by row, with {at} intervals. Below zero "
        "is better (for AUC, above).": changes,
    }
    recommended = analysis.recommendation.method
    return tuple(
        metric_table(
            "",
            chosen,
            [key for key in analysis.ranked if any(key in one.cells for one in chosen)],
            recommended,
            caption=caption,
        )
        for caption, chosen in captions.items()
        if any(one.cells for one in chosen)
    )


def column_help(column: Column) -> str:
    direction = DIRECTIONS[column.better]
    parts = [column.meaning, f"{direction[0].upper()}{direction[1:]}.", column.convention]
    return " ".join(filter(None, parts))


def metric_columns(
    columns: Iterable[Column],
    results: Mapping[str, MethodResult | MulticlassResult],
    from_best: Mapping[str, Estimate],
    *,
    with_levels: bool = False,
) -> list[MetricColumn]:
    """Columns with their tooltips, and the paired changes of those that have one.

    `from_best` are differences of log loss from the best method; empty: no column. A report has the
    chance levels of calibration errors, and the p-value of the KS test.
    """
    made = []
    for column in columns:
        key, digits = column.key, column.digits
        values = {method: one.metrics[key] for method, one in results.items()}
        cells = {
            method: _metric(key, results[method], digits, with_levels=with_levels)
            for method in values
        }
        label = f"{PLAIN[key]}\n({within_sentence(column.label)})" if key in PLAIN else column.label
        made.append(MetricColumn(key, label, column_help(column), cells, key, values))
        losses = {method: one.value for method, one in values.items()}
        if key == "log_loss" and from_best:
            best = min(losses.values())
            tied = {
                method: to_best(one, printed_change(best, losses[method], digits), digits)
                for method, one in from_best.items()
            }
            made.append(MetricColumn(key, DIFFERENCE, BEST_HELP, tied, f"{key}_to_best", from_best))
        if key in results["uncalibrated"].differences:
            label = f"{column.label} change\nfrom uncalibrated"
            differences = {
                method: one.differences[key]
                for method, one in results.items()
                if method != "uncalibrated"
            }
            changes = {
                method: _change(column, losses["uncalibrated"], losses[method], one)
                for method, one in differences.items()
            }
            name, copied = f"{key}_change", f"{key}_diff"
            made.append(
                MetricColumn(name, label, CHANGE_HELP, changes, copied, differences, is_change=True)
            )
    return made


def _metric(
    key: str, result: MethodResult | MulticlassResult, digits: int, *, with_levels: bool
) -> Value:
    """A metric, its interval, and whether a calibration error is too large for chance.

    A page has no chance level, which can be lower than an error within chance and would puzzle.
    """
    estimate = result.metrics[key]
    bounds, chance = metric_interval(key, estimate, digits), chance_level(key, estimate, digits)
    details = [bounds]
    if with_levels:
        details.append(chance)
        if key == "ks_error" and isinstance(result, MethodResult):
            details.append(p_value(result.ks.p_value))
    warning = "too large for chance" if chance and estimate.low > 0.0 else ""
    text = metric_text(key, estimate.value, digits)
    return replace(_below(text, details, warning), order=estimate.value)


def _below(text: str, details: Iterable[str], warning: str = "") -> Value:
    """A value with small lines, of which the first is its interval, or empty."""
    first, *others = details
    return Value(
        text, "\n".join([first, *filter(None, others)]) or "\n" * bool(warning), False, warning
    )


def _change(column: Column, before: float, after: float, change: Estimate) -> Value:
    text, bounds = metric_change(column.key, before, after, change, column.digits)
    said, is_worse = direction(change, column.better)
    value = _below(text, [bounds], said) if is_worse else _below(text, [bounds, said])
    return replace(value, order=change.value)


def to_best(difference: Estimate, printed: str, digits: int = 4) -> Value:
    """The difference of log loss from the best, its interval, and whether it is a tie."""
    bounds = interval(difference, digits, sign=True)
    if difference.value == difference.low == difference.high == 0.0:
        value = Value("best")
    elif max(abs(difference.low), abs(difference.high)) < 0.5 * 10.0**-digits:
        value = _below("equal", ["", TIED])
    elif difference.low <= 0.0:
        value = _below(printed, [bounds, TIED])
    else:
        value = _below(printed, [bounds], "worse than the best")
    return replace(value, order=difference.value)


def direction(change: Estimate, better: str) -> tuple[str, bool]:
    """Whether a change is significant, with its direction, and whether it is for the worse."""
    if change.low == change.high == 0.0:
        return "no change", False  # A strictly increasing calibrator does not change the AUC.
    # An interval that is not known shows nothing.
    if not (change.high < 0.0 or change.low > 0.0):
        return "not significant", False
    side = "lower" if change.high < 0.0 else "higher"
    return f"significantly {side}", side != better


def matrix_columns(
    compared: MulticlassComparison, *, with_levels: bool = False, with_best: bool = False
) -> list[MetricColumn]:
    """Columns of the metrics of all classes together."""
    shown = [
        Column(key, metric.label, metric.meaning, 4, metric.better)
        for key, metric in matrix_metrics().items()
    ]
    results = compared.results
    from_best = {key: one.to_best for key, one in results.items()} if with_best else {}
    return metric_columns(shown, results, from_best, with_levels=with_levels)


def calibration_tests(
    methods: Sequence[MethodResult], p_adjusted: Sequence[Mapping[str, float]]
) -> Table:
    """One row per test, with the statistic and the p-values of each method."""
    rows = []
    for key, name in TEST_NAMES.items():
        results = [method.all_tests.get(key) for method in methods]
        nulls = dict.fromkeys(test.null for test in results if test is not None)
        if nulls:
            cells = [Value(name), Value(WHAT_IT_TESTS[key], "; ".join(nulls))]
            for test, adjusted in zip(results, p_adjusted, strict=True):
                cells += _test_values(key, test, adjusted.get(key, math.nan))
            rows.append(tuple(cells))
    labels = [method.label for method in methods]
    head = ("Test", "What is tested", *(name for label in labels for name in (label, HOLM)))
    return Table(
        TESTS_READING,
        head,
        tuple(rows),
        n_text=2,
        meanings={
            "What is tested": "And the null distribution of the statistic.",
            **dict.fromkeys(labels, STATISTIC_HELP),
            HOLM: HOLM_HELP,
        },
        name="Tests of calibration",
    )


def _test_values(key: str, test: TestResult | None, p_adjusted: float) -> list[Value]:
    """The cells of a method: the statistic with its p-value, and the adjusted p-value."""
    if test is None:
        return [Value(""), Value("")]
    # JSON has no infinity, so an infinite number is read as NaN.
    statistic = percent(test.statistic) if key in CURVE_TESTS else number(test.statistic, 3)
    return [Value(statistic, p_value(test.p_value)), Value(p_value(p_adjusted))]


def model_table(comparison: ModelComparison, caption: str = "") -> Table:
    """The metrics of all models, before and after, and their differences from the best."""
    columns = {column.key: _cells(comparison, column) for column in comparison.columns}
    rows = tuple(
        (
            Value(name, plural(model.n_rows, "row")),
            *(cells[name] for cells in columns.values()),
            *_changes(comparison, name),
        )
        for name, model in comparison.models.items()
    )
    meanings = {
        **{column.label: column_help(column) for column in comparison.columns},
        DIFFERENCE: MODELS_BEST_HELP,
        "… after calibration": "The same difference of the calibrated scores, from their best.",
    }
    head, exact = ("Model", *meanings), comparison.frame().reset_index()
    name = "Metrics of the models"
    return Table(caption, head, rows, meanings=meanings, name=name, exact=exact)


def models_note(comparison: ModelComparison, *, counted: bool) -> str:
    """What the table shows, and whether its differences are paired."""
    return f"{MODELS_TABLE} {ECE} {COUNTED_MODELS if counted else _pairing(comparison)}"


def models_before(comparison: ModelComparison) -> str:
    """Which of the uncalibrated models is best, in a sentence."""
    return f"{best_model(comparison.best_model('uncalibrated'))}."


def models_after(comparison: ModelComparison) -> str:
    """Which of the calibrated models is best, in a sentence."""
    method = comparison.methods[-1]
    said = best_model(comparison.best_model(method))
    return f"After calibration by {CALIBRATORS[method].label}: {said}."


def _estimates(comparison: ModelComparison, method: str, column: Column) -> dict[str, Estimate]:
    """One metric of one method, by model."""
    return {
        name: model.metrics[method][column.key]
        for name, model in comparison.models.items()
        if method in model.metrics
    }


def _cells(comparison: ModelComparison, column: Column) -> dict[str, Value]:
    """One metric by model, with the chance levels below."""
    values: dict[str, list[str]] = {name: [] for name in comparison.models}
    levels: dict[str, list[str]] = {name: [] for name in comparison.models}
    for method in ("uncalibrated", comparison.methods[-1]):
        estimates = _estimates(comparison, method, column)
        for name, one in estimates.items():
            values[name].append(metric_text(column.key, one.value, column.digits))
            if not math.isnan(one.noise_floor):
                levels[name].append(metric_text(column.key, one.noise_floor, column.digits))
    # Calibration that keeps the ranking keeps the AUC, which is then printed once. Chance levels
    # have a line of their own, below that of an interval.
    return {
        name: Value(
            "\u00a0→\u00a0".join(dict.fromkeys(values[name])),
            f"\nchance level {' → '.join(levels[name])}" if levels[name] else "",
        )
        for name in values
    }


def _changes(comparison: ModelComparison, name: str) -> Iterator[Value]:
    column = comparison.columns[0]
    for method in ("uncalibrated", comparison.methods[-1]):
        change = comparison.models[name].differences.get(method, {}).get(column.key)
        if change is None:
            yield Value("")
            continue
        losses = _estimates(comparison, method, column)
        best = losses[comparison.best(method)].value
        printed = printed_change(best, losses[name].value, column.digits)
        yield to_best(change, printed)


def _pairing(comparison: ModelComparison) -> str:
    pairing = [comparison.pairing(name, "uncalibrated") for name in comparison.models]
    others, paired = len(pairing) - 1, pairing.count("paired")
    if paired == others:
        return "All models scored the same rows, so differences are paired by row."
    if not paired:
        return (
            "The models scored different rows, or the same rows in another order, so intervals are "
            "unpaired. They would be narrower if all models had scored the same rows in one order."
        )
    return (
        f"{paired} of {others} models scored the same rows as the best. Their "
        "differences are paired by row; the intervals of the others are wider."
    )
