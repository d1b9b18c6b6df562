"""Calibration functions: what every method makes of a score, over the dots that it should meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.curves.functions import CalibrationFunction
from calib.figures.chart import Chart, make_chart
from calib.figures.panels import diagonal, dots, few_entry, legend_entry, square
from calib.figures.scales import AxisKind, Scale, scale_for
from calib.figures.theme import LINE_WIDTH, MethodStyle, axis_look, faded, style_of
from calib.figures.trace import Trace, scatter
from calib.figures.words import verdicts
from calib.text import escaped

SIDE, GAP, KNOT_ROW = 380, 12, 9
Rows = Literal["test", "fitted"]
# No method's colour: the faint maps keep that of their method.
_FAINT = MethodStyle("rgba(127, 127, 127, 0.5)", "solid", "circle")
ROW_WORDS = {"test": "Scored rows", "fitted": "Fitted rows"}


def functions_chart(
    analysis: Analysis,
    methods: Sequence[str],
    *,
    rows: Rows = "test",
    axis: AxisKind = "linear",
    highlight_knots: bool = False,
    by_rule: Mapping[str, CalibrationFunction] | None = None,
) -> Chart:
    """Maps of all chosen methods over the reliability dots of the uncalibrated scores.

    Parameters
    ----------
    analysis : Analysis
    methods : sequence of str
    rows : {"test", "fitted"}
        Dots of the rows that are scored, or of those that the maps were fitted on.
    axis : {"linear", "logit"}
        Both axes; the logit axis spreads out probabilities near 0 and 1.
    highlight_knots : bool
        Mark the knots of maps that have some, as ticks in a strip below, one row a map.
    by_rule : mapping of str to CalibrationFunction, optional
        By method, its map if epsilon followed the paper's rule: drawn faintly.

    Raises
    ------
    ValueError
        If `rows` or `axis` is not one of the two.
    """
    if rows not in ROW_WORDS:
        raise ValueError(f"rows must be 'test' or 'fitted', got {rows!r}.")
    uncalibrated = analysis.uncalibrated
    curve = uncalibrated.reliability if rows == "test" else analysis.fitted_reliability
    style, scale = style_of("uncalibrated"), scale_for(axis, [curve])
    results = [analysis.methods[key] for key in methods]
    traces = [diagonal(scale, name="No change")]
    traces.append(dots("rows", ROW_WORDS[rows], curve, style, scale, joined=False))
    before = by_rule or {}
    traces += [_before(r, before[r.key], scale) for r in results if r.key in before]
    if before:
        traces.append(legend_entry("by rule", "ε by the rule", _FAINT, mode="lines"))
    traces += [_map(result, scale) for result in results if result.key != "uncalibrated"]
    bent = [r for r in results if highlight_knots and len(r.function.knots)]
    traces += [_rug(result, row, scale) for row, result in enumerate(bent)]
    traces.append(legend_entry("rows", ROW_WORDS[rows], style, mode="markers"))
    if curve.few.any():
        traces.append(few_entry())
    layout = _axes(len(bent), scale)
    return make_chart(
        traces,
        layout,
        f"Calibration functions over the dots of the {ROW_WORDS[rows].lower()}. "
        f"{verdicts(analysis, methods)}",
        plot_width=SIDE,
        plot_height=SIDE + _strip(len(bent)),
        revision=f"functions {axis}",
    )


def _strip(n_rows: int) -> int:
    """Height of the strip of knots with the gap above it."""
    return GAP + KNOT_ROW * (n_rows + 1) if n_rows else 0


def _axes(n_rows: int, scale: Scale) -> dict[str, object]:
    across, upward = square()
    if not n_rows:
        return {
            "xaxis": axis_look("Score", **scale.options(), **across),
            "yaxis": axis_look("Calibrated probability", **scale.options(), **upward),
        }
    height = SIDE + _strip(n_rows)
    # One x-axis for both: a knot stays under the bend that it makes, at any width and zoom.
    below = {"anchor": "y2", "mirror": "all"}
    panel, strip = [1.0 - SIDE / height, 1.0], [0.0, 1.0 - (SIDE + GAP) / height]
    rows = {"range": [n_rows, -1], "showticklabels": False, "ticks": "", "showgrid": False}
    return {
        "xaxis": axis_look("Score", **scale.options(), **across, **below),
        "yaxis": axis_look("Calibrated probability", **scale.options(), **upward, domain=panel),
        "yaxis2": axis_look("Knots", **rows, domain=strip, anchor="x", fixedrange=True),
    }


def _points(function: CalibrationFunction, scale: Scale) -> dict[str, Any]:
    """A map on its axes, and its numbers under the pointer."""
    score, calibrated = function.score, function.calibrated
    shown: dict[str, Any] = {"x": score.astype(np.float32), "y": calibrated.astype(np.float32)}
    said = "%{x:.4f} becomes %{y:.4f}"
    if scale.kind == "logit":
        shown = {"x": scale.beyond(score), "y": scale.beyond(calibrated)}
        shown["customdata"] = np.column_stack([score, calibrated]).tolist()
        said = "%{customdata[0]:.4~g} becomes %{customdata[1]:.4~g}"
    return {**shown, "hovertemplate": f"{said}<extra>%{{fullData.name}}</extra>"}


def _map(result: MethodResult, scale: Scale) -> Trace:
    style = style_of(result.key)
    return scatter(
        **_points(result.function, scale),
        mode="lines",
        name=escaped(result.label),
        uid=f"map {result.key}",
        legendgroup=result.key,
        line={"color": style.color, "width": LINE_WIDTH, "dash": style.dash},
        showlegend=True,
    )


def _before(result: MethodResult, function: CalibrationFunction, scale: Scale) -> Trace:
    style = style_of(result.key)
    return scatter(
        **_points(function, scale),
        mode="lines",
        name=f"{escaped(result.label)}, ε by the rule",
        uid=f"by rule {result.key}",
        legendgroup="by rule",
        line={"color": faded(style.color, 0.35), "width": 2.5 * LINE_WIDTH},
        showlegend=False,
    )


def _rug(result: MethodResult, row: int, scale: Scale) -> Trace:
    knots = result.function.knots
    return scatter(
        x=scale.beyond(knots),
        customdata=knots,
        y=np.full(len(knots), row),
        yaxis="y2",
        mode="markers",
        name=escaped(result.label),
        uid=f"knots {result.key}",
        legendgroup=result.key,
        marker={
            "symbol": "line-ns-open",
            "size": KNOT_ROW - 1,
            "color": style_of(result.key).color,
            "line": {"width": 1.25, "color": style_of(result.key).color},
        },
        hovertemplate="knot at %{customdata:.4~g}<extra>%{fullData.name}</extra>",
        showlegend=False,
    )
