"""The lambda path: cross-validated loss, and degrees of freedom, over the weight of the penalty."""

from __future__ import annotations

from calib.analysis import Analysis, MethodResult
from calib.curves.functions import LambdaPath
from calib.figures.chart import Chart, make_chart
from calib.figures.stacked import (
    HEIGHT,
    LEFT,
    UPPER,
    WIDTH,
    log_axis,
    loss_axis,
    path_look,
    stacked_axes,
    upright,
)
from calib.figures.theme import axis_look, style_of
from calib.figures.trace import Trace, scatter
from calib.text import escaped, number, significant


def with_path(analysis: Analysis) -> tuple[str, ...]:
    """Keys of the methods that have a lambda path."""
    return tuple(key for key, result in analysis.methods.items() if result.function.path)


def lambda_path_chart(analysis: Analysis, method: str) -> Chart:
    """Cross-validated loss of one method over lambda, the one in use marked by a large marker.

    Parameters
    ----------
    analysis : Analysis
    method : str
        Key of a method with a lambda path.

    Raises
    ------
    ValueError
        If the method has none.
    """
    result = analysis.methods[method]
    path = result.function.path
    if path is None:
        raise ValueError(f"method must have a lambda path, got {method!r}.")
    counted = len(path.degrees) > 0
    across = log_axis("Weight λ of the penalty (smoother →)", path.lambdas)
    above = loss_axis("Cross-validated loss", path.losses)
    traces = [_in_use(path, above["range"]), _losses(result, path)]
    if counted:
        traces.append(_degrees(result, path))
        below = {"title": "d.f.", "rangemode": "tozero", "fixedrange": True}
        layout = stacked_axes(across, above, below)
    else:
        layout = {"xaxis": axis_look(**across), "yaxis": axis_look(**above)}
    return make_chart(
        traces,
        layout,
        _alt(result, path),
        plot_width=WIDTH,
        plot_height=HEIGHT if counted else UPPER,
        left=LEFT,
        revision=f"lambda path {method}",
    )


def _alt(result: MethodResult, path: LambdaPath) -> str:
    i = path.chosen
    degrees = f" with {number(path.degrees[i], 1)} degrees of freedom" if len(path.degrees) else ""
    return (
        f"Cross-validated loss of {result.label} at {len(path.lambdas)} weights of its penalty: "
        f"lambda {significant(path.lambdas[i])} is in use{degrees}, loss {number(path.losses[i])}; "
        f"the least loss is {number(path.losses.min())}."
    )


def _in_use(path: LambdaPath, span: list[float]) -> Trace:
    at = float(path.lambdas[path.chosen])
    return upright(at, span, f"in use: λ = {significant(at)}", "in use", showlegend=True)


def _losses(result: MethodResult, path: LambdaPath) -> Trace:
    counted = len(path.degrees) > 0
    return scatter(
        x=path.lambdas,
        y=path.losses,
        customdata=path.degrees if counted else None,
        name=escaped(result.label),
        uid="losses",
        hovertemplate="λ = %{x:.3g}<br>loss %{y:.5f}"
        + ("<br>%{customdata:.1f} degrees of freedom" if counted else "")
        + "<extra></extra>",
        showlegend=False,
        **path_look(style_of(result.key), path.chosen, len(path.lambdas)),
    )


def _degrees(result: MethodResult, path: LambdaPath) -> Trace:
    return scatter(
        x=path.lambdas,
        y=path.degrees,
        yaxis="y2",
        name="Degrees of freedom",
        uid="degrees",
        hovertemplate="λ = %{x:.3g}<br>%{y:.1f} degrees of freedom<extra></extra>",
        showlegend=False,
        **path_look(style_of(result.key), path.chosen, len(path.lambdas)),
    )
