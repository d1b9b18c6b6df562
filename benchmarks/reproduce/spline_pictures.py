"""Pictures of the SplineCalib paper that the app has in another form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calib import Analysis
from calib.curves.functions import CalibrationFunction, score_grid
from calib.curves.reliability import ReliabilityCurve
from calib.figures import METHOD_STYLES, Chart
from calib.figures.axes import LINEAR, Panel, PanelAxis, grid, square
from calib.figures.chart import draw
from calib.figures.layers import Layer, Line, Subject, band, diagonal, dots
from calib.figures.theme import LINE_WIDTH, Dash, faded
from calib.numerics.transforms import compact_logit

COLORS = ("#56B4E9", "#0072B2", "#D55E00")
DASHES: tuple[Dash, ...] = ("dot", "dash", "solid")
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
        Layer(
            "",
            scores,
            compact_logit(scores, epsilon),
            name=f"ε = {epsilon:g}",
            line=Line(color, LINE_WIDTH, dash),
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
) -> list[Layer]:
    legend = panel == 0
    layers = [band(curve, LINEAR, legend=legend), diagonal(LINEAR, legend=legend)]
    if function is not None:
        score, calibrated = function.score, function.calibrated
        layers.append(Layer("", score, calibrated, name="Spline", line=Line(SPLINE), legend=legend))
    of = Subject(key, "", METHOD_STYLES[key])
    layers.append(dots(of, curve, LINEAR, joined=False))
    return [replace(layer, panel=panel) for layer in layers]


def _panel(number: int) -> Panel:
    title = f"<b>{TITLES[number]}</b>"
    if number == 3:
        across = LINEAR.axis("Score")
        return Panel(across, PanelAxis("Rows", rangemode="tozero"), title)
    across = LINEAR.axis("Score" if number < 2 else "Calibrated score")
    upward = LINEAR.axis("Observed frequency" if number % 2 == 0 else "")
    return Panel(across, upward, title, square=True)


def _histogram(analysis: Analysis, key: str) -> Layer:
    # Fifty bars would have a dozen rows each, so pairs are joined.
    counts = analysis.methods[key].histogram.reshape(25, 2).sum(axis=1)
    color = METHOD_STYLES[key].color
    return Layer(
        "",
        np.linspace(0.0, 1.0, len(counts) + 1),
        np.append(counts, counts[-1]),
        panel=3,
        line=Line(color, 1.25, shape="hv"),
        fill="tozeroy",
        fillcolor=faded(color, 0.2),
        name="Scores before" if key == "uncalibrated" else "Scores after",
        legend=True,
    )
