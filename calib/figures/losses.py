"""Losses over one parameter: the weight lambda of a penalty, epsilon, or the bound of clipping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.calibrators import CALIBRATORS
from calib.crossfit.clipping import Clipping
from calib.crossfit.epsilon import EpsilonCurve
from calib.curves.functions import LambdaPath
from calib.figures.axes import Axis, axis, count_axis, log_axis, padded
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import Subject, Trace, curve, linked, vertical
from calib.figures.layers import method as method_of
from calib.figures.panels import Panels, one, stacked
from calib.figures.theme import MethodStyle, style_of
from calib.numerics.arrays import FloatArray
from calib.text import number, significant

LEFT = 74
# Pixels: the width, and the heights of both panels, with the gap between them.
WIDTH, UPPER, GAP, LOWER = 460, 220, 16, 84
# What differs by less is drawn as equal, and what differs by this is still drawn.
MIN_SPAN, WIDE_SPAN = 1e-3, 0.02
OUTSIDE = Subject("outside", "Rows left unchanged", style_of("uncalibrated"))
CLIPPED = Subject("clipped", "Clipped", MethodStyle(style_of("clip").color, "solid", "circle"))


def with_path(analysis: Analysis) -> tuple[str, ...]:
    """Keys of the methods that have a lambda path."""
    return tuple(key for key, result in analysis.methods.items() if result.function.path)


@chart
def lambda_path_chart(analysis: Analysis, method: str) -> Chart:
    """Cross-validated loss of one method by lambda. A large marker shows the lambda in use.

    Parameters
    ----------
    analysis : Analysis
    method : str
        Key of a method with a lambda path.

    Raises
    ------
    ValueError
        If the method has no lambda path.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("spline",)})
    >>> calib.plot.lambda_path(analysis, "spline").layout.yaxis.title.text
    'Cross-validated loss'
    """
    result = analysis.methods[method]
    path = result.function.path
    if path is None:
        raise ValueError(f"method must have a lambda path, got {method!r}.")
    of, across = method_of(result), log_axis("Penalty weight λ (smoother →)", path.lambdas)
    loss, at = _loss_axis("Cross-validated loss", path.losses), float(path.lambdas[path.chosen])
    name = f"In use: λ = {significant(at)}"
    layers = [vertical("in use", at, loss["range"], name=name, width=1.25, legend=True)]
    losses = _path(
        "losses",
        of,
        path.lambdas,
        path.losses,
        chosen=path.chosen,
        hover="λ = %{x:.3g}<br>loss %{y:.5f}<extra></extra>",
    )
    layers.append(losses)
    degrees = None
    if len(path.degrees):
        degrees = axis("d.f.", rangemode="tozero", fixedrange=True, nticks=4)
        hover = "λ = %{x:.3g}<br>%{y:.1f} degrees of freedom<extra></extra>"
        lower = {"yaxis": "y2", "name": "Degrees of freedom", "hover": hover}
        layers.append(_path("degrees", of, path.lambdas, path.degrees, chosen=path.chosen, **lower))
        losses |= {
            "customdata": path.degrees,
            "hovertemplate": "λ = %{x:.3g}<br>loss %{y:.5f}<br>%{customdata:.1f} degrees of freedom"
            "<extra></extra>",
        }
    panels, file = _over_parameter(across, loss, degrees), (analysis.data.name, method)
    alt = _lambda_alt(result, path)
    return draw("lambda path", panels, layers, alt, of=file, view=method, left=LEFT)


def _lambda_alt(result: MethodResult, path: LambdaPath) -> str:
    i = path.chosen
    degrees = f" with {number(path.degrees[i], 1)} degrees of freedom" if len(path.degrees) else ""
    return (
        f"Cross-validated loss of {result.label} at {len(path.lambdas)} values of lambda: "
        f"lambda {significant(path.lambdas[i])} is in use{degrees}, loss {number(path.losses[i])}; "
        f"the lowest loss is {number(path.losses.min())}."
    )


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
    loss = _loss_axis("Held-out log loss", *(curve.log_loss for curve in drawn))
    rows = count_axis("Rows outside", float(drawn[0].n_outside.max()), nticks=4)
    known, first = analysis.compact_logit, drawn[0]
    name = f"Automatic: ε = {significant(known.rule, 2)}"
    rule = vertical("rule", known.rule, loss["range"], name=name, width=1.25, legend=True)
    losses = [
        _path(
            "log loss",
            method_of(analysis.methods[curve.key]),
            curve.epsilon,
            curve.log_loss,
            chosen=_position(curve, known.epsilon),
            hover="ε = %{x:.2g}<br>log loss %{y:.5f}<extra>%{fullData.name}</extra>",
            legend=True,
        )
        for curve in drawn
    ]
    outside = _path(
        "rows",
        OUTSIDE,
        first.epsilon,
        first.n_outside,
        chosen=_position(first, known.epsilon),
        yaxis="y2",
        hover="ε = %{x:.2g}<br>%{y:,.0f} rows outside [ε, 1 − ε]<extra></extra>",
    )
    panels = _over_parameter(log_axis("ε", curves[0].epsilon), loss, rows)
    layers = [rule, *losses, outside]
    name = analysis.data.name
    return draw("epsilon", panels, layers, _epsilon_alt(analysis, drawn), of=(name,), left=LEFT)


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


def _epsilon_alt(analysis: Analysis, curves: Sequence[EpsilonCurve]) -> str:
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
        for of, value in zip(map(method_of, levels), levels.values(), strict=True)
    ]
    marker = {"color": CLIPPED.style.color, "symbol": CLIPPED.style.symbol, "size": 9}
    hover = "p_min = %{x:g}: %{y:.4f}<extra></extra>"
    clipped = curve("", CLIPPED, p_min, losses, mode="lines+markers", marker=marker, hover=hover)
    reached = padded(losses, list(levels.values()), margin=0.06)
    upward = axis("Held-out multiclass log loss", range=reached, nticks=6, tickformat="~g")
    return draw(
        "clipping",
        one(log_axis("Bound p_min", p_min), upward, 380, 240),
        [*layers, clipped],
        f"Held-out multiclass log loss: {number(found.uncalibrated.value)} uncalibrated, "
        f"{number(found.best.log_loss.value)} clipped at the best bound, "
        f"{significant(found.best.p_min)}, "
        f"{number(found.calibrated.value)} after {CALIBRATORS[found.calibrator].label}.",
        of=(found.calibrator,),
        left=70,
    )


def _over_parameter(x: Axis, loss: Axis, below: Axis | None = None) -> Panels:
    """A loss over one parameter, and what goes with it in a lower panel."""
    panels = [(loss, UPPER), *([] if below is None else [(below, LOWER)])]
    return stacked(x, panels, WIDTH, GAP)


def _loss_axis(title: str, *losses: FloatArray) -> Axis:
    """An axis on which low losses can be distinguished.

    At the end of a path a loss may be many times the least, and drawn whole it would flatten all
    others: such an end leaves the panel. Differences that do not matter are not blown up either.
    """
    values = np.concatenate(losses)
    low, middle, high = (float(np.quantile(values, share)) for share in (0.0, 0.5, 1.0))
    top = min(high, low + max(6.0 * (middle - low), WIDE_SPAN))
    aside = 0.08 * (top - low) + max(MIN_SPAN - (top - low), 0.0) / 2
    return axis(title, range=[low - aside, top + aside], nticks=6, tickformat="~g")


def _path(what: str, of: Subject, x: Any, y: Any, *, chosen: int, **options: Any) -> Trace:
    """A line through points, one of which is in use and larger."""
    sizes, symbols = np.full(len(x), 5.0), ["circle"] * len(x)
    sizes[chosen], symbols[chosen] = 14.0, of.style.symbol
    marker = {"size": sizes, "symbol": symbols, "line": {"width": 0}}
    return linked(what, of, x, y, marker=marker, **options)
