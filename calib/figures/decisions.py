"""Expected cost and net benefit (decision curve) per row over all thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calib.analysis.decisions import CostCurves, Costs, DecisionTable, NetBenefit
from calib.calibrators import CALIBRATORS
from calib.figures.axes import PERCENT_TICKS, PanelAxis, Panels, one
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import Layer, Subject, Values, method, reference
from calib.figures.theme import Dash
from calib.numerics.arrays import FloatArray
from calib.text import number, percent, plural, score_percent, significant
from calib.words import decisions as wording

WIDTH, HEIGHT, LEFT = 500, 300, 66
CURVE_HOVER = "threshold %{x:.1%}<br>%{y:.4f}<extra>%{fullData.name}</extra>"
# Labels of more markers would cover each other, and those nearer to the side would be cut off.
MAX_LABELS, EDGE = 2, 0.2
LEVEL_HOVER = "%{y:.4f}<extra>%{fullData.name}</extra>"


@chart
def cost_chart(
    curves: CostCurves,
    table: DecisionTable,
    methods: Sequence[str],
    *,
    n_rows: int | None = None,
    recommended: str = "",
) -> Chart:
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
    n_rows : int, optional
        Number of rows, which is said below the title.
    recommended : str
        Key of the method that the analysis recommends. Its line is strong.

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
    whole, all_, none = [0.0, 1.0], [curves.treat_all] * 2, [curves.treat_none] * 2
    layers = [
        _reference("treat all", whole, all_, "Flag all", LEVEL_HOVER, dash="dash"),
        _reference("treat none", whole, none, "Flag none", LEVEL_HOVER),
    ]
    layers += [
        _curve("cost", method(key, recommended), curves.threshold, curves.cost[key])
        for key in methods
    ]
    layers += _marks(table, [method(key, recommended) for key in methods])
    if table.costs.capacity is None:
        layers.append(_threshold_line(table.costs.threshold, ends))
    return draw(
        "cost",
        _over_thresholds("Expected cost per row", ends),
        layers,
        "Expected cost per row over the threshold.",
        title=_cost_title(table, methods),
        details=_details(n_rows, _costs(table.costs)),
        left=LEFT,
    )


@chart
def net_benefit_chart(
    curves: NetBenefit,
    methods: Sequence[str],
    *,
    threshold: float | None = None,
    n_rows: int | None = None,
    recommended: str = "",
) -> Chart:
    """Net benefit by threshold (decision curve), compared with flagging all rows or none.

    Parameters
    ----------
    curves : NetBenefit
        Result of `calib.decisions.net_benefit`.
    methods : sequence of str
        Keys of the methods.
    threshold : float, optional
        A threshold to mark.
    n_rows : int, optional
        Number of rows, which is said below the title.
    recommended : str
        Key of the method that the analysis recommends. Its line is strong.

    References
    ----------
    Vickers and Elkin 2006, doi:10.1177/0272989X06295361.

    Examples
    --------
    >>> import calib
    >>> analysis = calib.from_predictions([0, 1, 0, 1] * 50, [0.1, 0.8, 0.3, 0.6] * 50)
    >>> curves = calib.decisions.net_benefit(analysis.held_out)
    >>> figure = calib.plot.net_benefit(curves, ["uncalibrated"], threshold=0.2)
    >>> figure.layout.xaxis.title.text
    'Threshold'
    """
    at, all_ = curves.threshold, curves.treat_all
    ends = [-0.25 * curves.base_rate, 1.08 * curves.base_rate]
    layers = [
        _reference("treat none", [0.0, 1.0], [0.0, 0.0], "Flag none", LEVEL_HOVER),
        _reference("treat all", at, all_, "Flag all", CURVE_HOVER, dash="dash"),
    ]
    layers += [
        _curve("benefit", method(key, recommended), at, curves.benefit[key]) for key in methods
    ]
    if threshold is not None:
        layers.append(_threshold_line(threshold, ends))
    return draw(
        "net benefit",
        _over_thresholds("Net benefit per row", ends),
        layers,
        "Net benefit per row over the threshold.",
        title=wording.useful(curves, methods),
        details=_details(n_rows, f"{percent(curves.base_rate)} positive"),
        left=LEFT,
    )


def _cost_title(table: DecisionTable, methods: Sequence[str]) -> str:
    """The cost per row of the first method, and of the second one, if there are two."""
    costs = [number(table.methods[key].cost.value, 3) for key in methods[:2]]
    if len(costs) == 1:
        return f"The cost per row is {costs[0]}"
    first, second = (CALIBRATORS[key].short_label for key in methods[:2])
    return f"The cost per row is {costs[0]} with {first}, {costs[1]} with {second}"


def _details(n_rows: int | None, others: str) -> str:
    """The line below the title. Curves by threshold do not know the number of their rows."""
    return others if n_rows is None else f"{plural(n_rows, 'row')} · {others}"


def _costs(costs: Costs) -> str:
    """What errors cost, or how many rows are flagged."""
    if costs.capacity is not None:
        return f"{percent(costs.capacity)} of rows are flagged"
    positive, negative = significant(costs.false_positive), significant(costs.false_negative)
    return f"false positives cost {positive}, false negatives {negative}"


def _reference(key: str, x: Values, y: Values, name: str, hover: str, dash: Dash = "dot") -> Layer:
    line = reference(1.25, dash)
    return Layer(key, x, y, line=line, name=name, hover=hover, legend=True)


def _curve(key: str, of: Subject, threshold: FloatArray, values: FloatArray) -> Layer:
    return Layer(key, threshold, values, of=of, line=of.line(), hover=CURVE_HOVER, legend=True)


def _over_thresholds(title: str, ends: Sequence[float]) -> Panels:
    """A panel with all thresholds across."""
    across = PanelAxis("Threshold", range=[-0.01, 1.01], nticks=6, tickformat=PERCENT_TICKS)
    return one(across, PanelAxis(title, range=ends, nticks=6, tickformat="~g"), WIDTH, HEIGHT)


def _threshold_line(threshold: float, ends: Sequence[float]) -> Layer:
    """The threshold in use."""
    name, line = f"Threshold {score_percent(threshold)}", reference(1.5, dash=None)
    return Layer("threshold", [threshold] * 2, ends, line=line, name=name, legend=True)


def _marks(table: DecisionTable, subjects: Sequence[Subject]) -> list[Layer]:
    """A marker at the capacity of each method, or at its lowest cost, with a label if it fits."""
    marks = [_mark(table, of) for of in subjects]
    if len(marks) > MAX_LABELS:
        return [replace(mark, text=None) for mark in marks]
    places = [float(mark.x[0] or 0.0) for mark in marks]
    # If methods are at one place, the first and the last have a label on either side.
    first, last = int(np.argmin(places)), len(places) - 1 - int(np.argmax(places[::-1]))
    positions = {last: "bottom right", first: "bottom left"}
    if places[first] < EDGE:
        positions[first] = "bottom right"
    if places[last] > 1.0 - EDGE:
        positions[last] = "bottom left"
    if first != last and positions[first] == positions[last]:
        # Both labels would be in the same place, so they become one.
        both = f"{(marks[first].text or [''])[0]} and {number(float(marks[last].y[0] or 0.0), 3)}"
        marks[first] = replace(marks[first], text=[both])
        marks[last] = replace(marks[last], text=None)
    return [replace(mark, textposition=positions[i]) for i, mark in enumerate(marks)]


def _mark(table: DecisionTable, of: Subject) -> Layer:
    decision = table.methods[of.key]
    if table.costs.capacity is not None:
        kind, at, cost = "capacity", decision.threshold, decision.cost.value
        label = f"capacity reached at {score_percent(at)}: {number(cost)}"
        text = f"capacity: {number(cost, 3)}"
    else:
        kind, at, cost = "hindsight", min(decision.hindsight, 1.0), decision.hindsight_cost
        place = "none flagged" if decision.hindsight > 1.0 else f"at {score_percent(at)}"
        label = f"lowest cost on these rows: {number(cost)}, {place}"
        text = f"lowest: {number(cost, 3)}"
    hover = f"{label}<extra>%{{fullData.name}}</extra>"
    return Layer(kind, [at], [cost], of=of, marker=of.marker(10), hover=hover, text=[text])
