"""Checkpoints: metrics over training, one panel per metric."""

from __future__ import annotations

import numpy as np

from calib.analysis import Column
from calib.analysis.model_comparison import ModelComparison
from calib.calibrators import CALIBRATORS
from calib.figures.axes import padded
from calib.figures.chart import TITLE_ROW, TOP, Chart, chart, draw
from calib.figures.layers import HOVER_TEXT, Layer, legend_entry, method, whiskers
from calib.figures.panels import timeline
from calib.figures.theme import faded
from calib.figures.words import counts_of_each, is_share
from calib.numerics.arrays import FloatArray
from calib.numerics.intervals import Estimate
from calib.text import (
    escaped,
    level,
    number,
    percent_with_interval,
    shortened,
    with_interval,
)

PANEL_HEIGHT, GAP = 130, 34
MAX_PANELS, MAX_TICKS = 4, 6
# Methods are drawn beside each other, because overlapping intervals are hard to distinguish. The
# distance is a share of the axis.
METHOD_DISTANCE = 0.012
# If the last checkpoint is this many times the first, a linear axis leaves no room for others.
MIN_LOG_RATIO = 30.0


@chart
def checkpoint_chart(comparison: ModelComparison) -> Chart:
    """Metrics of several models or checkpoints, uncalibrated, clipped and calibrated.

    Parameters
    ----------
    comparison : ModelComparison
        Result of `calib.compare_models`.

    References
    ----------
    Lucena 2018, Figure 2, arXiv:1809.07751.

    Examples
    --------
    >>> import calib
    >>> models = calib.examples.EXAMPLES["rounds"].load_models()
    >>> figure = calib.plot.checkpoints(calib.compare_models(models, method="platt"))
    >>> [title.text for title in figure.layout.annotations][:2]
    ['Log loss', 'Brier score']
    """
    columns = comparison.columns[:MAX_PANELS]
    panels = timeline(
        _positions(comparison),
        _names(comparison),
        {escaped(column.label): _upward(comparison, column) for column in columns},
        margin=0.05,
        most_ticks=MAX_TICKS,
        height=PANEL_HEIGHT,
        gap=GAP,
        rates=[escaped(column.label) for column in columns if is_share(column.key)],
    )
    layers = [
        _line(comparison, column, panel, number)
        for panel, column in enumerate(columns)
        for number in range(len(comparison.methods))
    ]
    layers += [legend_entry(method(key)) for key in comparison.methods]
    at = level(comparison.settings.confidence_level)
    rows = counts_of_each((model.n_rows for model in comparison.models.values()), "row")
    return draw(
        "checkpoints",
        panels,
        layers,
        _alt(comparison),
        title=escaped(_title(comparison)),
        details=f"{len(comparison.models)} models · {rows} · {at} intervals",
        top=TOP + TITLE_ROW,
        left=62,
    )


def _title(comparison: ModelComparison) -> str:
    """How many models have a lower loss after calibration."""
    column, after = comparison.columns[0], comparison.methods[-1]
    losses = [
        (model.metrics["uncalibrated"][column.key].value, model.metrics[after][column.key].value)
        for model in comparison.models.values()
        if {"uncalibrated", after} <= set(model.metrics)
    ]
    lower = sum(second < first for first, second in losses)
    loss, name = f"{column.label[0].lower()}{column.label[1:]}", CALIBRATORS[after].short_label
    return f"{name} lowers the {loss} of {lower} of {len(losses)} models"


def _alt(comparison: ModelComparison) -> str:
    """The first and the last value of the first metric, by method."""
    column, names = comparison.columns[0], list(comparison.models)
    first, last = comparison.models[names[0]], comparison.models[names[-1]]
    sentences = [
        f"{CALIBRATORS[key].short_label}: {number(first.metrics[key][column.key].value)} to "
        f"{number(last.metrics[key][column.key].value)}."
        for key in comparison.methods
        if key in first.metrics and key in last.metrics
    ]
    span = f"{len(names)} models, {names[0]} to {names[-1]}"
    return f"{column.label} of {span}. {' '.join(sentences)}"


def _positions(comparison: ModelComparison) -> FloatArray:
    """Positions of the models on the axis: logarithms if the last is many times the first."""
    if comparison.positions is None:
        return np.arange(len(comparison.models), dtype=np.float64)
    at = np.asarray(comparison.positions, dtype=np.float64)
    wide = len(at) > 2 and at.min() > 0.0 and at.max() >= MIN_LOG_RATIO * at.min()
    return np.log10(at) if wide else at


def _line(comparison: ModelComparison, column: Column, panel: int, number: int) -> Layer:
    of = method(comparison.methods[number])
    estimates = [
        model.metrics[of.key][column.key] if of.key in model.metrics else Estimate(float("nan"))
        for model in comparison.models.values()
    ]
    y, low, high = (
        np.array([getattr(e, end) for e in estimates]) for end in ("value", "low", "high")
    )
    at = _positions(comparison)
    aside = (
        (number - (len(comparison.methods) - 1) / 2.0) * METHOD_DISTANCE * float(np.ptp(at) or 1.0)
    )
    return Layer(
        column.key,
        at + aside,
        y,
        panel=panel,
        of=of,
        line=of.faint_line(),
        marker=of.marker(7),
        error_y=whiskers(y, low, high, faded(of.style.color, 0.6)),
        hovertext=[
            _describe(name, model.n_rows, estimate, column)
            for (name, model), estimate in zip(comparison.models.items(), estimates, strict=True)
        ],
        hover=HOVER_TEXT,
    )


def _describe(name: str, n_rows: int, estimate: Estimate, column: Column) -> str:
    written = percent_with_interval if is_share(column.key) else with_interval
    value = f"{column.label} {written(estimate)}"
    return f"{escaped(name)}<br>{escaped(value)}<br>{n_rows:,} rows"


def _names(comparison: ModelComparison) -> list[str]:
    """Labels of the axis: names, or the numbers of checkpoints."""
    if comparison.positions is None:
        return [escaped(shortened(name)) for name in comparison.models]
    return [f"{position:g}" for position in comparison.positions]


def _upward(comparison: ModelComparison, column: Column) -> list[float]:
    estimates = [
        metrics[column.key]
        for model in comparison.models.values()
        for metrics in model.metrics.values()
    ]
    return padded([[e.value, e.low, e.high] for e in estimates], margin=0.08)
