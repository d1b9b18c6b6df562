"""The cumulative difference: its climbs and falls are where scores are too low and too high."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.figures.chart import Chart, make_chart
from calib.figures.theme import BAND, FRAME, LINE_WIDTH, MethodStyle, axis_look, style_of
from calib.figures.trace import Trace, scatter
from calib.figures.words import verdicts
from calib.numerics.arrays import FloatArray
from calib.text import escaped, level, number

WIDTH, HEIGHT = 640, 300
LEFT = 66
# A ring of background stays between the two where they meet, for the narrow symbols too.
HOLLOW, FILLED = 16, 7


def cumulative_difference_chart(analysis: Analysis, methods: Sequence[str]) -> Chart:
    """Cumulative outcome minus cumulative score against the fractile, with the null band.

    A filled marker stands where the KS error is reached; the hollow ones span the Kuiper error.

    Parameters
    ----------
    analysis : Analysis
    methods : sequence of str
        The band is that of the first.

    References
    ----------
    Arrieta-Ibarra et al. 2022, arXiv:2205.09680.
    """
    results = [analysis.methods[key] for key in methods]
    first = results[0].cumulative
    traces = [_band(first.null_half_width, first.confidence_level), _zero()]
    traces += [_curve(result) for result in results]
    traces += [_extremes(result, named=len(results) == 1) for result in results]
    reached = [first.null_half_width, *(float(abs(r.cumulative.difference).max()) for r in results)]
    limit = 1.15 * max(reached) or 1.0
    layout = {
        "xaxis": axis_look("Fractile of scores", range=[-0.01, 1.01], nticks=6),
        "yaxis": axis_look("Cumulative outcome − score", range=[-limit, limit], nticks=7),
    }
    return make_chart(
        traces,
        layout,
        f"Cumulative difference between outcomes and scores. {verdicts(analysis, methods)}",
        plot_width=WIDTH,
        plot_height=HEIGHT,
        left=LEFT,
        revision="cumulative difference",
    )


def _band(half_width: float, confidence: float) -> Trace:
    return scatter(
        x=[0.0, 1.0, 1.0, 0.0],
        y=[-half_width, -half_width, half_width, half_width],
        mode="lines",
        fill="toself",
        fillcolor=BAND,
        line={"width": 0},
        name=f"{level(confidence)} if ideal",
        uid="band",
        hoverinfo="skip",
    )


def _zero() -> Trace:
    return scatter(
        x=[0.0, 1.0],
        y=[0.0, 0.0],
        mode="lines",
        line={"color": FRAME, "width": 1, "dash": "dot"},
        uid="zero",
        hoverinfo="skip",
        showlegend=False,
    )


def _curve(result: MethodResult) -> Trace:
    curve, style = result.cumulative, style_of(result.key)
    return scatter(
        x=curve.fractile.astype(np.float32),
        y=curve.difference.astype(np.float32),
        customdata=curve.score.astype(np.float32),
        mode="lines",
        name=escaped(result.label),
        uid=f"difference {result.key}",
        legendgroup=result.key,
        line={"color": style.color, "width": LINE_WIDTH, "dash": style.dash},
        hovertemplate=(
            "fractile %{x:.3f}, score %{customdata:.3f}<br>difference %{y:+.4f}"
            "<extra>%{fullData.name}</extra>"
        ),
        showlegend=True,
    )


def _extremes(result: MethodResult, *, named: bool) -> Trace:
    """The ends of the Kuiper range, and the KS point last: it lies on one of them, and above it."""
    curve, style = result.cumulative, style_of(result.key)
    difference: FloatArray = curve.difference
    top, bottom = int(difference.argmax()), int(difference.argmin())
    furthest = top if difference[top] >= -difference[bottom] else bottom
    at = np.array([bottom, top, furthest])
    kuiper = f"Kuiper error {number(difference[top] - difference[bottom])}"
    said = [f"{kuiper}, lowest", f"{kuiper}, highest"]
    # Under the pointer lies the marker on top, so its words are those of both.
    said.append(f"KS error {number(abs(difference[furthest]))}<br>{said[furthest == top]}")
    return scatter(
        x=curve.fractile[at],
        y=difference[at],
        mode="markers+text" if named else "markers",
        text=["", "", f"KS {number(abs(difference[furthest]), 3)}"],
        # Away from the nearer side, and above or below the curve's end.
        textposition=("top " if furthest == top else "bottom ")
        + ("left" if curve.fractile[furthest] > 0.5 else "right"),
        name=escaped(result.label),
        uid=f"extremes {result.key}",
        legendgroup=result.key,
        marker=_extreme_markers(style),
        hovertext=[
            f"{words}<br>at score {number(curve.score[i], 3)}"
            for words, i in zip(said, at, strict=True)
        ],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
        showlegend=False,
    )


def _extreme_markers(style: MethodStyle) -> dict[str, object]:
    return {
        "color": style.color,
        "symbol": [style.hollow, style.hollow, style.symbol],
        "size": [HOLLOW, HOLLOW, FILLED],
        "line": {"width": 1.25, "color": style.color},
        "opacity": 1.0,
    }
