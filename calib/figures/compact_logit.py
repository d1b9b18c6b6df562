"""The compact logit: which scores it spreads out at the epsilon in use."""

from __future__ import annotations

import numpy as np

from calib.analysis import Analysis
from calib.curves.functions import CompactLogitCurve
from calib.figures.axes import axis
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import layer, reference, vertical
from calib.figures.panels import square
from calib.figures.scales import LINEAR
from calib.figures.theme import LINE_WIDTH, style_of
from calib.text import significant

SIDE = 300


@chart
def compact_logit_chart(analysis: Analysis) -> Chart:
    """The compact logit at the epsilon in use, and the identity. Dotted lines mark epsilon.

    Parameters
    ----------
    analysis : Analysis

    References
    ----------
    Lucena 2018, section 5.1, arXiv:1809.07751.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("spline",)})
    >>> calib.plot.compact_logit(analysis).layout.yaxis.title.text
    'Transformed score'
    """
    curve = analysis.compact_logit
    whole, ends = [0.0, 1.0], (LINEAR.low, LINEAR.high)
    places = {"epsilon": curve.epsilon, "1 − epsilon": 1.0 - curve.epsilon}
    layers = [reference("identity", whole, whole, name="Identity", dash="dash", legend=True)]
    layers += [
        vertical(name, place, ends, name=name, hover=f"{name}<extra></extra>")
        for name, place in places.items()
    ]
    transform = layer(
        "compact logit",
        curve.score.astype(np.float32),
        curve.transformed.astype(np.float32),
        name=f"ε = {significant(curve.epsilon, 2)}",
        line={"color": style_of("spline").color, "width": LINE_WIDTH},
        hover="score %{x:.4f}, transformed %{y:.4f}<extra></extra>",
        legend=True,
    )
    across, upward = (axis(t, **LINEAR.options()) for t in ("Score", "Transformed score"))
    panels = square(across, upward, SIDE)
    return draw("compact logit", panels, [*layers, transform], _alt(curve), of=(curve.epsilon,))


def _alt(curve: CompactLogitCurve) -> str:
    rows = "1 row is" if curve.n_outside == 1 else f"{curve.n_outside:,} rows are"
    rule = f" The automatic epsilon is {significant(curve.rule, 2)}."
    return (
        f"The compact logit with epsilon {significant(curve.epsilon, 2)}: {rows} outside "
        f"[epsilon, 1 - epsilon] and left unchanged.{'' if curve.epsilon == curve.rule else rule}"
    )
