"""Clipping against calibration: held-out log loss over the bound."""

from __future__ import annotations

import numpy as np

from calib.calibrators import CALIBRATORS
from calib.crossfit.clipping import Clipping
from calib.figures.axes import axis, log_axis, padded
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import Subject, curve, method
from calib.figures.panels import one
from calib.figures.theme import MethodStyle, style_of
from calib.text import number, significant

WIDTH, HEIGHT, LEFT = 380, 240, 70
CLIPPED = Subject("clipped", "Clipped", MethodStyle(style_of("clip").color, "solid", "circle"))


@chart
def clipping_chart(found: Clipping) -> Chart:
    """Log loss of clipped scores by bound, compared with no clipping and with calibration.

    Parameters
    ----------
    found : Clipping
        Result of `calib.compare_clipping`.

    Examples
    --------
    >>> import calib, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1.0, 1.0, 1.0], 600)
    >>> rows = calib.Predictions.from_arrays([rng.choice(3, p=row) for row in p], p)
    >>> compared = calib.compare_multiclass(rows, ("temperature",))
    >>> calib.plot.clipping(calib.compare_clipping(compared)).layout.xaxis.title.text
    'Bound p_min'
    """
    p_min = np.array([one.p_min for one in found.bounds])
    losses = np.array([one.log_loss.value for one in found.bounds])
    ends = np.array([p_min.min(), p_min.max()])
    levels = {"uncalibrated": found.uncalibrated.value, found.calibrator: found.calibrated.value}
    layers = [
        curve("level", of, ends, np.full(2, value), hover=f"{of.name}: %{{y:.4f}}<extra></extra>")
        for of, value in zip(map(method, levels), levels.values(), strict=True)
    ]
    marker = {"color": CLIPPED.style.color, "symbol": CLIPPED.style.symbol, "size": 9}
    hover = "p_min = %{x:g}: %{y:.4f}<extra></extra>"
    clipped = curve("", CLIPPED, p_min, losses, mode="lines+markers", marker=marker, hover=hover)
    reached = padded(losses, list(levels.values()), margin=0.06)
    upward = axis("Held-out multiclass log loss", range=reached, nticks=6, tickformat="~g")
    return draw(
        "clipping",
        one(log_axis("Bound p_min", p_min), upward, WIDTH, HEIGHT),
        [*layers, clipped],
        f"Held-out multiclass log loss: {number(found.uncalibrated.value)} uncalibrated, "
        f"{number(found.best.log_loss.value)} clipped at the best bound, "
        f"{significant(found.best.p_min)}, "
        f"{number(found.calibrated.value)} after {CALIBRATORS[found.calibrator].label}.",
        of=(found.calibrator,),
        left=LEFT,
    )
