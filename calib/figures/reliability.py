"""The reliability diagram: a square panel, and the score histogram on the same x-axis below."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.analysis import Analysis, MethodResult
from calib.figures.chart import Chart, make_chart
from calib.figures.panels import band as band_trace
from calib.figures.panels import diagonal, dots, few_entry, legend_entry, square
from calib.figures.scales import AxisKind, Scale, scale_for
from calib.figures.theme import LINE_WIDTH, axis_look, faded, style_of
from calib.figures.words import count, escaped, span, verdicts

SIDE, GAP, HISTOGRAM = 400, 14, 76


def reliability_chart(
    analysis: Analysis,
    methods: Sequence[str] = ("uncalibrated",),
    *,
    axis: AxisKind = "linear",
    band: bool = True,
    histogram: bool = True,
) -> Chart:
    """Observed frequency against mean predicted probability, bin by bin.

    Parameters
    ----------
    analysis : Analysis
    methods : sequence of str
        Keys of the methods to draw; the consistency band is that of the first.
    axis : {"linear", "logit"}
        The logit axis spreads out probabilities near 0 and 1.
    band, histogram : bool
        Whether to draw the consistency band, and the histogram of scores.

    Returns
    -------
    Chart
        Each dot's ``customdata`` is (position of its bin, key of its method).
    """
    results = [analysis.methods[key] for key in methods]
    scale = scale_for(axis, [result.reliability for result in results])
    figure = go.Figure()
    if band:
        figure.add_trace(band_trace(results[0].reliability, scale))
    figure.add_trace(diagonal(scale))
    figure.add_traces([_dots(result, scale) for result in results])
    figure.add_traces([_entry(result) for result in results])
    if any(result.reliability.few.any() for result in results):
        figure.add_trace(few_entry())
    if histogram:
        figure.add_traces([_histogram(result, scale, len(results)) for result in results])
    plot_height = _lay_out(figure, scale, histogram)
    n_bins = len(results[0].reliability.rows)
    return make_chart(
        figure,
        f"Reliability diagram, {n_bins} occupied bins. {verdicts(analysis, methods)}",
        plot_width=SIDE,
        plot_height=plot_height,
        revision=f"reliability {axis}",
    )


def _dots(result: MethodResult, scale: Scale) -> go.Scatter:
    style = style_of(result.key)
    return dots(result.key, escaped(result.label), result.reliability, style, scale)


def _entry(result: MethodResult) -> go.Scatter:
    return legend_entry(
        result.key, escaped(result.label), style_of(result.key), mode="lines+markers"
    )


def _histogram(result: MethodResult, scale: Scale, n_drawn: int) -> go.Scatter:
    """Steps over equal intervals of the score; one method is filled, several are outlines."""
    edges = np.linspace(0.0, 1.0, len(result.histogram) + 1)
    color = style_of(result.key).color
    said = [
        f"scores {span(low, high)}<br>{count(weight)} rows"
        for low, high, weight in zip(edges[:-1], edges[1:], result.histogram, strict=True)
    ]
    return go.Scatter(
        x=scale.at(np.concatenate([[0.0], edges])),
        y=np.concatenate([[0.0], result.histogram, [0.0]]),
        yaxis="y2",
        mode="lines",
        line={"shape": "hv", "width": 1 if n_drawn == 1 else LINE_WIDTH - 0.5, "color": color},
        fill="tozeroy" if n_drawn == 1 else "none",
        fillcolor=faded(color, 0.35),
        name=escaped(result.label),
        uid=f"histogram {result.key}",
        legendgroup=result.key,
        showlegend=False,
        hovertext=["", *said, ""],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _lay_out(figure: go.Figure, scale: Scale, histogram: bool) -> int:
    across, upward = square()
    height = SIDE + GAP + HISTOGRAM if histogram else SIDE
    figure.update_layout(
        # One x-axis for both panels: the histogram stays under its dots at any width and zoom.
        xaxis=axis_look(
            "Mean predicted probability",
            **scale.options(),
            **across,
            anchor="y2" if histogram else "y",
        ),
        yaxis=axis_look(
            "Observed frequency", **scale.options(), **upward, domain=[1 - SIDE / height, 1]
        ),
    )
    if histogram:
        figure.update_layout(yaxis2=_count_axis(HISTOGRAM / height))
    return height


def _count_axis(top: float) -> dict[str, object]:
    return axis_look(
        "Rows",
        domain=[0, top],
        anchor="x",
        rangemode="tozero",
        fixedrange=True,
        nticks=3,
        tickformat="~s",
        mirror=False,
    )
