"""Held-out log loss over epsilon, and below it the rows that the compact logit leaves alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib.analysis import Analysis
from calib.crossfit.epsilon import EpsilonCurve
from calib.figures.chart import Chart, make_chart
from calib.figures.stacked import (
    HEIGHT,
    LEFT,
    WIDTH,
    log_axis,
    loss_axis,
    path_look,
    stacked_axes,
    upright,
)
from calib.figures.theme import METHOD_STYLES, of_counts, style_of
from calib.figures.trace import Trace, scatter
from calib.numerics.arrays import FloatArray
from calib.text import escaped, number, significant

ROWS_STYLE = METHOD_STYLES["uncalibrated"]


def epsilon_chart(analysis: Analysis, curves: Sequence[EpsilonCurve]) -> Chart:
    """Log loss of each curve over epsilon; large markers at the one in use, a line at the rule.

    Parameters
    ----------
    analysis : Analysis
    curves : sequence of EpsilonCurve
        At least one, of methods of the analysis; the point in use is that of the comparison.
    """
    drawn = [_with_use(analysis, curve) for curve in curves]
    across = log_axis("ε", curves[0].epsilon)
    above = loss_axis("Held-out log loss", *(curve.log_loss for curve in drawn))
    rule, epsilon = analysis.compact_logit.rule, analysis.compact_logit.epsilon
    traces = [
        upright(rule, above["range"], f"rule: ε = {significant(rule, 2)}", "rule", showlegend=True)
    ]
    traces += [_losses(analysis, curve, epsilon) for curve in drawn]
    traces.append(_outside(drawn[0], epsilon))
    below = {"title": "Outside", **of_counts(float(drawn[0].n_outside.max()))}
    layout = stacked_axes(across, above, below)
    return make_chart(
        traces,
        layout,
        _alt(analysis, drawn),
        plot_width=WIDTH,
        plot_height=HEIGHT,
        left=LEFT,
        revision="epsilon",
    )


def _with_use(analysis: Analysis, curve: EpsilonCurve) -> EpsilonCurve:
    """The curve with the point in use among its own."""
    known = analysis.compact_logit
    others = curve.epsilon != known.epsilon
    at = int(np.searchsorted(curve.epsilon[others], known.epsilon))
    loss = analysis.methods[curve.key].metrics["log_loss"].value

    def inserted(values: FloatArray, value: float) -> FloatArray:
        return np.insert(values[others], at, value)

    return EpsilonCurve(
        curve.key,
        inserted(curve.epsilon, known.epsilon),
        inserted(curve.log_loss, loss),
        inserted(curve.n_outside, known.n_outside),
    )


def _position(curve: EpsilonCurve, epsilon: float) -> int:
    return int(np.flatnonzero(curve.epsilon == epsilon)[0])


def _losses(analysis: Analysis, curve: EpsilonCurve, epsilon: float) -> Trace:
    return scatter(
        x=curve.epsilon,
        y=curve.log_loss,
        name=escaped(analysis.methods[curve.key].label),
        uid=f"log loss {curve.key}",
        hovertemplate="ε = %{x:.2g}<br>log loss %{y:.5f}<extra>%{fullData.name}</extra>",
        showlegend=True,
        **path_look(style_of(curve.key), _position(curve, epsilon), len(curve.epsilon)),
    )


def _outside(curve: EpsilonCurve, epsilon: float) -> Trace:
    return scatter(
        x=curve.epsilon,
        y=curve.n_outside,
        yaxis="y2",
        name="Rows left as they are",
        uid="rows outside",
        hovertemplate="ε = %{x:.2g}<br>%{y:,.0f} rows outside [ε, 1 − ε]<extra></extra>",
        showlegend=False,
        **path_look(ROWS_STYLE, _position(curve, epsilon), len(curve.epsilon)),
    )


def _alt(analysis: Analysis, curves: Sequence[EpsilonCurve]) -> str:
    known = analysis.compact_logit
    said = [
        f"{analysis.methods[curve.key].label} has its least, {number(curve.log_loss.min())}, at "
        f"epsilon {significant(curve.epsilon[curve.log_loss.argmin()], 2)}, and "
        f"{number(curve.log_loss[_position(curve, known.epsilon)])} at the one in use."
        for curve in curves
    ]
    return " ".join(
        [f"Held-out log loss over epsilon, {significant(known.epsilon, 2)} in use.", *said]
    )
