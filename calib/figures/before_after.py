"""Before and after: one small reliability panel a method, all on the same axes."""

from __future__ import annotations

from collections.abc import Sequence

from calib.analysis import Analysis, MethodResult
from calib.figures.axes import LINEAR
from calib.figures.chart import BOTTOM, LEFT, TITLE_ROW, TOP, Chart, chart, draw
from calib.figures.layers import Trace, band, diagonal, dots, few_entry, method
from calib.figures.panels import Panel, axis_ids, grid, shared_titles
from calib.figures.words import axis_titles, evidence, verdicts
from calib.text import escaped, number

SIDE = 180
TITLES = TOP + 2 * TITLE_ROW
# Few enough for panels of 80 pixels.
TICKS = {"tickvals": [0.0, 0.5, 1.0], "ticktext": ["0", "0.5", "1"]}


@chart
def before_after_chart(analysis: Analysis, methods: Sequence[str], *, columns: int = 3) -> Chart:
    """One reliability panel per method, with its consistency band and its KS error.

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
    >>> len(figure.layout.annotations)  # the titles of two panels and of their axes
    4
    """
    results = [analysis.methods[key] for key in methods]
    panels = grid(list(map(_panel, results)), columns, SIDE, SIDE, gaps=(22, 48), shared=True)
    titles = shared_titles("Mean predicted probability", "Observed frequency")
    # The first panel's band and diagonal speak for all in the legend.
    layers = [part for i, result in enumerate(results) for part in _layers(result, i, named=i == 0)]
    return draw(
        "before and after",
        panels,
        [*layers, *few_entry(result.reliability.few for result in results)],
        f"Reliability before and after calibration. {verdicts(analysis, methods)}",
        of=(analysis.data.name, *methods),
        top=TITLES,
        annotations=[*panels.layout["annotations"], *titles],
    )


@chart
def before_after_panel(analysis: Analysis, method: str, *, side: int = SIDE) -> Chart:
    """One of these panels, for a page that sets them in as many columns as it has room for.

    It has no legend: the page says once what all have in common. A small one, whose `side` is 180
    pixels, has no titles of its axes either.
    """
    result = analysis.methods[method]
    titles = axis_titles(analysis) if side > SIDE else ("", "")
    room = {"left": LEFT, "bottom": BOTTOM} if side > SIDE else {"left": 30, "bottom": 24}
    return draw(
        "before and after",
        grid([_panel(result, titles)], 1, side, side, shared=True),
        _layers(result, 0, named=False),
        f"Reliability of {result.label}: {evidence(result)}.",
        of=(analysis.data.name, method),
        view=method,
        right=6,
        top=TITLES,
        **room,
    )


def _panel(result: MethodResult, titles: tuple[str, str] = ("", "")) -> Panel:
    across, upward = (LINEAR.axis(each, **TICKS) for each in titles)
    title = f"<b>{escaped(result.label)}</b><br>KS {number(result.ks.statistic)}"
    return Panel(across, upward, title, square=True)


def _layers(result: MethodResult, panel: int, *, named: bool) -> list[Trace]:
    place, curve = axis_ids(panel), result.reliability
    return [
        band(curve, LINEAR, legend=named, legendgroup="band", **place),
        diagonal(LINEAR, legend=named, legendgroup="diagonal", **place),
        dots(method(result), curve, LINEAR, **place),
    ]
