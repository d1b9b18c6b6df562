"""The compact logit: which scores it spreads out at the epsilon in use."""

from __future__ import annotations

import numpy as np

from calib.analysis import Analysis
from calib.curves.functions import CompactLogitCurve
from calib.figures.chart import Chart, make_chart
from calib.figures.panels import square
from calib.figures.scales import LINEAR
from calib.figures.theme import FRAME, LINE_WIDTH, axis_look, style_of
from calib.figures.trace import Trace, scatter
from calib.text import significant

SIDE = 300


def compact_logit_chart(analysis: Analysis) -> Chart:
    """The compact logit at the epsilon in use, its two ends dotted, and the identity.

    Parameters
    ----------
    analysis : Analysis

    References
    ----------
    Lucena 2018, section 5.1, arXiv:1809.07751.
    """
    curve = analysis.compact_logit
    traces = [_identity(), *_ends(curve), _transform(curve)]
    across, upward = square()
    layout = {
        "xaxis": axis_look("Score", **LINEAR.options(), **across),
        "yaxis": axis_look("Transformed score", **LINEAR.options(), **upward),
    }
    return make_chart(
        traces,
        layout,
        _alt(curve),
        plot_width=SIDE,
        plot_height=SIDE,
        revision="compact logit",
    )


def _alt(curve: CompactLogitCurve) -> str:
    rows = "1 row lies" if curve.n_outside == 1 else f"{curve.n_outside:,} rows lie"
    rule = (
        ""
        if curve.epsilon == curve.rule
        else f" The rule of the paper gives {significant(curve.rule, 2)}."
    )
    return (
        f"The compact logit with epsilon {significant(curve.epsilon, 2)}: {rows} beyond its ends, "
        f"where scores stay as they are.{rule}"
    )


def _identity() -> Trace:
    return scatter(
        x=[0.0, 1.0],
        y=[0.0, 1.0],
        mode="lines",
        name="Identity",
        uid="identity",
        line={"color": FRAME, "width": 1, "dash": "dash"},
        hoverinfo="skip",
        showlegend=True,
    )


def _ends(curve: CompactLogitCurve) -> list[Trace]:
    places = {"epsilon": curve.epsilon, "1 − epsilon": 1.0 - curve.epsilon}
    return [
        scatter(
            x=[place, place],
            y=[LINEAR.low, LINEAR.high],
            mode="lines",
            name=name,
            uid=name,
            line={"color": FRAME, "width": 1, "dash": "dot"},
            hovertemplate=f"{name}<extra></extra>",
            showlegend=False,
        )
        for name, place in places.items()
    ]


def _transform(curve: CompactLogitCurve) -> Trace:
    return scatter(
        x=curve.score.astype(np.float32),
        y=curve.transformed.astype(np.float32),
        mode="lines",
        name=f"ε = {significant(curve.epsilon, 2)}",
        uid="compact logit",
        line={"color": style_of("spline").color, "width": LINE_WIDTH},
        hovertemplate="score %{x:.4f} becomes %{y:.4f}<extra></extra>",
        showlegend=True,
    )
