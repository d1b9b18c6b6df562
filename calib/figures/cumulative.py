"""Cumulative charts: of outcomes and scores, and of their difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.figures.axes import PERCENT_TICKS, TIMELINE_WIDTH, Panel, PanelAxis, grid, one, padded
from calib.figures.chart import LEFT, TITLE_ROW, TOP, Chart, chart, draw
from calib.figures.layers import (
    HOVER_TEXT,
    Arrow,
    Layer,
    Line,
    Marker,
    Note,
    Subject,
    area,
    reference,
    subject,
)
from calib.figures.theme import DOUBT, GREY, OUTCOME, RIM, MethodStyle
from calib.numerics.arrays import FloatArray
from calib.text import escaped, level, percent, score_percent
from calib.words import cumulative as wording
from calib.words.cumulative import furthest
from calib.words.measures import KS, details, evidence, verdicts

# Pixels of a panel among four, and the height of a panel alone, which is as wide as its place.
SIDE, HEIGHT_ALONE = 250, 290
NAMES_RIGHT = 66  # Pixels beside a panel, where the names of its lines stand.
SHARES = [-0.02, 1.02]
# Titles of the two axes.
PANELS = (
    ("Share of rows, sorted by score", "Cumulative probability"),
    ("Cumulative score", "Cumulative probability"),
    ("Share of rows, sorted by score", "Probability"),
    ("Score", "Probability"),
)
ALL = tuple(range(len(PANELS)))
WITH_BAND = (0, 1)  # Panels with the sums that the KS test compares.
OBSERVED = Subject("Observed", "Observed", MethodStyle(OUTCOME, "solid", "circle"))
NAME_SHARE = 0.32  # The share of a panel's width that a name needs.
NAME_PIXELS = 15  # Names below each other are at least so far apart.
NAME_GAP = 5.0  # Pixels between a name and its point.


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
    >>> [title.text for title in figure.layout.annotations][0]
    '<b>(a) Largest gap: KS 0.6%, at score 82.8%</b>'
    """
    result, columns = analysis.methods[method], min(2, len(panels))
    alone = len(panels) == 1
    titles = wording.panel_titles(result)
    drawn = [_panel(result, panel, titles[panel], square=not alone) for panel in panels]
    height = HEIGHT_ALONE if alone else SIDE
    verdict = analysis.verdict.sentence
    sentence = verdict if method == "uncalibrated" else f"{result.short_label}: {evidence(result)}."
    names = ". ".join(titles[panel] for panel in panels)
    predicted = subject(analysis, result, recommended)
    return draw(
        "cumulative",
        grid(drawn, columns, SIDE, height, gaps=(LEFT + NAMES_RIGHT, 84)),
        [
            layer
            for place, panel in enumerate(panels)
            for layer in _layers(predicted, result, panel, place)
        ],
        f"Cumulative calibration, without bins. {names}. {sentence}",
        title="" if alone else wording.panels_heading(result),
        details=details(analysis, "no bins"),
        of=(analysis.data.name, method),
        top=TOP + TITLE_ROW,
        right=NAMES_RIGHT,
        notes=[
            note
            for place, panel in enumerate(panels)
            for note in _names(predicted, result, panel, place, height)
        ],
    )


def _panel(result: MethodResult, panel: int, title: str, *, square: bool) -> Panel:
    across, upward = PANELS[panel]
    x, y = _ranges(result, panel)
    upward_axis = PanelAxis(upward, range=y, tickformat=PERCENT_TICKS, nticks=6)
    across_axis = PanelAxis(across, range=x, tickformat=PERCENT_TICKS, nticks=4)
    return Panel(across_axis, upward_axis, f"<b>{escaped(title)}</b>", square=square)


Points = tuple[FloatArray, FloatArray]


def _lines(result: MethodResult, panel: int) -> tuple[Points, Points]:
    """The points of what is predicted, and of what is observed."""
    drawn, ends = result.cumulative, np.array([0.0, 1.0])
    score, outcome, by = drawn.cumulative_score, drawn.cumulative_outcome, drawn.fractile
    return (
        ((by, score), (by, outcome)),
        ((score, score), (score, outcome)),
        ((by, drawn.score), (by, drawn.recalibrated)),
        ((ends, ends), (drawn.score, drawn.recalibrated)),
    )[panel]


def _layers(of: Subject, result: MethodResult, panel: int, place: int) -> list[Layer]:
    """Both lines, below them the band of the KS test, and above them where KS is reached."""
    # The dash tells the two curves of a panel apart without their colours.
    predicted = Subject("Predicted", "Predicted", replace(of.style, dash="dash"))
    across = f"{PANELS[panel][0]} %{{x:.1%}}"
    points = _lines(result, panel)
    lines = [
        Layer(
            f"panel {panel}",
            x.astype(np.float32),
            y.astype(np.float32),
            panel=place,
            of=of,
            # A constant score is one point, and no line.
            line=of.line() if len(x) > 1 else None,
            marker=Marker(of.style.color, size=6) if len(x) == 1 else None,
            hover=f"{across}<br>{of.name} %{{y:.2%}}<extra></extra>",
        )
        for of, (x, y) in zip((predicted, OBSERVED), points, strict=True)
    ]
    curve = result.cumulative
    at, color = furthest(result), _color_of_gap(result)
    if panel not in WITH_BAND:
        x = (curve.fractile if panel == ALL[2] else curve.score)[at]
        line = Line(color, 1.5, "dot")
        mark = Layer(f"place {panel}", [x, x], SHARES, panel=place, line=line)
        return [mark, *lines]
    (x, low), (_, high) = points
    half = curve.null_half_width
    ends = [float(low[at]), float(high[at])]
    band = area(f"band {panel}", x, low - half, low + half, name=_band_name(result))
    gap = Layer(f"gap {panel}", [x[at]] * 2, ends, panel=place, line=Line(color, 3))
    mark = Layer(
        f"ks {panel}",
        [x[at]],
        [high[at]],
        panel=place,
        name=KS,
        marker=Marker(color, size=8, line=Line(RIM, 1)),
        hovertext=[f"{percent(abs(high[at] - low[at]))} at score {score_percent(curve.score[at])}"],
        hover=HOVER_TEXT,
    )
    return [replace(band, panel=place), *lines, gap, mark]


