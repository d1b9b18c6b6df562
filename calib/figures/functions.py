"""Calibration functions over the bins of scores, and the compact logit that some start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.curves.functions import CalibrationFunction, CompactLogitCurve
from calib.figures.axes import LINEAR, Axis, AxisKind, Scale, scale_for
from calib.figures.axes import axis as axis_of
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import (
    Subject,
    Trace,
    curve,
    diagonal,
    dots,
    few_entry,
    layer,
    legend_entry,
    method,
    points,
    reference,
    vertical,
)
from calib.figures.panels import square, stacked
from calib.figures.theme import LINE_WIDTH, MethodStyle, faded, style_of
from calib.figures.words import verdicts
from calib.text import significant

SIDE, SMALL, GAP, KNOT_ROW = 380, 300, 12, 9
Rows = Literal["test", "fitted"]
# No method's colour: the faint curves keep that of their method.
BY_RULE = Subject(
    "by rule", "Automatic ε", MethodStyle("rgba(127, 127, 127, 0.5)", "solid", "circle")
)
ROW_WORDS = {"test": "Scored rows", "fitted": "Fitted rows"}


@chart
def functions_chart(
    analysis: Analysis,
    methods: Sequence[str],
    *,
    rows: Rows = "test",
    axis: AxisKind = "linear",
    highlight_knots: bool = False,
    by_rule: Mapping[str, CalibrationFunction] | None = None,
) -> Chart:
    """Calibration functions of methods, with the bins of the uncalibrated scores as dots.

    Parameters
    ----------
    analysis : Analysis
    methods : sequence of str
        Keys of the methods.
    rows : {"test", "fitted"}
        Rows of the dots: those that are scored, or those on which the calibrators were fitted.
    axis : {"linear", "logit"}
        Scale of both axes. The log-odds axis spreads out probabilities near 0 and 1.
    highlight_knots : bool
        Whether to mark the knots of calibrators in a strip below the chart.
    by_rule : mapping of str to CalibrationFunction, optional
        Functions by method with the automatic epsilon, which are drawn in a faint colour.

    Raises
    ------
    ValueError
        If `rows` or `axis` is unknown.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("isotonic", "beta")})
    >>> figure = calib.plot.functions(analysis, ["isotonic", "beta"])
    >>> figure.layout.yaxis.title.text
    'Calibrated probability'
    """
    if rows not in ROW_WORDS:
        raise ValueError(f"rows must be 'test' or 'fitted', got {rows!r}.")
    results = [analysis.methods[key] for key in methods]
    scored = rows == "test"
    bins = analysis.uncalibrated.reliability if scored else analysis.fitted_reliability
    observed = Subject("rows", ROW_WORDS[rows], style_of("uncalibrated"))
    scale = scale_for(axis, [bins])
    before = by_rule or {}
    bent = [result for result in results if highlight_knots and len(result.function.knots)]
    layers = [diagonal(scale, "Identity"), dots(observed, bins, scale, joined=False)]
    layers += [_before(r, before[r.key], scale) for r in results if r.key in before]
    layers += [legend_entry(BY_RULE, "lines")] if before else []
    layers += [
        curve("map", method(r), **_points(r.function, scale))
        for r in results
        if r.key != "uncalibrated"
    ]
    layers += [_knots(result, row, scale) for row, result in enumerate(bent)]
    layers += [legend_entry(observed, "markers"), *few_entry([bins.few])]
    words = ("Score", "Calibrated probability")
    across, upward = (scale.axis(title) for title in words)
    return draw(
        "functions",
        # One x-axis for both: a knot stays under the bend that it makes, at any width and zoom.
        stacked(across, [(upward, SIDE), *_strip(len(bent))], SIDE, GAP, square=True),
        layers,
        f"Calibration functions and observed frequencies of the {observed.name.lower()}. "
        f"{verdicts(analysis, methods)}",
        of=(analysis.data.name, rows),
        view=axis,
    )


def _strip(n_rows: int) -> list[tuple[Axis, int]]:
    """A panel for knots with one row per method, if there are knots."""
    if not n_rows:
        return []
    look = {"showticklabels": False, "ticks": "", "showgrid": False, "fixedrange": True}
    return [(axis_of("Knots", range=[n_rows, -1], **look), KNOT_ROW * (n_rows + 1))]


def _points(function: CalibrationFunction, scale: Scale) -> dict[str, Any]:
    """A calibrator on its axes, and its numbers under the pointer."""
    score, calibrated = function.score, function.calibrated
    shown: dict[str, Any] = {"x": score.astype(np.float32), "y": calibrated.astype(np.float32)}
    values = "score %{x:.4f}, calibrated %{y:.4f}"
    if scale.kind == "logit":
        shown = {"x": scale.beyond(score), "y": scale.beyond(calibrated)}
        shown["customdata"] = np.column_stack([score, calibrated]).tolist()
        values = "score %{customdata[0]:.4~g}, calibrated %{customdata[1]:.4~g}"
    return {**shown, "hover": f"{values}<extra>%{{fullData.name}}</extra>"}


def _before(result: MethodResult, function: CalibrationFunction, scale: Scale) -> Trace:
    of = method(result)
    return layer(
        f"by rule {of.key}",
        **_points(function, scale),
        name=f"{of.name}, automatic ε",
        legendgroup=BY_RULE.key,
        line={"color": faded(of.style.color, 0.35), "width": 2.5 * LINE_WIDTH},
    )


def _knots(result: MethodResult, row: int, scale: Scale) -> Trace:
    knots, of = result.function.knots, method(result)
    edge = {"width": 1.25, "color": of.style.color}
    return points(
        "knots",
        of,
        scale.beyond(knots),
        np.full(len(knots), row),
        customdata=knots,
        yaxis="y2",
        marker={"symbol": "line-ns-open", "size": KNOT_ROW - 1, "line": edge},
        hover="knot at %{customdata:.4~g}<extra>%{fullData.name}</extra>",
    )


@chart
def compact_logit_chart(analysis: Analysis) -> Chart:
    """The compact logit at the epsilon in use, and the identity. Dotted lines mark epsilon.

    Parameters
    ----------
    analysis : Analysis

    References
    ----------
    Lucena 2018, section 5.1, arXiv:1809.07751.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("spline",)})
    >>> calib.plot.compact_logit(analysis).layout.yaxis.title.text
    'Transformed score'
    """
    used = analysis.compact_logit
    whole, ends = [0.0, 1.0], (LINEAR.low, LINEAR.high)
    places = {"epsilon": used.epsilon, "1 − epsilon": 1.0 - used.epsilon}
    layers = [reference("identity", whole, whole, name="Identity", dash="dash", legend=True)]
    layers += [
        vertical(name, place, ends, name=name, hover=f"{name}<extra></extra>")
        for name, place in places.items()
    ]
    transform = layer(
        "compact logit",
        used.score.astype(np.float32),
        used.transformed.astype(np.float32),
        name=f"ε = {significant(used.epsilon, 2)}",
        line={"color": style_of("spline").color, "width": LINE_WIDTH},
        hover="score %{x:.4f}, transformed %{y:.4f}<extra></extra>",
        legend=True,
    )
    panels = square(LINEAR.axis("Score"), LINEAR.axis("Transformed score"), SMALL)
    alt = _compact_logit_alt(used)
    return draw("compact logit", panels, [*layers, transform], alt, of=(used.epsilon,))


def _compact_logit_alt(used: CompactLogitCurve) -> str:
    rows = "1 row is" if used.n_outside == 1 else f"{used.n_outside:,} rows are"
    rule = f" The automatic epsilon is {significant(used.rule, 2)}."
    return (
        f"The compact logit with epsilon {significant(used.epsilon, 2)}: {rows} outside "
        f"[epsilon, 1 - epsilon] and left unchanged.{'' if used.epsilon == used.rule else rule}"
    )
