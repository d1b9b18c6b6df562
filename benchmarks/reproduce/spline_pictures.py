"""Pictures of the SplineCalib paper that the app has in another form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib import Analysis
from calib.curves.functions import CalibrationFunction, score_grid
from calib.curves.reliability import ReliabilityCurve
from calib.figures import METHOD_STYLES, Chart
from calib.figures.chart import make_chart
from calib.figures.grid import Grid, axis_ids, layout_keys, panel_title
from calib.figures.panels import band, diagonal, dots, square
from calib.figures.scales import LINEAR
from calib.figures.theme import LINE_WIDTH, axis_look, faded
from calib.figures.trace import Trace, scatter
from calib.numerics.transforms import compact_logit

COLORS = ("#56B4E9", "#0072B2", "#D55E00")
DASHES = ("dot", "dash", "solid")
SPLINE = METHOD_STYLES["spline"].color
TITLES = (
    "(a) Rows that fit the map",
    "(b) New rows",
    "(c) New rows, calibrated",
    "(d) Scores of new rows",
)


def compact_logits_chart(epsilons: Sequence[float]) -> Chart:
    """The compact logit at several epsilons, and the identity."""
    grid = score_grid()
    traces = [diagonal(LINEAR, name="Identity")]
    traces += [
        scatter(
            x=grid,
            y=compact_logit(grid, epsilon),
            mode="lines",
            name=f"ε = {epsilon:g}",
            line={"color": color, "width": LINE_WIDTH, "dash": dash},
        )
        for epsilon, color, dash in zip(epsilons, COLORS, DASHES, strict=True)
    ]
    across, upward = square()
    layout = {
        "xaxis": axis_look("Score", **LINEAR.options(), **across),
        "yaxis": axis_look("Transformed score", **LINEAR.options(), **upward),
    }
    return make_chart(
        traces, layout, "", plot_width=340, plot_height=340, revision="compact logits"
    )


def forest_chart(analysis: Analysis) -> Chart:
    """Reliability of the fitted and of the scored rows, before and after, and the histograms."""
    grid = Grid(4, 2, 250, gap_x=64, gap_y=84)
    before, after = analysis.uncalibrated, analysis.methods["spline"]
    panels = (
        (analysis.fitted_reliability, "uncalibrated", after.function),
        (before.reliability, "uncalibrated", after.function),
        (after.reliability, "spline", None),
    )
    traces: list[Trace] = []
    layout: dict[str, object] = {
        "annotations": [panel_title(f"<b>{title}</b>", i) for i, title in enumerate(TITLES)]
    }
    for panel, (curve, key, function) in enumerate(panels):
        traces += _reliability(panel, curve, key, function)
        layout |= _square_axes(grid, panel)
    return make_chart(
        traces + [_histogram(analysis, key) for key in ("uncalibrated", "spline")],
        layout | _histogram_axes(grid),
        "",
        plot_width=grid.width,
        plot_height=grid.height,
        top=26,
        right=24,
        revision="forest",
    )


def _reliability(
    panel: int, curve: ReliabilityCurve, key: str, function: CalibrationFunction | None
) -> list[Trace]:
    place = axis_ids(panel)
    shared = place | {"showlegend": panel == 0}
    traces = [band(curve, LINEAR, **shared), diagonal(LINEAR, **shared)]
    if function is not None:
        line = {"color": SPLINE, "width": LINE_WIDTH}
        drawn = {"x": function.score, "y": function.calibrated, "mode": "lines", "line": line}
        traces.append(scatter(name="Spline map", **drawn, **shared))
    return [*traces, dots(key, "", curve, METHOD_STYLES[key], LINEAR, joined=False, **place)]


def _square_axes(grid: Grid, panel: int) -> dict[str, object]:
    ids, (x_key, y_key) = axis_ids(panel), layout_keys(panel)
    across, upward = square(ids["xaxis"])
    x_domain, y_domain = grid.domain(panel)
    said = "Score" if panel < 2 else "Calibrated score"
    up = "Observed frequency" if grid.is_left(panel) else ""
    return {
        x_key: axis_look(said, **LINEAR.options(), **across, domain=x_domain, anchor=ids["yaxis"]),
        y_key: axis_look(up, **LINEAR.options(), **upward, domain=y_domain, anchor=ids["xaxis"]),
    }


def _histogram(analysis: Analysis, key: str) -> Trace:
    # Fifty bars would hold a dozen rows each.
    counts = analysis.methods[key].histogram.reshape(25, 2).sum(axis=1)
    color = METHOD_STYLES[key].color
    return scatter(
        x=np.linspace(0.0, 1.0, len(counts) + 1),
        y=np.append(counts, counts[-1]),
        mode="lines",
        line={"shape": "hv", "color": color, "width": 1.25},
        fill="tozeroy",
        fillcolor=faded(color, 0.2),
        name="Scores before" if key == "uncalibrated" else "Scores after",
        **axis_ids(3),
    )


def _histogram_axes(grid: Grid) -> dict[str, object]:
    x_domain, y_domain = grid.domain(3)
    x_key, y_key = layout_keys(3)
    return {
        x_key: axis_look("Score", **LINEAR.options(), domain=x_domain, anchor="y4"),
        y_key: axis_look("Rows", domain=y_domain, anchor="x4", rangemode="tozero"),
    }
