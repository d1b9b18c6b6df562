"""Cumulative charts: of outcomes and scores, and of their difference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.figures.axes import PERCENT_TICKS, TIMELINE_WIDTH, Panel, PanelAxis, grid, one, padded
from calib.figures.chart import RIGHT, TITLE_ROW, TOP, Chart, chart, draw
from calib.figures.layers import Arrow, Layer, Line, Marker, Subject, area, reference, subject
from calib.figures.theme import FRAME, GREY, MethodStyle
from calib.numerics.arrays import FloatArray
from calib.text import level, percent, percents, score_percent
from calib.words import cumulative as wording
from calib.words.measures import KS, details, evidence, verdicts

# Pixels of a panel among four, and the height of a panel alone, which is as wide as its place.
SIDE, HEIGHT_ALONE = 250, 290
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
        Key of the method with a strong line. Default: the one that the analysis recommends.

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
    alone = len(panels) == 1
    drawn = [
        _panel(result, panel, place % columns == 0, square=not alone)
        for place, panel in enumerate(panels)
    ]
    verdict = analysis.verdict.sentence
    sentence = verdict if method == "uncalibrated" else f"{result.short_label}: {evidence(result)}."
    names = ", ".join(PANELS[panel][0] for panel in panels)
    return draw(
        "cumulative",
        grid(drawn, columns, SIDE, HEIGHT_ALONE if alone else SIDE, gaps=(32, 84)),
        [
            layer
            for place, panel in enumerate(panels)
            for layer in _layers(subject(analysis, result, recommended), result, panel, place)
        ],
        f"Cumulative calibration, without bins: {names}. {sentence}",
        title="" if alone else panels_title(result),
        details=details(analysis, "no bins"),
        of=(analysis.data.name, method),
        top=TOP + TITLE_ROW,
        # Panels on the right have their ticks there.
        right=TICKS_RIGHT if columns > 1 else RIGHT,
        names_at_ends=True,
    )


def panels_title(result: MethodResult) -> str:
    """The averages at the ends of the curves of a method."""
    curve = result.cumulative
    mean, rate = percents(curve.cumulative_score[-1], curve.cumulative_outcome[-1], distinct=False)
    return f"{result.short_label}: {mean} predicted on average, {rate} observed"


def _panel(result: MethodResult, panel: int, left: bool, *, square: bool) -> Panel:
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
    return Panel(across_axis, upward_axis, f"<b>{title}</b>", square=square)


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
            line=of.line(1 if of is IDEAL else None) if len(x) > 1 else None,
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


HEIGHT, LEFT = 300, 66
# Sizes in pixels. Where two markers meet, a ring of background between them can be seen.
HOLLOW_SIZE, FILLED_SIZE = 16, 7


@chart
def cumulative_difference_chart(
    analysis: Analysis,
    methods: Sequence[str] = ("uncalibrated",),
    *,
    recommended: str | None = None,
) -> Chart:
    """Cumulative outcome minus cumulative score against the fractile, with the null band.

    The length of an arrow is the KS calibration error of a method. The distance between its hollow
    markers is the Kuiper error.

    Parameters
    ----------
    analysis : Analysis
    methods : sequence of str
        Keys of the methods. The band is that of the first.
    recommended : str, optional
        Key of the method with a strong line. Default: the one that the analysis recommends.

    References
    ----------
    Arrieta-Ibarra et al. 2022, arXiv:2205.09680.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("beta",)})
    >>> figure = calib.plot.cumulative_difference(analysis, ["uncalibrated", "beta"])
    >>> [line.name for line in figure.data if line.uid.startswith("difference")]
    ['Uncalibrated', 'Beta']
    """
    results = [analysis.methods[key] for key in methods]
    first = results[0].cumulative
    half, name = first.null_half_width, f"{level(first.confidence_level)} band if calibrated"
    ends = (np.array([0.0, 1.0]), np.full(2, -half), np.full(2, half))
    layers = [
        area("band", *ends, name=name, legend=True),
        Layer("zero", [0.0, 1.0], [0.0, 0.0], line=reference()),
    ]
    subjects = [subject(analysis, result, recommended) for result in results]
    layers += [_curve(of, result) for of, result in zip(subjects, results, strict=True)]
    layers += [
        _extremes(of, result, first=result is results[0])
        for of, result in zip(subjects, results, strict=True)
    ]
    reached = [end for result in results for end in _ends(result)]
    upward_range = padded(-half, half, *reached, margin=0.12, least=1e-6)
    across = PanelAxis(
        "Share of rows, sorted by score",
        range=[-0.01, 1.01],
        tickformat=PERCENT_TICKS,
        nticks=6,
    )
    upward = PanelAxis(
        "Cumulative observed − predicted",
        range=upward_range,
        tickformat=PERCENT_TICKS,
        nticks=7,
    )
    return draw(
        "cumulative difference",
        one(across, upward, TIMELINE_WIDTH, HEIGHT),
        layers,
        f"Cumulative difference between outcomes and scores. {verdicts(analysis, methods)}",
        title=wording.heading(analysis, methods[0]),
        details=details(analysis, "no bins"),
        of=(analysis.data.name,),
        left=LEFT,
        arrows=[_arrow(of, result) for of, result in zip(subjects, results, strict=True)],
    )


def _curve(of: Subject, result: MethodResult) -> Layer:
    drawn = result.cumulative
    return Layer(
        "difference",
        drawn.fractile.astype(np.float32),
        drawn.difference.astype(np.float32),
        of=of,
        line=of.line(),
        legend=True,
        customdata=drawn.score.astype(np.float32),
        hover="share of rows %{x:.1%}, score %{customdata:.1%}<br>difference %{y:+.2%}"
        "<extra>%{fullData.name}</extra>",
    )


def _furthest(result: MethodResult) -> int:
    """The position of the point whose distance from zero is the KS calibration error."""
    return int(np.abs(result.cumulative.difference).argmax())


def _arrow(of: Subject, result: MethodResult) -> Arrow:
    """The KS calibration error: from zero to the point of the curve that is farthest from zero."""
    drawn, at = result.cumulative, _furthest(result)
    end = (float(drawn.fractile[at]), float(drawn.difference[at]))
    return Arrow(*end, of.style.color, FILLED_SIZE / 2)


def _ends(result: MethodResult) -> tuple[float, float]:
    """The lowest and the highest value of the curve."""
    difference = result.cumulative.difference
    return float(difference.min()), float(difference.max())


def _extremes(of: Subject, result: MethodResult, *, first: bool) -> Layer:
    """The ends of the Kuiper range, and the KS point last, because it covers one of them."""
    drawn = result.cumulative
    difference: FloatArray = drawn.difference
    top, bottom = int(difference.argmax()), int(difference.argmin())
    furthest = _furthest(result)
    at = np.array([bottom, top, furthest])
    kuiper = f"Kuiper error {percent(difference[top] - difference[bottom])}"
    labels = [f"{kuiper}, lowest", f"{kuiper}, highest"]
    # The pointer only finds the marker on top, so that one has the words of both.
    labels.append(f"{KS} {percent(abs(difference[furthest]))}<br>{labels[furthest == top]}")
    # The words must neither leave the panel nor cover the curve.
    aside = "left" if drawn.fractile[furthest] > 0.5 else "right"
    return Layer(
        "extremes",
        drawn.fractile[at],
        difference[at],
        of=of,
        # The words of a second method would cover those of the first on a phone.
        text=["", "", f"{f'{KS} ' if first else ''}{percent(abs(float(difference[furthest])))}"],
        textposition=f"{'top' if furthest == top else 'bottom'} {aside}",
        marker=of.marker(
            [HOLLOW_SIZE, HOLLOW_SIZE, FILLED_SIZE],
            [of.style.hollow, of.style.hollow, of.style.symbol],
            Line(of.style.color, 1.25),
        ),
        hovertext=[
            f"{words}<br>at score {score_percent(score)}"
            for words, score in zip(labels, drawn.score[at], strict=True)
        ],
        hover="%{hovertext}<extra>%{fullData.name}</extra>",
    )
