"""Clipping against calibration: held-out log loss over the bound."""

from __future__ import annotations

import numpy as np

from calib.figures.chart import Chart, make_chart
from calib.figures.stacked import log_axis
from calib.figures.theme import axis_look, style_of
from calib.figures.trace import Trace, scatter
from calib.matrices.clipping import Clipping
from calib.methods import method_of
from calib.text import escaped, number, significant

WIDTH, HEIGHT, LEFT = 380, 240, 70


def clipping_chart(found: Clipping) -> Chart:
    """Log loss of clipped scores over the bound, between no clipping and calibration.

    Parameters
    ----------
    found : Clipping
    """
    p_min = np.array([one.p_min for one in found.bounds])
    losses = np.array([one.log_loss.value for one in found.bounds])
    ends = np.array([p_min.min(), p_min.max()])
    levels = {"uncalibrated": found.uncalibrated.value, found.calibrator: found.calibrated.value}
    traces = [_level(key, value, ends) for key, value in levels.items()]
    traces.append(_clipped(p_min, losses))
    label = method_of(found.calibrator).label
    return make_chart(
        traces,
        {
            "xaxis": axis_look(**log_axis("Bound p_min", p_min)),
            "yaxis": axis_look("Held-out multiclass log loss", nticks=6, tickformat="~g"),
        },
        f"Held-out multiclass log loss: {number(found.uncalibrated.value)} uncalibrated, "
        f"{number(found.best.log_loss.value)} clipped at the best bound, "
        f"{significant(found.best.p_min)}, "
        f"{number(found.calibrated.value)} after {label}.",
        plot_width=WIDTH,
        plot_height=HEIGHT,
        left=LEFT,
        revision="clipping",
    )


def _level(key: str, value: float, ends: np.ndarray) -> Trace:
    style, name = style_of(key), escaped(method_of(key).label)
    return scatter(
        x=ends,
        y=np.array([value, value]),
        mode="lines",
        name=name,
        uid=f"level {key}",
        line={"color": style.color, "dash": style.dash, "width": 1.75},
        hovertemplate=f"{name}: %{{y:.4f}}<extra></extra>",
    )


def _clipped(p_min: np.ndarray, losses: np.ndarray) -> Trace:
    style = style_of("clip")
    return scatter(
        x=p_min,
        y=losses,
        mode="lines+markers",
        name="Clipped",
        uid="clipped",
        line={"color": style.color, "width": 1.75},
        marker={"color": style.color, "symbol": "circle", "size": 9},
        hovertemplate="p_min = %{x:g}: %{y:.4f}<extra></extra>",
    )
