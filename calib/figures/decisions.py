"""Decisions: net benefit and expected cost over all thresholds."""

from __future__ import annotations

from collections.abc import Sequence

from calib.analysis.decisions import CostCurves, DecisionTable, NetBenefit
from calib.figures.chart import Chart, make_chart
from calib.figures.theme import FRAME, LINE_WIDTH, axis_look, style_of
from calib.figures.trace import Trace, scatter
from calib.methods import method_of
from calib.numerics.arrays import FloatArray
from calib.text import escaped, number, probability, significant

WIDTH, HEIGHT = 500, 300
LEFT = 66


def cost_chart(curves: CostCurves, table: DecisionTable, methods: Sequence[str]) -> Chart:
    """Expected cost of a row over the threshold.

    Parameters
    ----------
    curves : CostCurves
    table : DecisionTable
        Of the same costs: where each method decides, and where it would have cost least.
    methods : sequence of str
        Keys of the methods to draw.
    """
    top = 1.08 * max(curves.treat_all, curves.treat_none)
    low = min(float(curves.cost[key].min()) for key in methods)
    bottom = max(0.0, low - 0.25 * (top - low))
    traces = [_level(curves.treat_all, "Flag all", "treat all", "dash")]
    traces.append(_level(curves.treat_none, "Flag none", "treat none", "dot"))
    traces += [_curve(key, curves.threshold, curves.cost[key], "cost") for key in methods]
    traces += [_mark(table, key) for key in methods]
    if table.costs.capacity is None:
        traces.append(_upright(table.costs.threshold, [bottom, top]))
    layout = {
        "xaxis": axis_look("Threshold", range=[-0.01, 1.01], nticks=6),
        "yaxis": axis_look("Expected cost per row", range=[bottom, top], nticks=6, tickformat="~g"),
    }
    said = [
        f"{method_of(key).label}: {number(table.methods[key].cost.value)} at its threshold."
        for key in methods
    ]
    return make_chart(
        traces,
        layout,
        f"Expected cost of a row over the threshold. {' '.join(said)}",
        plot_width=WIDTH,
        plot_height=HEIGHT,
        left=LEFT,
        revision="cost",
    )


def net_benefit_chart(
    curves: NetBenefit, methods: Sequence[str], *, threshold: float | None = None
) -> Chart:
    """Net benefit over the threshold, with flagging all rows and flagging none.

    Parameters
    ----------
    curves : NetBenefit
    methods : sequence of str
        Keys of the methods to draw.
    threshold : float, optional
        The one in use, marked.

    References
    ----------
    Vickers and Elkin 2006, doi:10.1177/0272989X06295361.
    """
    top = 1.08 * curves.base_rate
    bottom = -0.25 * curves.base_rate
    treat_all = _curve("", curves.threshold, curves.treat_all, "treat all")
    treat_all.update(
        name="Flag all", showlegend=True, line={"color": FRAME, "width": 1.25, "dash": "dash"}
    )
    traces = [_level(0.0, "Flag none", "treat none", "dot"), treat_all]
    traces += [_curve(key, curves.threshold, curves.benefit[key], "benefit") for key in methods]
    if threshold is not None:
        traces.append(_upright(threshold, [bottom, top]))
    layout = {
        "xaxis": axis_look("Threshold", range=[-0.01, 1.01], nticks=6),
        "yaxis": axis_look("Net benefit per row", range=[bottom, top], nticks=6, tickformat="~g"),
    }
    return make_chart(
        traces,
        layout,
        f"Net benefit over the threshold. {' '.join(_said(curves, key) for key in methods)}",
        plot_width=WIDTH,
        plot_height=HEIGHT,
        left=LEFT,
        revision="net benefit",
    )


def _said(curves: NetBenefit, key: str) -> str:
    """Where a method does worse than acting without it."""
    worse = curves.threshold[curves.shortfall(key) > 0.0]
    label = method_of(key).label
    if not len(worse):
        return f"{label}: nowhere below flagging all or none."
    first, last = worse.min(), worse.max()
    return f"{label}: below flagging all or none at thresholds from {first:g} to {last:g}."


def _curve(key: str, threshold: FloatArray, values: FloatArray, kind: str) -> Trace:
    style = style_of(key)
    label = escaped(method_of(key).label) if key else ""
    return scatter(
        x=threshold,
        y=values,
        mode="lines",
        name=label,
        uid=f"{kind} {key}".strip(),
        legendgroup=key,
        line={"color": style.color, "width": LINE_WIDTH, "dash": style.dash},
        hovertemplate="threshold %{x:.3f}<br>%{y:.4f}<extra>%{fullData.name}</extra>",
        showlegend=True,
    )


def _level(value: float, name: str, uid: str, dash: str) -> Trace:
    return scatter(
        x=[0.0, 1.0],
        y=[value, value],
        mode="lines",
        name=name,
        uid=uid,
        line={"color": FRAME, "width": 1.25, "dash": dash},
        hovertemplate="%{y:.4f}<extra>%{fullData.name}</extra>",
    )


def _mark(table: DecisionTable, key: str) -> Trace:
    """A marker where a method reaches the capacity, or where it would have cost least."""
    decision, style = table.methods[key], style_of(key)
    if table.costs.capacity is not None:
        kind, at, cost = "capacity", decision.threshold, decision.cost.value
        said = f"capacity reached at {probability(at)}: {number(cost)}"
    else:
        kind, at, cost = "hindsight", min(decision.hindsight, 1.0), decision.hindsight_cost
        place = "none flagged" if decision.hindsight > 1.0 else f"from {probability(at)} on"
        said = f"least in hindsight: {number(cost)}, {place}"
    return scatter(
        x=[at],
        y=[cost],
        mode="markers",
        name=escaped(method_of(key).label),
        uid=f"{kind} {key}",
        legendgroup=key,
        marker={"color": style.color, "symbol": style.symbol, "size": 10},
        hovertemplate=f"{said}<extra>%{{fullData.name}}</extra>",
        showlegend=False,
    )


def _upright(x: float, span: list[float]) -> Trace:
    return scatter(
        x=[x, x],
        y=span,
        mode="lines",
        name=f"Threshold {significant(x)}",
        uid="threshold",
        line={"color": FRAME, "width": 1.5},
        hoverinfo="skip",
    )
