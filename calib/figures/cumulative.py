"""The four cumulative panels: calibration seen without bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.figures.chart import Chart, make_chart
from calib.figures.grid import Grid, axis_ids, layout_keys, panel_title
from calib.figures.panels import square
from calib.figures.theme import FRAME, LINE_WIDTH, OUTCOME, axis_look, style_of
from calib.figures.trace import Trace, scatter
from calib.figures.words import evidence
from calib.numerics.arrays import FloatArray

SIDE = 250
RIGHT = 36
PROBABILITY_RANGE = (-0.02, 1.02)


@dataclass(frozen=True, slots=True)
class Panel:
    """Titles of one panel."""

    title: str
    across: str
    upward: str


PANELS = (
    Panel("(a) Cumulative", "Fractile of scores", "Cumulative probability"),
    Panel("(b) Straightened", "Cumulative score", ""),
    Panel("(c) By fractile", "Fractile of scores", "Probability"),
    Panel("(d) By score", "Score", ""),
)


def cumulative_chart(analysis: Analysis, method: str = "uncalibrated") -> Chart:
    """The four panels of Gupta's Figure 1.

    (a) Cumulative score and cumulative outcome against the fractile; (b) the same with the x-axis
    warped so that the cumulative score is a straight line; (c) score and recalibrated probability
    against the fractile; (d) recalibrated probability against score.

    Parameters
    ----------
    analysis : Analysis
    method : str

    References
    ----------
    Gupta et al. 2021, arXiv:2006.12800, Figure 1.
    """
    result = analysis.methods[method]
    grid = Grid(len(PANELS), 2, SIDE, gap_x=22, gap_y=84)
    layout: dict[str, object] = {
        "annotations": [panel_title(f"<b>{p.title}</b>", i) for i, p in enumerate(PANELS)]
    }
    for panel in range(len(PANELS)):
        layout |= _axes(result, grid, panel)
    plain = method == "uncalibrated"
    said = analysis.verdict.sentence if plain else f"{result.label}: {evidence(result)}."
    return make_chart(
        _traces(result),
        layout,
        f"Cumulative calibration in four panels, without bins. {said}",
        plot_width=grid.width,
        plot_height=grid.height,
        top=26,
        right=RIGHT,
        revision="cumulative",
    )


def _traces(result: MethodResult) -> list[Trace]:
    curve, color = result.cumulative, style_of(result.key).color
    score, outcome, by = curve.cumulative_score, curve.cumulative_outcome, curve.fractile
    return [
        _line(0, by, score, "Predicted", color),
        _line(0, by, outcome, "Observed", OUTCOME),
        _line(1, score, score, "Predicted", color),
        _line(1, score, outcome, "Observed", OUTCOME),
        _line(2, by, curve.score, "Predicted", color),
        _line(2, by, curve.recalibrated, "Observed", OUTCOME),
        _line(3, np.array([0.0, 1.0]), np.array([0.0, 1.0]), "Diagonal", FRAME),
        _line(3, curve.score, curve.recalibrated, "Observed", OUTCOME),
    ]


def _line(panel: int, x: FloatArray, y: FloatArray, name: str, color: str) -> Trace:
    reference = name == "Diagonal"
    return scatter(
        x=x.astype(np.float32),
        y=y.astype(np.float32),
        mode="lines",
        name=name,
        uid=f"{name} {panel}",
        legendgroup=name,
        showlegend=panel == 0,
        line={
            "color": color,
            "width": 1 if reference else LINE_WIDTH,
            "dash": "dot" if reference else "solid",
        },
        hoverinfo="skip" if reference else None,
        hovertemplate=None
        if reference
        else f"{PANELS[panel].across} %{{x:.3f}}<br>{name} %{{y:.4f}}<extra></extra>",
        **axis_ids(panel),
    )


def _axes(result: MethodResult, grid: Grid, panel: int) -> dict[str, object]:
    ids, (x_key, y_key) = axis_ids(panel), layout_keys(panel)
    across, upward = square(ids["xaxis"])
    x_domain, y_domain = grid.domain(panel)
    x_range, y_range = _ranges(result, panel)
    # Unequal units, equal sides.
    upward["scaleratio"] = (x_range[1] - x_range[0]) / (y_range[1] - y_range[0])
    words = PANELS[panel]
    # Ticks of the right panels stand on their right: on a phone there is no room between panels.
    side = "left" if grid.is_left(panel) else "right"
    return {
        x_key: axis_look(
            words.across, **across, domain=x_domain, range=x_range, anchor=ids["yaxis"]
        ),
        y_key: axis_look(
            words.upward,
            **upward,
            domain=y_domain,
            range=y_range,
            anchor=ids["xaxis"],
            side=side,
        ),
    }


def _ranges(result: MethodResult, panel: int) -> tuple[tuple[float, float], tuple[float, float]]:
    curve = result.cumulative
    reached = 1.04 * max(float(curve.cumulative_score[-1]), float(curve.cumulative_outcome[-1]))
    sums = (-0.02 * reached, reached)
    return (
        (PROBABILITY_RANGE, sums),
        (sums, sums),
        (PROBABILITY_RANGE, PROBABILITY_RANGE),
        (PROBABILITY_RANGE, PROBABILITY_RANGE),
    )[panel]
