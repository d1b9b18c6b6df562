"""The summary of an analysis as one picture, and the scores before and after calibration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calib import text
from calib.analysis import Analysis, MethodResult
from calib.analysis.plans import PlanChoice
from calib.curves.reliability import ReliabilityCurve, reliability_curve
from calib.figures.axes import LINEAR, Panel, PanelAxis, Scale, SharedTitles, grid, stacked
from calib.figures.chart import BOTTOM, LEFT, TITLE_ROW, TOP, Chart, chart, draw
from calib.figures.labels import Words, placed
from calib.figures.layers import (
    Layer,
    Line,
    Note,
    Subject,
    area,
    band,
    diagonal,
    dots,
    few_entry,
    subject,
)
from calib.figures.reliability import histogram_layer
from calib.figures.svg import interval_bar, interval_lines
from calib.figures.theme import ADVISED, DOUBT, GREY, NOW, MethodStyle, faded
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import score_histogram
from calib.numerics.intervals import Estimate
from calib.text import escaped, percent, shortened
from calib.words import titles
from calib.words.measures import (
    axis_titles,
    band_name,
    binning,
    details,
    evidence,
    metric_text,
    verdicts,
    without_band,
)

# Pixels of the panel of the scores, of the gap below it, and of the histogram.
WIDTH, HEIGHT, GAP, HISTOGRAM = 664, 540, 8, 24
SUMMARY_LEFT, SUMMARY_RIGHT = 62, 8
# On a narrower chart the panel is square, and only the names of the lines have room.
NARROW_PIXELS = 480
NOW_STYLE = MethodStyle(NOW, "solid", "circle")
AFTER_STYLE = MethodStyle(ADVISED, "solid", "circle")
EARLIER_STYLE = MethodStyle(NOW, "solid", "circle-open")
# The ends of both axes. The dots of rare events would all stand in one corner of a whole diagram.
TOPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MARGIN = 0.02  # A share of the axis, so that dots at its ends are drawn whole.
MAX_TICKS = 8
STEPS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True, slots=True, eq=False)
class SummaryLine:
    """One line of the summary: the scores now, after calibration, or before a change.

    Attributes
    ----------
    of : Subject
    curve : ReliabilityCurve
    histogram : ndarray
        Weight of the rows in equal intervals of the score.
    note : str
        What stands below the name of the line; "" if nothing does.
    """

    of: Subject
    curve: ReliabilityCurve
    histogram: FloatArray
    note: str = ""


def summary_lines(analysis: Analysis, plan: PlanChoice | None = None) -> list[SummaryLine]:
    """The scores now and after what is recommended; with a plan, of the rows since a change."""
    rows = "on held-out rows" if analysis.data.protocol == "folds" else "on test rows"
    if plan is None:
        now, after = analysis.uncalibrated, analysis.advised
        # Without evidence the largest gap is chance, so it is not named.
        is_wrong = analysis.verdict.answer == "not calibrated"
        said = _gap(analysis, now.reliability) if is_wrong else ""
        lines = [
            SummaryLine(_subject("now", "Now", NOW_STYLE), now.reliability, now.histogram, said)
        ]
        if after is not None:
            of = _subject("after", f"After {after.short_label}", AFTER_STYLE)
            lines.append(SummaryLine(of, after.reliability, after.histogram, rows))
        return lines
    settings = analysis.settings
    earlier, now_curve, after_curve = (
        reliability_curve(
            cells,
            n_bins=settings.n_bins,
            strategy=settings.strategy,
            confidence_level=settings.confidence_level,
        )
        for cells in plan.cells
    )
    heights = [score_histogram(cells.score, cells.weight) for cells in plan.cells]
    until, since = text.until_and_since(plan.since)
    said = _gap(analysis, now_curve) if plan.now.rejected else ""
    return [
        SummaryLine(_subject("now", f"Since {since}, now", NOW_STYLE), now_curve, heights[1], said),
        SummaryLine(
            _subject("after", f"Since {since}, after", AFTER_STYLE), after_curve, heights[2], rows
        ),
        SummaryLine(
            _subject("earlier", f"Until {until}", EARLIER_STYLE), earlier, heights[0], "hollow dots"
        ),
    ]


def _subject(key: str, name: str, style: MethodStyle) -> Subject:
    return Subject(key, text.escaped(name), style)


def _gap(analysis: Analysis, curve: ReliabilityCurve) -> str:
    """The bin that is farthest from the diagonal."""
    worst = curve.worst
    stated, observed = text.percents(curve.mean_score[worst], curve.observed[worst], digits=0)
    return f"says {stated}, {observed} {text.escaped(analysis.words.positive)}"


@chart
def summary_chart(
    analysis: Analysis, plan: PlanChoice | None = None, *, width: int = WIDTH + 70
) -> Chart:
    """Reliability before and after the recommended calibrator, with the error shaded.

    Labels beside the lines name them, the bin with the largest error, and the consistency band. No
    band is drawn of fewer than 30 rows, or if its median width is above 0.5.
    If no calibrator is recommended, the chart shows the uncalibrated scores alone.

    Parameters
    ----------
    analysis : Analysis
    plan : PlanChoice, optional
        What to do about scores that changed: the chart is then of the rows since the change, and
        hollow dots show those before it.
    width : int
        Pixels of the whole chart.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("beta",)})
    >>> figure = calib.plot.summary(analysis)
    >>> [note.text for note in figure.layout.annotations][:2]
    ['<b>Now</b>', 'says 32%, 55% were positive']
    """
    return summary_of(analysis, summary_lines(analysis, plan), plan, width)


def summary_of(
    analysis: Analysis, lines: Sequence[SummaryLine], plan: PlanChoice | None, width: int
) -> Chart:
    """That chart of lines that are computed already."""
    left, right = SUMMARY_LEFT, SUMMARY_RIGHT
    across = width - left - right
    upward = across if width < NARROW_PIXELS else round(across * HEIGHT / WIDTH)
    x, y = _axes(analysis, lines, upward / across)
    now = lines[0].curve
    said_wrong = (analysis.verdict if plan is None else plan.now).answer == "not calibrated"
    layers = [
        *([_error(now)] if said_wrong else []),
        *_band([line.curve for line in lines[:2]]),
        diagonal(Scale("linear", 0.0, min(1.0, x.range[1] if x.range else 1.0)), legend=False),
        *(_dots(line) for line in reversed(lines)),
    ]
    unit = "Weight" if analysis.data.weighted else "Rows"
    histograms = [
        histogram_layer(line.of, line.histogram / line.histogram.sum(), LINEAR, unit, not i)
        for i, line in enumerate(lines[:2])
    ]
    highest = max(float(np.asarray(layer.y).max()) for layer in histograms)
    below = PanelAxis(range=[0.0, highest], tickvals=[0.4 * highest], ticktext=[unit])
    words = _words(lines, (x, y), (across, upward), has_notes=width >= NARROW_PIXELS)
    notes, leaders = _labels(words, lines, (x, y))
    said = verdicts(
        analysis, ["uncalibrated", *([analysis.advised.key] if analysis.advised else [])]
    )
    return draw(
        "summary",
        stacked(x, [(y, upward), (below, HISTOGRAM)], across, GAP, square=True),
        [*layers, *leaders, *histograms],
        said if plan is None else f"{titles.summary(analysis, plan)}.",
        of=(analysis.data.name,),
        notes=notes,
        left=left,
        right=right,
        top=12,
    )


def _axes(
    analysis: Analysis, lines: Sequence[SummaryLine], height_by_width: float
) -> tuple[PanelAxis, PanelAxis]:
    """Axes with one scale in both directions that hold all dots."""
    highest = max(float(line.curve.observed.max()) for line in lines)
    farthest = max(float(line.curve.mean_score.max()) for line in lines)
    needed = max(highest, farthest * height_by_width)
    # Ends of intervals may lie outside of the panel, but the one at the highest dot should not.
    ends = max(float(line.curve.high[line.curve.observed.argmax()]) for line in lines)
    needed = max(needed, min(ends, 1.5 * needed))
    top = next(end for end in TOPS if end >= min(needed, 1.0))
    low, high = -MARGIN * top, (1.0 + MARGIN) * top
    right = low + (high - low) / height_by_width
    across, upward = axis_titles(analysis)
    step = next(s for s in STEPS if top <= MAX_TICKS * s + 1e-9)

    def axis(title: str, end: float) -> PanelAxis:
        ticks = [i * step for i in range(int(min(end, 1.0) / step + 1e-9) + 1)]
        names = [text.score_percent(tick) for tick in ticks]
        return PanelAxis(title, range=[low, end], tickvals=ticks, ticktext=names)

    return axis(across, right), axis(upward, high)


def change_bars(changes: Mapping[str, Estimate], recommended: str) -> dict[str, str]:
    """Changes of log loss by calibrator with their intervals, as SVG on one axis."""
    ends = _bar_ends(changes)
    return {
        key: interval_bar(change, ends, _color(key, recommended)) for key, change in changes.items()
    }


def change_lines(analysis: Analysis) -> str:
    """Such intervals of all calibrators below each other, as one small drawing."""
    changes, advised = log_loss_changes(analysis), analysis.recommendation.method
    lines = [(change, _color(key, advised)) for key, change in changes.items()]
    return interval_lines(lines, _bar_ends(changes))


def log_loss_changes(analysis: Analysis) -> dict[str, Estimate]:
    """The change of log loss of each calibrator. That with the lowest loss is the first."""
    results = analysis.ranked_results.items()
    return {key: one.differences["log_loss"] for key, one in results if key != "uncalibrated"}


def _bar_ends(changes: Mapping[str, Estimate]) -> tuple[float, float]:
    """The ends of an axis that contains 0 and all intervals."""
    bounds = [0.0, *(end for one in changes.values() for end in (one.low, one.high, one.value))]
    return float(np.nanmin(bounds)), float(np.nanmax(bounds))


def _color(key: str, recommended: str) -> str:
    return ADVISED if key == recommended else GREY


def _band(curves: Sequence[ReliabilityCurve]) -> list[Layer]:
    """The band of the first curve, and that of the second where its dots go beyond the first."""
    parts = [_band_ends(curve) for curve in curves if not without_band(curve)]
    if not parts:
        return []
    ends = parts[0]
    for more in parts[1:]:
        beyond = (more[:, 0] < ends[0, 0]) | (more[:, 0] > ends[-1, 0])
        ends = np.concatenate([ends, more[beyond]])
    x, low, high = ends[ends[:, 0].argsort()].T
    name = band_name(curves[0])
    return [replace(area("band", x, low, high, name=name), line=Line(faded(GREY, 0.5), 1))]


def _band_ends(curve: ReliabilityCurve) -> FloatArray:
    return np.column_stack([curve.mean_score, curve.band_low, curve.band_high])


def _dots(line: SummaryLine) -> Layer:
    layer = dots(line.of, line.curve, LINEAR, joined=line.of.style is not EARLIER_STYLE)
    marker = layer.marker and replace(layer.marker, size=9.0, sizemode=None, sizeref=None)
    return replace(layer, marker=marker)


def _error(curve: ReliabilityCurve) -> Layer:
    """The area between the bins and the diagonal, where tests find an error."""
    x = curve.mean_score
    return replace(area("error", x, x, curve.observed, color=faded(DOUBT, 0.16)), name="Error")


Axes = tuple[PanelAxis, PanelAxis]


def _labels(
    words: Iterable[Words], lines: Sequence[SummaryLine], axes: Axes
) -> tuple[list[Note], list[Layer]]:
    """The words beside the lines, and lines from them to what they name."""
    taken = [_shares(_drawn(line.curve), axes) for line in lines]
    notes, leaders = placed(words, np.concatenate(taken))
    (x_low, x_length), (y_low, y_length) = map(_ends, axes)
    return (
        [replace(n, x=x_low + n.x * x_length, y=y_low + n.y * y_length) for n in notes],
        [
            replace(
                one,
                x=x_low + np.asarray(one.x) * x_length,
                y=y_low + np.asarray(one.y) * y_length,
            )
            for one in leaders
        ],
    )


def _ends(axis: PanelAxis) -> tuple[float, float]:
    """The lower end of an axis, and its length."""
    low, high = axis.range or (0.0, 1.0)
    return low, high - low


def _shares(points: FloatArray, axes: Axes) -> FloatArray:
    """Points as shares of the panel."""
    (x_low, x_length), (y_low, y_length) = map(_ends, axes)
    return (points - (x_low, y_low)) / (x_length, y_length)


def _words(
    lines: Sequence[SummaryLine], axes: Axes, panel: tuple[float, float], *, has_notes: bool
) -> Iterator[Words]:
    for line in lines:
        curve = line.curve
        points = _points(curve)
        if line is lines[0] and line.note:
            points = points[[curve.worst]]
        more = (line.note,) if line.note and has_notes else ()
        color = None if line.of.style.color == NOW else line.of.style.color
        of_panel = _shares(points, axes)
        yield Words((line.of.name, *more), of_panel, colors=(color,), panel=panel)
    first = lines[0].curve
    if without_band(first) or not has_notes:
        return
    edges = [
        np.column_stack([first.mean_score, edge]) for edge in (first.band_low, first.band_high)
    ]
    share = text.level(first.confidence_level)
    said = (f"grey: {share} of the dots", "of a calibrated model")
    yield Words(said, _shares(np.concatenate(edges), axes), is_name=False, panel=panel)


def _points(curve: ReliabilityCurve) -> FloatArray:
    return np.column_stack([curve.mean_score, curve.observed])


def _drawn(curve: ReliabilityCurve) -> FloatArray:
    """Points on everything that is drawn of a curve: its line, intervals and band."""
    x = np.linspace(curve.mean_score[0], curve.mean_score[-1], 120)
    edges = () if without_band(curve) else (curve.band_low, curve.band_high)
    lines = [
        np.column_stack([x, np.interp(x, curve.mean_score, y)]) for y in (curve.observed, *edges)
    ]
    share = np.linspace(0.0, 1.0, 12)[:, None]
    height = curve.low + share * (curve.high - curve.low)
    bars = np.column_stack([np.tile(curve.mean_score, len(share)), height.ravel()])
    return np.concatenate([*lines, bars])


PANEL_SIDE = 180
TITLES = TOP + 2 * TITLE_ROW
# Pixels beside a small panel, which are just enough for the labels of its axes: on a phone two
# panels stand beside each other, and what labels do not need is left for the dots.
SMALL_LEFT, SMALL_RIGHT, SMALL_BOTTOM = 36, 15, 24


@chart
def before_after_chart(analysis: Analysis, methods: Sequence[str], *, columns: int = 3) -> Chart:
    """One reliability panel per method, with its consistency band and its KS calibration error.

    No band is drawn of fewer than 30 rows, or if its median width is above 0.5.

    Parameters
    ----------
    analysis : Analysis
    methods : sequence of str
        Keys of the methods.
    columns : int
        Number of panels in a row.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("beta",)})
    >>> figure = calib.plot.before_after(analysis, ["uncalibrated", "beta"])
    >>> len(figure.layout.annotations)  # titles of two panels and of their axes, and the heading
    6
    """
    results = [analysis.methods[key] for key in methods]
    panels = grid(
        list(map(_panel, results)),
        columns,
        PANEL_SIDE,
        PANEL_SIDE,
        gaps=(22, 48),
        shared=True,
        shared_titles=SharedTitles("Mean predicted probability", "Observed frequency"),
    )
    layers = [
        layer
        for i, result in enumerate(results)
        for layer in _layers(subject(analysis, result), result.reliability, i)
    ]
    return draw(
        "before and after",
        panels,
        [*_named_once(layers), *few_entry(result.reliability.few for result in results)],
        f"Reliability before and after calibration. {verdicts(analysis, methods)}",
        title=titles.before_after(analysis, methods),
        details=details(analysis, binning(analysis)),
        of=(analysis.data.name, *methods),
        top=TITLES,
    )


@chart
def before_after_panel(analysis: Analysis, method: str, *, side: int = PANEL_SIDE) -> Chart:
    """One of these panels, for a page that chooses the number of columns.

    It has no legend, because the page explains once what all have in common. A small one, whose
    `side` is 180 pixels, has no titles of its axes either.
    """
    result = analysis.methods[method]
    titles = axis_titles(analysis) if side > PANEL_SIDE else ("", "")
    left, bottom = (LEFT, BOTTOM) if side > PANEL_SIDE else (SMALL_LEFT, SMALL_BOTTOM)
    return draw(
        "before and after",
        grid([_panel(result, titles)], 1, side, side, shared=True),
        _layers(subject(analysis, result), result.reliability, 0),
        f"Reliability of {result.short_label}: {evidence(result)}.",
        of=(analysis.data.name, method),
        view=method,
        right=6 if side > PANEL_SIDE else SMALL_RIGHT,
        top=TITLES,
        left=left,
        bottom=bottom,
    )


@chart
def class_panel(
    analysis: Analysis,
    method: str,
    name: str,
    curve: ReliabilityCurve,
    ks_error: float,
    *,
    highest: float = 1.0,
) -> Chart:
    """A small reliability panel of one class of a matrix, under one method.

    Parameters
    ----------
    analysis : Analysis
    method : str
        Key of the method.
    name : str
        The name of the class.
    curve : ReliabilityCurve
        That of the score of the class.
    ks_error : float
        The KS error of that score.
    highest : float
        The end of both axes.
    """
    error = percent(ks_error)
    scale = Scale("linear", LINEAR.low * highest, LINEAR.high * highest)
    return draw(
        "class",
        grid(
            [_titled(shortened(name), error, scale=scale)], 1, PANEL_SIDE, PANEL_SIDE, shared=True
        ),
        _layers(subject(analysis, method), curve, 0, scale),
        f"Reliability of the score of class {name}: KS calibration error {error}.",
        of=(analysis.data.name, method, name),
        view=method,
        right=SMALL_RIGHT,
        top=TITLES,
        left=SMALL_LEFT,
        bottom=SMALL_BOTTOM,
    )


def _panel(result: MethodResult, titles: tuple[str, str] = ("", "")) -> Panel:
    return _titled(result.label, metric_text("ks_error", result.ks.statistic), titles)


def _titled(
    name: str, ks_error: str, titles: tuple[str, str] = ("", ""), scale: Scale = LINEAR
) -> Panel:
    highest = scale.high / LINEAR.high
    # More labels would overlap in panels of 80 pixels.
    ticks = {share * highest: percent(share * highest, 0) for share in (0.0, 0.5, 1.0)}
    across, upward = (scale.axis(text, ticks) for text in titles)
    return Panel(across, upward, f"<b>{escaped(name)}</b><br>KS {ks_error}", square=True)


def _named_once(layers: Sequence[Layer]) -> Iterator[Layer]:
    """The same layers. The legend names the first of each group."""
    groups = {""}
    for layer in layers:
        yield replace(layer, legend=layer.group not in groups)
        groups.add(layer.group)


def _layers(of: Subject, curve: ReliabilityCurve, panel: int, scale: Scale = LINEAR) -> list[Layer]:
    # Alone in its panel a method needs no dash.
    of = replace(of, style=replace(of.style, dash="solid"))
    layers = [
        replace(diagonal(scale, legend=False), group="diagonal"),
        dots(of, curve, scale),
    ]
    if not without_band(curve):
        layers.insert(0, replace(band(curve, scale, legend=False), group="band"))
    return [replace(layer, key=f"panel {panel} {layer.key}", panel=panel) for layer in layers]
