"""The four cumulative panels: calibration seen without bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.figures.chart import RIGHT, Chart, make_chart
from calib.figures.grid import Grid, axis_ids, layout_keys, panel_title
from calib.figures.panels import square
from calib.figures.theme import FRAME, LINE_WIDTH, OUTCOME, axis_look, style_of
from calib.figures.trace import Trace, scatter
from calib.figures.words import evidence
from calib.numerics.arrays import FloatArray

SIDE = 250
TICKS_RIGHT = 36
PROBABILITY_RANGE = (-0.02, 1.02)
IDEAL = "Ideal"
Points = tuple[FloatArray, FloatArray]
# Told apart without their colours too.
DASHES = {"Predicted": "dash", "Observed": "solid"}


@dataclass(frozen=True, slots=True)
class Panel:
    """Titles of one panel."""

    title: str
    across: str
    upward: str


PANELS = (
    Panel("(a) Cumulative", "Fractile of scores", "Cumulative probability"),
    Panel("(b) Straightened", "Cumulative score", "Cumulative probability"),
    Panel("(c) By fractile", "Fractile of scores", "Probability"),
    Panel("(d) By score", "Score", "Probability"),
)


ALL = tuple(range(len(PANELS)))


def cumulative_chart(
    analysis: Analysis, method: str = "uncalibrated", *, panels: Sequence[int] = ALL
) -> Chart:
    """The four panels of Gupta's Figure 1.

    (a) Cumulative score and cumulative outcome against the fractile; (b) the same with the x-axis
    warped so that the cumulative score is a straight line; (c) score and recalibrated probability
    against the fractile; (d) recalibrated probability against score.

    Parameters
    ----------
    analysis : Analysis
    method : str
    panels : sequence of int
        Which of the four to draw, from 0; all beside and below each other if not given.

    References
    ----------
    Gupta et al. 2021, arXiv:2006.12800, Figure 1.
    """
    result = analysis.methods[method]
    grid = Grid(len(panels), min(2, len(panels)), SIDE, gap_x=22, gap_y=84)
    titles = [f"<b>{PANELS[panel].title}</b>" for panel in panels]
    layout: dict[str, object] = {
        "annotations": [panel_title(title, place) for place, title in enumerate(titles)]
    }
    traces: list[Trace] = []
    for place, panel in enumerate(panels):
        layout |= _axes(result, grid, panel, place)
        traces += _traces(result, panel, place)
    plain = method == "uncalibrated"
    said = analysis.verdict.sentence if plain else f"{result.label}: {evidence(result)}."
    names = ", ".join(PANELS[panel].title for panel in panels)
    return make_chart(
        traces,
        layout,
        f"Cumulative calibration, without bins: {names}. {said}",
        plot_width=grid.width,
        plot_height=grid.height,
        top=26,
        # Panels on the right have their ticks there.
        right=TICKS_RIGHT if grid.columns > 1 else RIGHT,
        revision="cumulative",
    )


def _traces(result: MethodResult, panel: int, place: int) -> list[Trace]:
    curve, color = result.cumulative, style_of(result.key).color
    score, outcome, by = curve.cumulative_score, curve.cumulative_outcome, curve.fractile
    ends = np.array([0.0, 1.0])
    predicted, observed = (
        ((by, score), (by, outcome)),
        ((score, score), (score, outcome)),
        ((by, curve.score), (by, curve.recalibrated)),
        ((ends, ends), (curve.score, curve.recalibrated)),
    )[panel]
    first = IDEAL if panel == len(PANELS) - 1 else "Predicted"
    return [
        _line(panel, place, predicted, first, color),
        _line(panel, place, observed, "Observed", OUTCOME),
    ]


def _line(panel: int, place: int, points: Points, name: str, color: str) -> Trace:
    x, y = points
    reference = name == IDEAL
    return scatter(
        x=x.astype(np.float32),
        y=y.astype(np.float32),
        # A constant score is one point, and no line.
        mode="lines" if len(x) > 1 else "markers",
        name=name,
        uid=f"{name} {panel}",
        legendgroup=name,
        showlegend=place == 0,
        line={
            "color": FRAME if reference else color,
            "width": 1 if reference else LINE_WIDTH,
            "dash": "dot" if reference else DASHES[name],
        },
        hoverinfo="skip" if reference else None,
        hovertemplate=None
        if reference
        else f"{PANELS[panel].across} %{{x:.3f}}<br>{name} %{{y:.4f}}<extra></extra>",
        **axis_ids(place),
    )


def _axes(result: MethodResult, grid: Grid, panel: int, place: int) -> dict[str, object]:
    ids, (x_key, y_key) = axis_ids(place), layout_keys(place)
    across, upward = square(ids["xaxis"])
    x_domain, y_domain = grid.domain(place)
    x_range, y_range = _ranges(result, panel)
    # Unequal units, equal sides.
    upward["scaleratio"] = (x_range[1] - x_range[0]) / (y_range[1] - y_range[0])
    words = PANELS[panel]
    # Ticks of the right panels stand on their right: on a phone there is no room between panels.
    left = grid.is_left(place)
    return {
        x_key: axis_look(
            words.across, **across, domain=x_domain, range=x_range, anchor=ids["yaxis"]
        ),
        y_key: axis_look(
            words.upward if left else "",
            **upward,
            domain=y_domain,
            range=y_range,
            anchor=ids["xaxis"],
            side="left" if left else "right",
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
