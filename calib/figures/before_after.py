"""Before and after: one small reliability panel per method, all on the same axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from calib.analysis import Analysis, MethodResult
from calib.curves.reliability import ReliabilityCurve
from calib.figures import titles
from calib.figures.axes import LINEAR, Scale
from calib.figures.chart import BOTTOM, LEFT, TITLE_ROW, TOP, Chart, chart, draw
from calib.figures.layers import Layer, Subject, band, diagonal, dots, few_entry, subject
from calib.figures.panels import Panel, SharedTitles, grid
from calib.figures.words import (
    axis_titles,
    binning,
    details,
    evidence,
    metric_text,
    verdicts,
    without_band,
)
from calib.text import escaped, percent, shortened

SIDE = 180
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
        SIDE,
        SIDE,
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
        title=escaped(titles.before_after(analysis, methods)),
        details=details(analysis, binning(analysis)),
        of=(analysis.data.name, *methods),
        top=TITLES,
    )


@chart
def before_after_panel(analysis: Analysis, method: str, *, side: int = SIDE) -> Chart:
    """One of these panels, for a page that chooses the number of columns.

    It has no legend, because the page explains once what all have in common. A small one, whose
    `side` is 180 pixels, has no titles of its axes either.
    """
    result = analysis.methods[method]
    titles = axis_titles(analysis) if side > SIDE else ("", "")
    left, bottom = (LEFT, BOTTOM) if side > SIDE else (SMALL_LEFT, SMALL_BOTTOM)
    return draw(
        "before and after",
        grid([_panel(result, titles)], 1, side, side, shared=True),
        _layers(subject(analysis, result), result.reliability, 0),
        f"Reliability of {result.short_label}: {evidence(result)}.",
        of=(analysis.data.name, method),
        view=method,
        right=6 if side > SIDE else SMALL_RIGHT,
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
        grid([_titled(shortened(name), error, scale=scale)], 1, SIDE, SIDE, shared=True),
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