def _band_name(result: MethodResult) -> str:
    return f"{level(result.cumulative.confidence_level)} band if calibrated"


def _color_of_gap(result: MethodResult) -> str:
    return DOUBT if wording.leaves_band(result) else GREY


def _names(of: Subject, result: MethodResult, panel: int, place: int, height: int) -> list[Note]:
    """Names at the ends of both lines, of the band, and where KS is reached."""
    x, y = _ranges(result, panel)
    lines = _lines(result, panel)
    ends = [float(line[1][-1]) for line in lines]
    # The lower name moves down, so that both can be read and neither covers the panel's title.
    apart = abs(ends[1] - ends[0]) / (y[1] - y[0]) * height
    down = min(0.0, apart - NAME_PIXELS)
    lower = 0 if ends[1] >= ends[0] else 1
    lines_of = (("Predicted", of.style.color), (OBSERVED.name, OUTCOME))
    notes = [
        Note(x[1], ends[i], name, "left", color, down if i == lower else 0.0, NAME_GAP)
        for i, (name, color) in enumerate(lines_of)
    ]
    if panel in WITH_BAND:
        notes.append(Note(_at(x, 0.03), _at(y, 0.9), "Grey: by chance", "left"))
        notes.append(_name_of_gap(result, panel, x, y, height))
    else:
        notes.append(_name_of_place(result, panel, x, lines))
    return [replace(note, panel=place) for note in notes]


def _at(ends: Sequence[float], share: float) -> float:
    return ends[0] + share * (ends[1] - ends[0])


def _name_of_gap(
    result: MethodResult,
    panel: int,
    across: Sequence[float],
    upward: Sequence[float],
    height: int,
) -> Note:
    """The KS calibration error beside its line, where the rising lines leave room."""
    (x, low), (_, high) = _lines(result, panel)
    at, color = furthest(result), _color_of_gap(result)
    words = f"<b>KS {percent(result.ks.statistic)}</b>"
    if panel == WITH_BAND[-1] and x[at] < _at(across, 1.0 - NAME_SHARE):
        below = min(float(high[at]), float(low[at]) - result.cumulative.null_half_width)
        below = max(below, _at(upward, 0.06))
        return Note(float(x[at]), below, words, "left", color, -8.0, NAME_GAP)
    right = max(float(x[at]), _at(across, NAME_SHARE))
    above = max(float(np.interp(right, x, line)) for line in (low, high))
    # Above the panel is its title.
    room = (upward[1] - above) / (upward[1] - upward[0]) * height
    return Note(right, above, words, "right", color, min(12.0, room - 8.0), -NAME_GAP)


def _name_of_place(
    result: MethodResult, panel: int, across: Sequence[float], lines: Sequence[Points]
) -> Note:
    """The score where KS is reached: below high lines, and above low ones."""
    curve, at = result.cumulative, furthest(result)
    x = float((curve.fractile if panel == ALL[2] else curve.score)[at])
    is_high = max(float(np.interp(x, *line)) for line in lines) > 0.5
    is_left = x > _at(across, 1.0 - NAME_SHARE if is_high else NAME_SHARE)
    words = f"score {score_percent(curve.score[at])}"
    y, color = 0.04 if is_high else 0.96, _color_of_gap(result)
    if is_left:
        return Note(x, y, words, "right", color, aside=-NAME_GAP)
    return Note(x, y, words, "left", color, aside=NAME_GAP)


def _ranges(result: MethodResult, panel: int) -> tuple[list[float], list[float]]:
    curve = result.cumulative
    reached = 1.04 * max(float(curve.cumulative_score[-1]), float(curve.cumulative_outcome[-1]))
    sums = [-0.02 * reached, reached]
    return ((SHARES, sums), (sums, sums), (SHARES, SHARES), (SHARES, SHARES))[panel]


HEIGHT, LEFT_OF_DIFFERENCE = 300, 66
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
        left=LEFT_OF_DIFFERENCE,
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


def _arrow(of: Subject, result: MethodResult) -> Arrow:
    """The KS calibration error: from zero to the point of the curve that is farthest from zero."""
    drawn, at = result.cumulative, furthest(result)
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
    largest = furthest(result)
    at = np.array([bottom, top, largest])
    kuiper = f"Kuiper error {percent(difference[top] - difference[bottom])}"
    labels = [f"{kuiper}, lowest", f"{kuiper}, highest"]
    # The pointer only finds the marker on top, so that one has the words of both.
    labels.append(f"{KS} {percent(abs(difference[largest]))}<br>{labels[largest == top]}")
    # The words must neither leave the panel nor cover the curve.
    aside = "left" if drawn.fractile[largest] > 0.5 else "right"
    return Layer(
        "extremes",
        drawn.fractile[at],
        difference[at],
        of=of,
        # The words of a second method would cover those of the first on a phone.
        text=["", "", f"{f'{KS} ' if first else ''}{percent(abs(float(difference[largest])))}"],
        textposition=f"{'top' if largest == top else 'bottom'} {aside}",
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
