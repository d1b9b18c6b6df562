"""Checkpoints: metrics over training, uncalibrated, clipped and calibrated, one panel a metric."""

from __future__ import annotations

import numpy as np

from calib.analysis import Column as Metric
from calib.analysis.model_comparison import ModelComparison
from calib.crossfit.comparison import Estimate
from calib.figures.chart import Chart, make_chart
from calib.figures.column import Column
from calib.figures.grid import axis_ids, panel_title
from calib.figures.panels import legend_entry
from calib.figures.theme import faded, style_of
from calib.figures.trace import Trace, scatter, whiskers
from calib.methods import method_of
from calib.numerics.arrays import FloatArray
from calib.text import escaped, number, shortened, with_interval

WIDTH, PANEL, GAP = 640, 130, 34
MAX_PANELS, MAX_TICKS = 4, 6
# Intervals of neighbours that lie over each other are hard to tell apart.
STEP = 0.012
# From so many times the first checkpoint on, the last one would leave no room for the others.
LOG_FROM = 30.0


def checkpoint_chart(comparison: ModelComparison) -> Chart:
    """Metrics of every model, in the order of training.

    Parameters
    ----------
    comparison : ModelComparison

    References
    ----------
    Figure 2 of Lucena 2018, arXiv:1809.07751.
    """
    columns = comparison.columns[:MAX_PANELS]
    panels = Column(len(columns), PANEL, GAP)
    axes = panels.axes(
        _positions(comparison),
        _names(comparison),
        [_upward(comparison, column) for column in columns],
        margin=0.05,
        most_ticks=MAX_TICKS,
    )
    mode = "lines+markers"
    traces = [
        _line(comparison, column, panel, number)
        for panel, column in enumerate(columns)
        for number in range(len(comparison.methods))
    ]
    traces += [
        legend_entry(key, escaped(method_of(key).label), style_of(key), mode)
        for key in comparison.methods
    ]
    titles = [panel_title(escaped(column.label), panel) for panel, column in enumerate(columns)]
    return make_chart(
        traces,
        axes | {"annotations": titles},
        _alt(comparison),
        plot_width=WIDTH,
        plot_height=panels.height,
        top=26,
        left=62,
        revision="checkpoints",
    )


def _alt(comparison: ModelComparison) -> str:
    """Where the first metric begins and ends, by method."""
    column, names = comparison.columns[0], list(comparison.models)
    first, last = comparison.models[names[0]], comparison.models[names[-1]]
    said = [
        f"{method_of(key).label}: {number(first.metrics[key][column.key].value)} to "
        f"{number(last.metrics[key][column.key].value)}."
        for key in comparison.methods
        if key in first.metrics and key in last.metrics
    ]
    span = f"{len(names)} models, {names[0]} to {names[-1]}"
    return f"{column.label} of {span}. {' '.join(said)}"


def _positions(comparison: ModelComparison) -> FloatArray:
    """Where the models stand; checkpoints that are ever farther apart, by their logarithm."""
    if comparison.positions is None:
        return np.arange(len(comparison.models), dtype=np.float64)
    at = np.asarray(comparison.positions, dtype=np.float64)
    wide = len(at) > 2 and at.min() > 0.0 and at.max() >= LOG_FROM * at.min()
    return np.log10(at) if wide else at


def _line(comparison: ModelComparison, column: Metric, panel: int, number: int) -> Trace:
    key = comparison.methods[number]
    style = style_of(key)
    found = [
        model.metrics[key][column.key] if key in model.metrics else Estimate(float("nan"))
        for model in comparison.models.values()
    ]
    y, low, high = (np.array([getattr(e, end) for e in found]) for end in ("value", "low", "high"))
    at = _positions(comparison)
    aside = (number - (len(comparison.methods) - 1) / 2.0) * STEP * float(np.ptp(at) or 1.0)
    return scatter(
        x=at + aside,
        y=y,
        mode="lines+markers",
        name=escaped(method_of(key).label),
        uid=f"{column.key} {key}",
        legendgroup=key,
        line={"color": faded(style.color, 0.7), "width": 1.5, "dash": style.dash},
        marker={"color": style.color, "symbol": style.symbol, "size": 7, "opacity": 1.0},
        error_y=whiskers(y, low, high, faded(style.color, 0.6)),
        hovertext=[
            _describe(name, model.n_rows, estimate, column)
            for (name, model), estimate in zip(comparison.models.items(), found, strict=True)
        ],
        hovertemplate="<b>%{fullData.name}</b><br>%{hovertext}<extra></extra>",
        showlegend=False,
        **axis_ids(panel),
    )


def _describe(name: str, n_rows: int, estimate: Estimate, column: Metric) -> str:
    said = f"{column.label} {with_interval(estimate)}"
    return f"{escaped(name)}<br>{escaped(said)}<br>{n_rows:,} rows"


def _names(comparison: ModelComparison) -> list[str]:
    """Under the axis: names, or the numbers of checkpoints."""
    if comparison.positions is None:
        return [escaped(shortened(name)) for name in comparison.models]
    return [f"{position:g}" for position in comparison.positions]


def _upward(comparison: ModelComparison, column: Metric) -> list[float]:
    ends = np.array(
        [
            end
            for model in comparison.models.values()
            for found in model.metrics.values()
            for end in (found[column.key].value, found[column.key].low, found[column.key].high)
        ]
    )
    known = ends[np.isfinite(ends)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    margin = 0.08 * (high - low) or 0.01
    return [low - margin, high + margin]
