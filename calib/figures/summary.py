"""The summary of an analysis as one picture, and the scores before and after calibration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.curves.reliability import ReliabilityCurve
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
from calib.figures.svg import interval_bar
from calib.figures.theme import DOUBT, GREY, faded, style_of
from calib.numerics.arrays import FloatArray
from calib.text import escaped, level, percent, percents, shortened
from calib.words import titles
from calib.words.measures import (
    axis_titles,
    binning,
    details,
    evidence,
    metric_text,
    verdicts,
    without_band,
)

SIDE, GAP, HISTOGRAM = 380, 12, 36


@chart
def summary_chart(analysis: Analysis) -> Chart:
    """Reliability before and after the recommended calibrator, with the error shaded.

    Labels beside the lines name them, the bin with the largest error, and the consistency band. No
    band is drawn of fewer than 30 rows, or if its median width is above 0.5.
    If no calibrator is recommended, the chart shows the uncalibrated scores alone.

    Parameters
    ----------
    analysis : Analysis

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("beta",)})
    >>> figure = calib.plot.summary(analysis)
    >>> [note.text for note in figure.layout.annotations][:2]
    ['<b>Uncalibrated</b>', 'says 32%, 55% were positive']
    """
    before, after = analysis.uncalibrated, analysis.advised
    raw = subject(analysis, before)
    layers = [
        replace(_error(before.reliability), key="error"),
        *_band(before.reliability),
        diagonal(LINEAR, legend=False),
        _dots(raw, before.reliability),
    ]
    rows = [histogram_layer(raw, before.histogram, LINEAR, _unit(analysis), filled=True)]
    if after is not None:
        layers.append(_dots(subject(analysis, after), after.reliability))
    notes, leaders = _labels(analysis, after)
    across, upward = axis_titles(analysis)
    x = LINEAR.axis(across)
    y = LINEAR.axis(upward)
    below = PanelAxis(showticklabels=False, rangemode="tozero")
    return draw(
        "summary",
        stacked(x, [(y, SIDE), (below, HISTOGRAM)], SIDE, GAP, square=True),
        [*layers, *leaders, *rows],
        verdicts(analysis, ["uncalibrated", *([] if after is None else [after.key])]),
        of=(analysis.data.name,),
        notes=notes,
        left=60,
        top=12,
    )


def change_bars(analysis: Analysis) -> dict[str, str]:
    """The change of log loss of each calibrator with its interval, as SVG on one axis.

    The calibrator with the lowest loss is the first.
    """
    changes = {
        key: method.differences["log_loss"]
        for key, method in analysis.ranked_results.items()
        if key != "uncalibrated"
    }
    bounds = [0.0, *(end for one in changes.values() for end in (one.low, one.high, one.value))]
    ends = (float(np.nanmin(bounds)), float(np.nanmax(bounds)))
    advised_key = analysis.recommendation.method
    return {
        key: interval_bar(change, ends, style_of(key).color if key == advised_key else GREY)
        for key, change in changes.items()
    }


def _unit(analysis: Analysis) -> str:
    return "Weight" if analysis.data.weighted else "Rows"


def _band(curve: ReliabilityCurve) -> list[Layer]:
    if without_band(curve):
        return []
    return [replace(band(curve, LINEAR, legend=False), line=Line(faded(GREY, 0.5), 1))]


def _dots(of: Subject, curve: ReliabilityCurve) -> Layer:
    layer = dots(of, curve, LINEAR)
    marker = layer.marker and replace(layer.marker, size=9.0, sizemode=None, sizeref=None)
    return replace(layer, marker=marker)


def _error(curve: ReliabilityCurve) -> Layer:
    """The area between the bins and the diagonal."""
    x = curve.mean_score
    return replace(area("error", x, x, curve.observed, color=faded(DOUBT, 0.16)), name="Error")


def _labels(analysis: Analysis, after: MethodResult | None) -> tuple[list[Note], list[Layer]]:
    """The words beside the lines, and lines from them to what they name."""
    taken = [_drawn(result.reliability) for result in (analysis.uncalibrated, after) if result]
    return placed(_words(analysis, after), np.concatenate(taken))


def _words(analysis: Analysis, after: MethodResult | None) -> Iterator[Words]:
    curve = analysis.uncalibrated.reliability
    worst = curve.worst
    stated, observed = percents(curve.mean_score[worst], curve.observed[worst], digits=0)
    positive = analysis.words.positive
    name = escaped(shortened(analysis.uncalibrated.label))
    # Without evidence the largest gap is chance, so it is not named.
    miscalibrated = analysis.verdict.answer == "not calibrated"
    gap = (f"says {stated}, {observed} {escaped(positive)}",) if miscalibrated else ()
    yield Words((name, *gap), _points(curve)[[worst]])
    if after is not None:
        held_out = "on unseen rows" if analysis.data.protocol == "folds" else "on test rows"
        name, color = escaped(f"After {after.label}"), style_of(after.key).color
        yield Words((name, f"({held_out})"), _points(after.reliability), colors=(color,))
    if without_band(curve):
        return
    edges = [
        np.column_stack([curve.mean_score, edge]) for edge in (curve.band_low, curve.band_high)
    ]
    share = level(curve.confidence_level)
    lines = (f"grey band: {share} of a", "calibrated model's dots")
    yield Words(lines, np.concatenate(edges), is_name=False)


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
# The ends of the axes of classes. Of many classes each has small scores, whose dots would all stand
# in one corner of a whole diagram.
ENDS = (0.02, 0.1, 0.2, 0.5, 1.0)


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
        The end of both axes: see `highest_of`.
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


def highest_of(curves: Sequence[ReliabilityCurve]) -> float:
    """The end of axes that show all dots of some curves."""
    largest = max(float(part.max()) for c in curves for part in (c.mean_score, c.observed))
    return next(end for end in ENDS if end >= min(largest, 1.0))


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
