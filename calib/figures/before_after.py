"""Before and after: one small reliability panel a method, all on the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calib.analysis import Analysis, MethodResult
from calib.figures.chart import Chart, make_chart
from calib.figures.grid import Grid, axis_ids, layout_keys, panel_title, shared_titles
from calib.figures.panels import band, diagonal, dots, few_entry, square
from calib.figures.scales import LINEAR
from calib.figures.theme import axis_look, style_of
from calib.figures.trace import Trace
from calib.figures.words import evidence, verdicts
from calib.text import escaped, number

SIDE = 180
TITLE = 40
# Few enough for panels of 80 pixels.
TICKS = {"tickvals": [0.0, 0.5, 1.0], "ticktext": ["0", "0.5", "1"]}


def before_after_chart(analysis: Analysis, methods: Sequence[str], *, columns: int = 3) -> Chart:
    """One reliability panel a method, each with its own band, titled with its KS error.

    Parameters
    ----------
    analysis : Analysis
    methods : sequence of str
    columns : int
        Panels beside each other.
    """
    results = [analysis.methods[key] for key in methods]
    grid = Grid(len(results), min(columns, len(results)), SIDE, gap_x=22, gap_y=48)
    traces: list[Trace] = []
    layout: dict[str, Any] = {}
    notes = []
    for panel, result in enumerate(results):
        # The first panel's band and diagonal speak for all in the legend.
        traces += _traces(result, panel, named=panel == 0)
        layout |= _axes(grid, panel)
        notes.append(_title(result, panel))
    notes += shared_titles("Mean predicted probability", "Observed frequency")
    if any(result.reliability.few.any() for result in results):
        traces.append(few_entry())
    return make_chart(
        traces,
        layout | {"annotations": notes},
        f"Reliability before and after calibration. {verdicts(analysis, methods)}",
        plot_width=grid.width,
        plot_height=grid.height,
        top=TITLE,
        revision="before and after",
    )


def before_after_panel(analysis: Analysis, method: str) -> Chart:
    """One of these panels, for a page that sets them in as many columns as it has room for.

    It has neither legend nor titles of its axes: the page says once what all have in common.

    Parameters
    ----------
    analysis : Analysis
    method : str
    """
    result = analysis.methods[method]
    grid = Grid(1, 1, SIDE, gap_x=0, gap_y=0)
    return make_chart(
        _traces(result, 0, named=False),
        _axes(grid, 0) | {"annotations": [_title(result, 0)]},
        f"Reliability of {result.label}: {evidence(result)}.",
        plot_width=SIDE,
        plot_height=SIDE,
        left=30,
        right=6,
        top=TITLE,
        bottom=24,
        revision=f"before and after {method}",
    )


def _title(result: MethodResult, panel: int) -> dict[str, Any]:
    title = f"<b>{escaped(result.label)}</b><br>KS {number(result.ks.statistic, 3)}"
    return panel_title(title, panel)


def _traces(result: MethodResult, panel: int, *, named: bool) -> list[Trace]:
    place = axis_ids(panel)
    shared = place | {"showlegend": named}
    curve, style = result.reliability, style_of(result.key)
    return [
        band(curve, LINEAR, **shared, legendgroup="band"),
        diagonal(LINEAR, **shared, legendgroup="diagonal"),
        dots(result.key, escaped(result.label), curve, style, LINEAR, **place),
    ]


def _axes(grid: Grid, panel: int) -> dict[str, object]:
    ids, (x_key, y_key) = axis_ids(panel), layout_keys(panel)
    across, upward = square(ids["xaxis"])
    x_domain, y_domain = grid.domain(panel)
    scale = dict(LINEAR.options()) | TICKS
    x_labels, y_labels = grid.is_lowest(panel), grid.is_left(panel)
    return {
        x_key: axis_look(
            **scale, **across, domain=x_domain, anchor=ids["yaxis"], showticklabels=x_labels
        ),
        y_key: axis_look(
            **scale, **upward, domain=y_domain, anchor=ids["xaxis"], showticklabels=y_labels
        ),
    }
