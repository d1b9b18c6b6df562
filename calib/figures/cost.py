"""Expected cost per row over all thresholds."""

from __future__ import annotations

from collections.abc import Sequence

from calib.analysis.decisions import CostCurves, DecisionTable
from calib.calibrators import CALIBRATORS
from calib.figures.axes import axis
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import Trace, curve, horizontal, method, points, vertical
from calib.figures.panels import Panels, one
from calib.text import number, probability, significant

WIDTH, HEIGHT, LEFT = 500, 300, 66
HOVER = "threshold %{x:.3f}<br>%{y:.4f}<extra>%{fullData.name}</extra>"
LEVEL = "%{y:.4f}<extra>%{fullData.name}</extra>"


@chart
def cost_chart(curves: CostCurves, table: DecisionTable, methods: Sequence[str]) -> Chart:
    """Expected cost per row by threshold.

    Parameters
    ----------
    curves : CostCurves
        Result of `calib.decisions.cost_curves`.
    table : DecisionTable
        Result of `calib.decisions.decide` with the same costs. It gives the threshold of each
        method, and the threshold with the lowest cost in hindsight.
    methods : sequence of str
        Keys of the methods.

    Examples
    --------
    >>> import calib
    >>> analysis = calib.from_predictions([0, 1, 0, 1] * 50, [0.1, 0.8, 0.3, 0.6] * 50)
    >>> held_out, costs = analysis.held_out, calib.decisions.Costs(false_negative=4)
    >>> curves = calib.decisions.cost_curves(held_out, costs)
    >>> table = calib.decisions.decide(held_out, costs)
    >>> figure = calib.plot.cost(curves, table, ["uncalibrated"])
    >>> figure.layout.xaxis.title.text
    'Threshold'
    """
    top = 1.08 * max(curves.treat_all, curves.treat_none)
    low = min(float(curves.cost[key].min()) for key in methods)
    ends = [max(0.0, low - 0.25 * (top - low)), top]
    look = {"width": 1.25, "hover": LEVEL, "legend": True}
    layers = [
        horizontal("treat all", curves.treat_all, name="Flag all", dash="dash", **look),
        horizontal("treat none", curves.treat_none, name="Flag none", **look),
    ]
    layers += [
        curve("cost", method(key), curves.threshold, curves.cost[key], hover=HOVER)
        for key in methods
    ]
    layers += [_mark(table, key) for key in methods]
    if table.costs.capacity is None:
        layers.append(threshold_line(table.costs.threshold, ends))
    sentences = [
        f"{CALIBRATORS[key].label}: {number(table.methods[key].cost.value)} at its threshold."
        for key in methods
    ]
    return draw(
        "cost",
        over_thresholds("Expected cost per row", ends),
        layers,
        f"Expected cost per row over the threshold. {' '.join(sentences)}",
        left=LEFT,
    )


def over_thresholds(title: str, ends: Sequence[float]) -> Panels:
    """A panel with all thresholds across."""
    across = axis("Threshold", range=[-0.01, 1.01], nticks=6)
    return one(across, axis(title, range=ends, nticks=6, tickformat="~g"), WIDTH, HEIGHT)


def threshold_line(threshold: float, ends: Sequence[float]) -> Trace:
    """The threshold in use."""
    name = f"Threshold {significant(threshold)}"
    return vertical("threshold", threshold, ends, name=name, width=1.5, dash=None, legend=True)


def _mark(table: DecisionTable, key: str) -> Trace:
    """A marker at the capacity of a method, or at its lowest cost."""
    decision = table.methods[key]
    if table.costs.capacity is not None:
        kind, at, cost = "capacity", decision.threshold, decision.cost.value
        label = f"capacity reached at {probability(at)}: {number(cost)}"
    else:
        kind, at, cost = "hindsight", min(decision.hindsight, 1.0), decision.hindsight_cost
        place = "none flagged" if decision.hindsight > 1.0 else f"at {probability(at)}"
        label = f"lowest in hindsight: {number(cost)}, {place}"
    hover = f"{label}<extra>%{{fullData.name}}</extra>"
    return points(kind, method(key), [at], [cost], marker={"size": 10}, hover=hover)
