"""Charts of an analysis as Plotly figures, which a notebook can show, change and save.

Examples
--------
>>> import calib
>>> y, p = [0, 1, 0, 1, 1, 0] * 50, [0.1, 0.9, 0.2, 0.6, 0.7, 0.4] * 50
>>> figure = calib.plot.reliability(calib.from_predictions(y, p))
>>> figure.layout.xaxis.title.text
'Mean predicted probability'
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, get_origin, get_type_hints

from calib.figures import CHARTS, Chart
from calib.figures.certified_error import certified_error_chart
from calib.figures.cumulative import cumulative_chart, cumulative_difference_chart
from calib.figures.decisions import cost_chart, net_benefit_chart
from calib.figures.functions import (
    adjustments_chart,
    compact_logit_chart,
    difference_chart,
    functions_chart,
    matrix_difference_chart,
    sensitivity_chart,
)
from calib.figures.losses import checkpoint_chart, clipping_chart, epsilon_chart, lambda_path_chart
from calib.figures.periods import period_chart
from calib.figures.reliability import overlay_chart, reliability_chart, scores_by_outcome_chart
from calib.figures.slices import slice_chart
from calib.figures.summary import before_after_chart, summary_chart

__all__ = [
    "adjustments",
    "before_after",
    "certified_error",
    "checkpoints",
    "clipping",
    "compact_logit",
    "cost",
    "cumulative",
    "cumulative_difference",
    "differences",
    "epsilon",
    "functions",
    "lambda_path",
    "matrix_differences",
    "net_benefit",
    "overlay",
    "periods",
    "reliability",
    "scores_by_outcome",
    "sensitivity",
    "slices",
    "summary",
]

if TYPE_CHECKING:
    from calib.figures.chart import Figure

Arguments = ParamSpec("Arguments")


def _figure(draw: Callable[Arguments, Chart]) -> Callable[Arguments, Figure]:
    """Change a function that returns a chart so that it returns the Plotly figure."""
    signature = inspect.signature(draw)
    first = next(iter(signature.parameters))

    @wraps(draw)
    def plot(*args: Arguments.args, **options: Arguments.kwargs) -> Figure:
        if args or first in options:
            _check_drawn(draw, first, args[0] if args else options[first])
        return draw(*args, **options).figure

    shown = signature.replace(return_annotation="plotly.graph_objects.Figure")
    plot.__signature__ = shown  # type: ignore[attr-defined]
    return plot


def _check_drawn(draw: Callable[..., Chart], name: str, value: Any) -> None:
    """Refuse a first argument that is not of the class that a chart draws, such as a DataFrame."""
    try:
        hint = get_type_hints(draw)[name]
    except (NameError, KeyError):  # Charts of other packages may have no annotations to read.
        return
    kind = get_origin(hint) or hint
    if not inspect.isclass(kind) or isinstance(value, kind):
        return
    repair = " Use calib.analyze or calib.from_predictions." if kind.__name__ == "Analysis" else ""
    raise TypeError(
        f"{name} must be of the type {kind.__name__}, got {type(value).__name__}.{repair}"
    )


adjustments = _figure(adjustments_chart)
before_after = _figure(before_after_chart)
certified_error = _figure(certified_error_chart)
checkpoints = _figure(checkpoint_chart)
clipping = _figure(clipping_chart)
compact_logit = _figure(compact_logit_chart)
cost = _figure(cost_chart)
cumulative = _figure(cumulative_chart)
cumulative_difference = _figure(cumulative_difference_chart)
differences = _figure(difference_chart)
epsilon = _figure(epsilon_chart)
functions = _figure(functions_chart)
lambda_path = _figure(lambda_path_chart)
matrix_differences = _figure(matrix_difference_chart)
net_benefit = _figure(net_benefit_chart)
overlay = _figure(overlay_chart)
periods = _figure(period_chart)
reliability = _figure(reliability_chart)
scores_by_outcome = _figure(scores_by_outcome_chart)
sensitivity = _figure(sensitivity_chart)
slices = _figure(slice_chart)
summary = _figure(summary_chart)


def _registered() -> dict[str, Callable[..., Chart]]:
    """The charts that are not listed above: `outcome_chart` under the name "outcome"."""
    listed = {globals()[name].__wrapped__ for name in __all__}
    return {
        name.removesuffix("_chart"): draw
        for name, draw in CHARTS.items()
        if name.endswith("_chart") and draw not in listed
    }


def __getattr__(name: str) -> Any:
    # Names with an underscore are asked for by Python itself, which must not import all charts.
    if not name.startswith("_") and name in (registered := _registered()):
        return _figure(registered[name])
    raise AttributeError(f"module 'calib.plot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_registered()})
