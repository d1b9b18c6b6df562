"""The four cumulative panels: calibration seen without bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.figures.axes import PERCENT_TICKS, PanelAxis
from calib.figures.chart import RIGHT, TITLE_ROW, TOP, Chart, chart, draw
from calib.figures.layers import Layer, Marker, Subject, subject
from calib.figures.panels import Panel, grid
from calib.figures.theme import FRAME, GREY, LINE_WIDTH, MethodStyle
from calib.figures.words import details, evidence
from calib.text import escaped, percents

SIDE = 250
TICKS_RIGHT = 44
SHARES = [-0.02, 1.02]
# Title, and titles of the two axes.
PANELS = (
    ("(a) Cumulative", "Share of rows, sorted by score", "Cumulative probability"),
    ("(b) Against cumulative score", "Cumulative score", "Cumulative probability"),
    ("(c) By share of rows", "Share of rows, sorted by score", "Probability"),
    ("(d) By score", "Score", "Probability"),
)
ALL = tuple(range(len(PANELS)))
IDEAL = Subject("Ideal", "Perfect calibration", MethodStyle(FRAME, "dot", ""))
# The dash tells the two curves of a panel apart without their colours.
PREDICTED = Subject("Predicted", "Predicted", MethodStyle(GREY, "dash", ""))


@chart
def cumulative_chart(
    analysis: Analysis,
    method: str = "uncalibrated",
    *,
    panels: Sequence[int] = ALL,
    recommended: str | None = None,
) -> Chart:
    """The four cumulative panels of Gupta et al., Figure 1.

    (a) Cumulative score and cumulative outcome against the fractile. (b) The same against the
    cumulative score, which is then a straight line. (c) Score and recalibrated probability against
    the fractile. (d) Recalibrated probability against score.

    Parameters
    ----------
    analysis : Analysis
    method : str
        Key of the method.
    panels : sequence of int
        Positions of the panels to draw, 0 to 3. Default: all four.
    recommended : str, optional
        Key of the method that is blue. Default: the one that the analysis recommends.

    References
    ----------
    Gupta et al. 2021, arXiv:2006.12800, Figure 1.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("beta",)})
    >>> figure = calib.plot.cumulative(analysis, "beta")
    >>> [title.text for title in figure.layout.annotations][:2]
    ['<b>(a) Cumulative</b>', '<b>(b) Against cumulative score</b>']
    """
    result, columns = analysis.methods[method], min(2, len(panels))
    drawn = [_panel(result, panel, place % columns == 0) for place, panel in enumerate(panels)]
    verdict = analysis.verdict.sentence
    sentence = verdict if method == "uncalibrated" else f"{result.short_label}: {evidence(result)}."
    names = ", ".join(PANELS[panel][0] for panel in panels)
    return draw(
        "cumulative",
        grid(drawn, columns, SIDE, SIDE, gaps=(32, 84)),
        [
            layer
            for place, panel in enumerate(panels)
            for layer in _layers(subject(analysis, result, recommended), result, panel, place)
        ],
        f"Cumulative calibration, without bins: {names}. {sentence}",
        title=escaped(panels_title(result)) if len(panels) > 1 else "",
        details=details(analysis, "no bins"),
        of=(analysis.data.name, method),
        top=TOP + TITLE_ROW,
        # Panels on the right have their ticks there.
        right=TICKS_RIGHT if columns > 1 else RIGHT,
    )


def panels_title(result: MethodResult) -> str:
    """The averages at the ends of the curves of a method."""
    curve = result.cumulative
    mean, rate = percents(curve.cumulative_score[-1], curve.cumulative_outcome[-1], distinct=False)
    return f"{result.short_label}: {mean} predicted on average, {rate} observed"


def _panel(result: MethodResult, panel: int, left: bool) -> Panel:
    title, across, upward = PANELS[panel]
    x, y = _ranges(result, panel)
    # Ticks of the right panels are on their right side: a phone has no room between panels.
    upward_axis = PanelAxis(
        upward if left else "",
        range=y,
        tickformat=PERCENT_TICKS,
        nticks=6,
        side="left" if left else "right",
    )
    across_axis = PanelAxis(across, range=x, tickformat=PERCENT_TICKS, nticks=4)
    return Panel(across_axis, upward_axis, f"<b>{title}</b>", square=True)


def _layers(of: Subject, result: MethodResult, panel: int, place: int) -> list[Layer]:
    drawn, ends = result.cumulative, np.array([0.0, 1.0])
    score, outcome, by = drawn.cumulative_score, drawn.cumulative_outcome, drawn.fractile
    first = PREDICTED if panel < ALL[-1] else IDEAL
    observed = Subject("Observed", "Observed", MethodStyle(of.style.color, "solid", ""))
    points = (
        ((by, score), (by, outcome)),
        ((score, score), (score, outcome)),
        ((by, drawn.score), (by, drawn.recalibrated)),
        ((ends, ends), (drawn.score, drawn.recalibrated)),
    )[panel]
    across = f"{PANELS[panel][1]} %{{x:.1%}}"
    return [
        Layer(
            f"panel {panel}",
            x.astype(np.float32),
            y.astype(np.float32),
            panel=place,
            of=of,
            # A constant score is one point, and no line.
            line=of.line(1 if of is IDEAL else LINE_WIDTH) if len(x) > 1 else None,
            marker=Marker(of.style.color, size=6) if len(x) == 1 else None,
            hover="" if of is IDEAL else f"{across}<br>{of.name} %{{y:.2%}}<extra></extra>",
            legend=place == 0,
        )
        for of, (x, y) in zip((first, observed), points, strict=True)
    ]


def _ranges(result: MethodResult, panel: int) -> tuple[list[float], list[float]]:
    curve = result.cumulative
    reached = 1.04 * max(float(curve.cumulative_score[-1]), float(curve.cumulative_outcome[-1]))
    sums = [-0.02 * reached, reached]
    return ((SHARES, sums), (sums, sums), (SHARES, SHARES), (SHARES, SHARES))[panel]
