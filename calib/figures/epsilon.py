"""Held-out log loss over epsilon, and below it the rows that the compact logit leaves alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib.analysis import Analysis
from calib.crossfit.epsilon import EpsilonCurve
from calib.figures.axes import count_axis, log_axis, loss_axis
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import Subject, method, path, vertical
from calib.figures.panels import over_parameter
from calib.figures.theme import style_of
from calib.numerics.arrays import FloatArray
from calib.text import number, significant

LEFT = 74
OUTSIDE = Subject("outside", "Rows left unchanged", style_of("uncalibrated"))


@chart
def epsilon_chart(analysis: Analysis, curves: Sequence[EpsilonCurve]) -> Chart:
    """Held-out log loss by epsilon. Large markers: the epsilon in use. Line: the automatic epsilon.

    Parameters
    ----------
    analysis : Analysis
    curves : sequence of EpsilonCurve
        At least one curve of a method of the analysis.
    """
    drawn = [_with_use(analysis, curve) for curve in curves]
    loss = loss_axis("Held-out log loss", *(curve.log_loss for curve in drawn))
    rows = count_axis("Rows outside", float(drawn[0].n_outside.max()), nticks=4)
    known, first = analysis.compact_logit, drawn[0]
    name = f"Automatic: ε = {significant(known.rule, 2)}"
    rule = vertical("rule", known.rule, loss["range"], name=name, width=1.25, legend=True)
    losses = [
        path(
            "log loss",
            method(analysis.methods[curve.key]),
            curve.epsilon,
            curve.log_loss,
            chosen=_position(curve, known.epsilon),
            hover="ε = %{x:.2g}<br>log loss %{y:.5f}<extra>%{fullData.name}</extra>",
            legend=True,
        )
        for curve in drawn
    ]
    outside = path(
        "rows",
        OUTSIDE,
        first.epsilon,
        first.n_outside,
        chosen=_position(first, known.epsilon),
        yaxis="y2",
        hover="ε = %{x:.2g}<br>%{y:,.0f} rows outside [ε, 1 − ε]<extra></extra>",
    )
    panels = over_parameter(log_axis("ε", curves[0].epsilon), loss, rows)
    layers = [rule, *losses, outside]
    name = analysis.data.name
    return draw("epsilon", panels, layers, _alt(analysis, drawn), of=(name,), left=LEFT)


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


def _alt(analysis: Analysis, curves: Sequence[EpsilonCurve]) -> str:
    known = analysis.compact_logit
    sentences = [
        f"{analysis.methods[curve.key].label} is lowest, {number(curve.log_loss.min())}, at "
        f"epsilon {significant(curve.epsilon[curve.log_loss.argmin()], 2)}; at the epsilon in use "
        f"it is {number(curve.log_loss[_position(curve, known.epsilon)])}."
        for curve in curves
    ]
    return " ".join(
        [f"Held-out log loss over epsilon, {significant(known.epsilon, 2)} in use.", *sentences]
    )
