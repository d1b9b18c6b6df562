"""Curves of observed frequency without bins, with their bands, over a reliability diagram."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from calib.curves.rate import RateCurve
from calib.figures.scales import Scale
from calib.figures.theme import LINE_WIDTH, OUTCOME, faded
from calib.figures.trace import Trace, scatter
from calib.text import level, probability

RATE_NAMES: Mapping[str, str] = {"corp": "CORP line", "smooth": "Smooth line"}
RATE_DASHES: Mapping[str, str] = {"corp": "solid", "smooth": "dash"}
BAND_ALPHA = 0.16


def rate_traces(curves: Iterable[RateCurve], scale: Scale) -> list[Trace]:
    """Bands of all curves, and above them the curves."""
    drawn = tuple(curves)
    return [_band(curve, scale) for curve in drawn] + [_line(curve, scale) for curve in drawn]


def _band(curve: RateCurve, scale: Scale) -> Trace:
    x, low, high = (scale.at(part) for part in (curve.score, curve.low, curve.high))
    return scatter(
        x=np.concatenate([x, x[::-1]]).astype(np.float32),
        y=np.concatenate([low, high[::-1]]).astype(np.float32),
        mode="lines",
        fill="toself",
        fillcolor=faded(OUTCOME, BAND_ALPHA),
        # One score alone has no area: its band is a thick stroke.
        line={"color": faded(OUTCOME, BAND_ALPHA), "width": 8 if len(curve.score) == 1 else 0},
        name=RATE_NAMES[curve.kind],
        uid=f"band {curve.kind}",
        legendgroup=curve.kind,
        hoverinfo="skip",
        showlegend=False,
    )


def _line(curve: RateCurve, scale: Scale) -> Trace:
    points = zip(curve.score, curve.observed, curve.low, curve.high, strict=True)
    said = [
        f"score {probability(s)}: observed {probability(p)}"
        f"<br>{level(curve.confidence_level)} interval {probability(low)} to {probability(high)}"
        for s, p, low, high in points
    ]
    return scatter(
        x=scale.at(curve.score).astype(np.float32),
        y=scale.at(curve.observed).astype(np.float32),
        mode="lines",
        name=RATE_NAMES[curve.kind],
        uid=f"rate {curve.kind}",
        legendgroup=curve.kind,
        line={"color": OUTCOME, "width": LINE_WIDTH, "dash": RATE_DASHES[curve.kind]},
        hovertext=said,
        hovertemplate="<b>%{fullData.name}</b><br>%{hovertext}<extra></extra>",
        showlegend=True,
    )
