"""The lambda path: cross-validated loss, and degrees of freedom, over the weight of the penalty."""

from __future__ import annotations

from calib.analysis import Analysis, MethodResult
from calib.curves.functions import LambdaPath
from calib.figures.axes import axis, log_axis, loss_axis
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import method as method_of
from calib.figures.layers import path as path_layer
from calib.figures.layers import vertical
from calib.figures.panels import over_parameter
from calib.text import number, significant

LEFT = 74


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
    loss, at = loss_axis("Cross-validated loss", path.losses), float(path.lambdas[path.chosen])
    name = f"In use: λ = {significant(at)}"
    layers = [vertical("in use", at, loss["range"], name=name, width=1.25, legend=True)]
    losses = path_layer(
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
        layers.append(
            path_layer("degrees", of, path.lambdas, path.degrees, chosen=path.chosen, **lower)
        )
        losses |= {
            "customdata": path.degrees,
            "hovertemplate": "λ = %{x:.3g}<br>loss %{y:.5f}<br>%{customdata:.1f} degrees of freedom"
            "<extra></extra>",
        }
    panels, file = over_parameter(across, loss, degrees), (analysis.data.name, method)
    alt = _alt(result, path)
    return draw("lambda path", panels, layers, alt, of=file, view=method, left=LEFT)


def _alt(result: MethodResult, path: LambdaPath) -> str:
    i = path.chosen
    degrees = f" with {number(path.degrees[i], 1)} degrees of freedom" if len(path.degrees) else ""
    return (
        f"Cross-validated loss of {result.label} at {len(path.lambdas)} values of lambda: "
        f"lambda {significant(path.lambdas[i])} is in use{degrees}, loss {number(path.losses[i])}; "
        f"the lowest loss is {number(path.losses.min())}."
    )
