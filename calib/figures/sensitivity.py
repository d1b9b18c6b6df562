"""The sensitivity strip: ECE over the number of bins, for both strategies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calib.analysis import Analysis
from calib.curves.sensitivity import Sensitivity, SensitivityCurve
from calib.figures.chart import Chart, make_chart
from calib.figures.theme import BAND, FRAME, LINE_WIDTH, axis_look, faded
from calib.figures.trace import Trace, scatter
from calib.numerics.arrays import FloatArray
from calib.settings import Settings
from calib.text import between, level, number
from calib.uncertainty import Estimate

WIDTH, HEIGHT = 640, 210
LEFT = 66
DASHES: Mapping[str, str] = {"quantile": "solid", "uniform": "dot"}
# Two of Tol's bright scheme: no method has them, and both read on white and on near-black.
COLORS: Mapping[str, str] = {"quantile": "#4477AA", "uniform": "#EE6677"}


def sensitivity_chart(
    analysis: Analysis, sensitivity: Sensitivity, method: str = "uncalibrated"
) -> Chart:
    """ECE with its interval from few bins to many, and the binning in use.

    A hollow point is an error that calibrated scores would show too. The grey band is how far
    theirs would reach with the strategy in use, the dashed line their mean.

    Parameters
    ----------
    analysis : Analysis
    sensitivity : Sensitivity
        Of the same method.
    method : str
    """
    settings = analysis.settings
    used = getattr(sensitivity, settings.strategy)
    other = sensitivity.uniform if used is sensitivity.quantile else sensitivity.quantile
    now = analysis.methods[method].metrics[f"ece_{settings.strategy}"]
    traces = [_noise(used), _floor(used), _interval(other, 0.14), _interval(used, 0.26)]
    traces += [_line(other), _line(used)]
    traces += [_reference(settings.n_bins), _choice(settings, now)]
    label = analysis.methods[method].label
    return make_chart(
        traces,
        _axes(sensitivity, settings.n_bins, now),
        f"ECE of {label} over {used.n_bins[0]} to {used.n_bins[-1]} bins: "
        f"{_range(sensitivity.quantile)} with quantile bins, {_range(sensitivity.uniform)} with "
        f"uniform ones; {number(now.value)} with {settings.n_bins} {settings.strategy} bins as "
        "chosen.",
        plot_width=WIDTH,
        plot_height=HEIGHT,
        left=LEFT,
        revision=f"sensitivity {method}",
    )


def _range(curve: SensitivityCurve) -> str:
    return between(curve.ece.min(), curve.ece.max())


def _area(x: FloatArray, low: FloatArray, high: FloatArray, color: str, **look: object) -> Trace:
    return scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([low, high[::-1]]),
        mode="lines",
        fill="toself",
        fillcolor=color,
        line={"width": 0},
        hoverinfo="skip",
        **look,
    )


def _noise(curve: SensitivityCurve) -> Trace:
    name = f"{level(curve.confidence_level)} if ideal"
    floor = np.zeros(len(curve.noise))
    return _area(curve.n_bins.astype(float), floor, curve.noise, BAND, name=name, uid="noise")


def _floor(curve: SensitivityCurve) -> Trace:
    """What calibrated scores show on average."""
    return scatter(
        x=curve.n_bins,
        y=curve.noise_floor,
        mode="lines",
        name="Calibrated, mean",
        uid="noise floor",
        line={"color": FRAME, "width": 1.25, "dash": "dash"},
        hoverinfo="skip",
    )


def _interval(curve: SensitivityCurve, alpha: float) -> Trace:
    return _area(
        curve.n_bins.astype(float),
        curve.low,
        curve.high,
        faded(COLORS[curve.strategy], alpha),
        name=curve.strategy,
        uid=f"interval {curve.strategy}",
        legendgroup=curve.strategy,
        showlegend=False,
    )


def _line(curve: SensitivityCurve) -> Trace:
    color = COLORS[curve.strategy]
    points = zip(
        curve.n_bins,
        curve.ece,
        curve.low,
        curve.high,
        curve.noise_floor,
        curve.miscalibrated,
        strict=True,
    )
    said = [
        f"{n} {curve.strategy} bins: ECE {number(ece)}"
        f"<br>{level(curve.confidence_level)} interval {between(low, high)}"
        f"<br>calibrated scores show {number(floor)} on average"
        f"<br>{'more than chance' if more else 'no more than calibrated scores would show'}"
        for n, ece, low, high, floor, more in points
    ]
    return scatter(
        x=curve.n_bins,
        y=curve.ece,
        mode="lines+markers",
        name=f"{curve.strategy.capitalize()} bins",
        uid=f"ece {curve.strategy}",
        legendgroup=curve.strategy,
        line={"color": color, "width": LINE_WIDTH, "dash": DASHES[curve.strategy]},
        marker={
            "color": color,
            "symbol": ["circle" if more else "circle-open" for more in curve.miscalibrated],
            "size": 5,
            "opacity": 1.0,
            "line": {"width": 1, "color": color},
        },
        hovertext=said,
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=True,
    )


def _reference(n_bins: int) -> Trace:
    return scatter(
        x=[n_bins, n_bins],
        y=[0.0, 1.0],
        mode="lines",
        line={"color": FRAME, "width": 1, "dash": "dot"},
        uid="reference",
        hoverinfo="skip",
        showlegend=False,
    )


def _choice(settings: Settings, now: Estimate) -> Trace:
    color = COLORS[settings.strategy]
    return scatter(
        x=[settings.n_bins],
        y=[now.value],
        mode="markers",
        name="Your choice",
        uid="choice",
        marker={
            "color": color,
            "symbol": "diamond",
            "size": 11,
            "opacity": 1.0,
            "line": {"width": 1.5, "color": color},
        },
        hovertemplate="your choice: %{x} bins, ECE %{y:.4f}<extra></extra>",
        showlegend=True,
    )


def _axes(sensitivity: Sensitivity, n_bins: int, now: Estimate) -> dict[str, object]:
    both = (sensitivity.uniform, sensitivity.quantile)
    first = min(n_bins, *(int(curve.n_bins[0]) for curve in both))
    last = max(n_bins, *(int(curve.n_bins[-1]) for curve in both))
    reached = [now.value, *(float(np.max([curve.high, curve.noise])) for curve in both)]
    margin = 0.02 * (last - first) + 0.5
    return {
        "xaxis": axis_look("Number of bins", range=[first - margin, last + margin], nticks=10),
        "yaxis": axis_look("ECE", range=[0.0, 1.06 * max(reached) or 1.0], nticks=5),
    }
