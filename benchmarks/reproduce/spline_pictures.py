"""Pictures of the SplineCalib paper that the app has in another form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib import Analysis
from calib.curves.functions import CalibrationFunction, score_grid
from calib.curves.reliability import ReliabilityCurve
from calib.figures import METHOD_STYLES, Chart
from calib.figures.axes import LINEAR, axis
from calib.figures.chart import draw
from calib.figures.layers import Subject, Trace, band, diagonal, dots, layer
from calib.figures.panels import Panel, axis_ids, grid, square
from calib.figures.theme import LINE_WIDTH, faded
from calib.numerics.transforms import compact_logit

COLORS = ("#56B4E9", "#0072B2", "#D55E00")
DASHES = ("dot", "dash", "solid")
SPLINE = METHOD_STYLES["spline"].color
TITLES = (
    "(a) Rows used for fitting",
    "(b) New rows",
    "(c) New rows, calibrated",
    "(d) Scores of new rows",
)


def compact_logits_chart(epsilons: Sequence[float]) -> Chart:
    """The compact logit at several epsilons, and the identity."""
    scores = score_grid()
    traces = [diagonal(LINEAR, name="Identity")]
    traces += [
        layer(
            "",
            scores,
            compact_logit(scores, epsilon),
            name=f"ε = {epsilon:g}",
            line={"color": color, "width": LINE_WIDTH, "dash": dash},
            legend=True,
        )
        for epsilon, color, dash in zip(epsilons, COLORS, DASHES, strict=True)
    ]
    across, upward = (LINEAR.axis(title) for title in ("Score", "Transformed score"))
    return draw("compact logits", square(across, upward, 340), traces, "")


def forest_chart(analysis: Analysis) -> Chart:
    """Reliability of the fitted and of the scored rows, before and after, and the histograms."""
    before, after = analysis.uncalibrated, analysis.methods["spline"]
    panels = (
        (analysis.fitted_reliability, "uncalibrated", after.function),
        (before.reliability, "uncalibrated", after.function),
        (after.reliability, "spline", None),
    )
    traces = [part for i, panel in enumerate(panels) for part in _reliability(i, *panel)]
    traces += [_histogram(analysis, key) for key in ("uncalibrated", "spline")]
    placed = grid([_panel(i) for i in range(len(TITLES))], 2, 250, 250, gaps=(64, 84))
    return draw("forest", placed, traces, "", top=26, right=24)


def _reliability(
    panel: int, curve: ReliabilityCurve, key: str, function: CalibrationFunction | None
) -> list[Trace]:
    place = axis_ids(panel)
    shared = place | {"legend": panel == 0}
    traces = [band(curve, LINEAR, **shared), diagonal(LINEAR, **shared)]
    if function is not None:
        line = {"color": SPLINE, "width": LINE_WIDTH}
        drawn = {"name": "Spline", "line": line, **shared}
        traces.append(layer("", function.score, function.calibrated, **drawn))
    of = Subject(key, "", METHOD_STYLES[key])
    return [*traces, dots(of, curve, LINEAR, joined=False, **place)]


def _panel(number: int) -> Panel:
    title = f"<b>{TITLES[number]}</b>"
    if number == 3:
        across = LINEAR.axis("Score")
        return Panel(across, axis("Rows", rangemode="tozero"), title)
    across = LINEAR.axis("Score" if number < 2 else "Calibrated score")
    upward = LINEAR.axis("Observed frequency" if number % 2 == 0 else "")
    return Panel(across, upward, title, square=True)


def _histogram(analysis: Analysis, key: str) -> Trace:
    # Fifty bars would hold a dozen rows each.
    counts = analysis.methods[key].histogram.reshape(25, 2).sum(axis=1)
    color = METHOD_STYLES[key].color
    return layer(
        "",
        np.linspace(0.0, 1.0, len(counts) + 1),
        np.append(counts, counts[-1]),
        line={"shape": "hv", "color": color, "width": 1.25},
        fill="tozeroy",
        fillcolor=faded(color, 0.2),
        name="Scores before" if key == "uncalibrated" else "Scores after",
        legend=True,
        **axis_ids(3),
    )
