"""Periods: base rate, slope, intercept and KS error over time, one panel under the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.analysis.periods import PeriodTable
from calib.analysis.verdict import SIGNIFICANCE
from calib.figures.chart import Chart, make_chart
from calib.figures.column import Column, ends
from calib.figures.grid import axis_ids, panel_title
from calib.figures.panels import few_entry, legend_entry
from calib.figures.theme import FRAME, OUTCOME, MethodStyle, faded, style_of
from calib.figures.trace import Trace, scatter, whiskers
from calib.methods import method_of
from calib.numerics.arrays import BoolArray, FloatArray
from calib.text import between, count, escaped, number, p_value

WIDTH, PANEL, GAP = 640, 120, 30
MAX_TICKS = 5
OBSERVED = MethodStyle(OUTCOME, "solid", "circle")


@dataclass(frozen=True, slots=True)
class _Panel:
    """One panel: its title, its numbers in a PeriodTable, and the value of calibrated scores."""

    title: str
    name: str
    ideal: float | None


PANELS = (
    _Panel("Observed and predicted", "base_rate", None),
    _Panel("Calibration slope (1 is calibrated)", "slope", 1.0),
    _Panel("Intercept (0 is calibrated)", "intercept", 0.0),
    _Panel("KS error", "ks", None),
)
COLUMN = Column(len(PANELS), PANEL, GAP)
MARGIN = 0.03


def period_chart(tables: Mapping[str, PeriodTable]) -> Chart:
    """Calibration over time.

    Parameters
    ----------
    tables : mapping of str to PeriodTable
        By method, of the same periods.

    Returns
    -------
    Chart
        Lines with intervals; a star marks a KS error whose Holm-adjusted p-value is below 0.05,
        hollow markers periods of fewer than 30 rows.
    """
    first = next(iter(tables.values()))
    traces = [_line("observed", "Observed", first, "base_rate", OBSERVED, 0)]
    for key, table in tables.items():
        traces += _method(key, table)
    traces += _entries(tables)
    for panel, each in enumerate(PANELS):
        if each.ideal is not None:
            traces.append(_ideal(first, each.ideal, panel))
    axes = COLUMN.axes(
        _positions(first),
        [escaped(name.removeprefix("week of ")) for name in first.names],
        [_upward(tables, each) for each in PANELS],
        margin=MARGIN,
        most_ticks=MAX_TICKS,
    )
    return make_chart(
        traces,
        axes | {"annotations": _titles()},
        _alt(tables, first),
        plot_width=WIDTH,
        plot_height=COLUMN.height,
        top=26,
        left=62,
        revision=f"periods {first.unit}",
    )


def _alt(tables: Mapping[str, PeriodTable], first: PeriodTable) -> str:
    said = [
        f"{method_of(key).label}: {int((table.ks_p_adjusted < SIGNIFICANCE).sum())} periods "
        "with evidence against calibration (KS test, Holm)."
        for key, table in tables.items()
    ]
    span = f"{len(first)} periods, {first.names[0]} to {first.names[-1]}"
    return f"Calibration over {span}. {' '.join(said)}"


def _positions(table: PeriodTable) -> FloatArray:
    return table.position.astype(np.float64)


def _titles() -> list[dict[str, Any]]:
    return [panel_title(each.title, panel) for panel, each in enumerate(PANELS)]


def _method(key: str, table: PeriodTable) -> list[Trace]:
    name, style = escaped(method_of(key).label), style_of(key)
    lines = [_line(key, name, table, "mean_score", style, 0, bars=False)]
    lines += [
        _line(key, name, table, each.name, style, panel, bars=each.name != "ks")
        for panel, each in enumerate(PANELS)
        if panel > 0
    ]
    marked = table.ks_p_adjusted < SIGNIFICANCE
    if marked.any():
        lines.append(_stars(key, table, style))
    return lines


def _line(
    key: str,
    name: str,
    table: PeriodTable,
    what: str,
    style: MethodStyle,
    panel: int,
    *,
    bars: bool = True,
) -> Trace:
    y = getattr(table, what)
    error_y = None
    if bars:
        low, high = (getattr(table, f"{what}_{end}") for end in ("low", "high"))
        error_y = whiskers(y, low, high, faded(style.color, 0.6))
    return scatter(
        x=table.position,
        y=y,
        mode="lines+markers",
        name=name,
        uid=f"{what} {key}",
        legendgroup=key,
        line={"color": faded(style.color, 0.7), "width": 1.5, "dash": style.dash},
        marker={
            "color": style.color,
            "symbol": [style.hollow if few else style.symbol for few in table.few],
            "size": 6,
            "opacity": 1.0,
        },
        error_y=error_y,
        hovertext=[_describe(table, what, i) for i in range(len(table))],
        hovertemplate="<b>%{fullData.name}</b><br>%{hovertext}<extra></extra>",
        showlegend=False,
        **axis_ids(panel),
    )


def _stars(key: str, table: PeriodTable, style: MethodStyle) -> Trace:
    marked = table.ks_p_adjusted < SIGNIFICANCE
    panel = len(PANELS) - 1
    return scatter(
        x=table.position[marked],
        y=table.ks[marked],
        mode="markers",
        name=f"p &lt; {SIGNIFICANCE:g} (Holm)",
        uid=f"stars {key}",
        legendgroup=key,
        marker={"color": style.color, "symbol": "star", "size": 12},
        hoverinfo="skip",
        showlegend=True,
        **axis_ids(panel),
    )


def _describe(table: PeriodTable, what: str, i: int) -> str:
    value = getattr(table, what)[i]
    said = "not estimable" if math.isnan(value) else number(value)
    if what not in ("mean_score", "ks") and not math.isnan(value):
        said += f" ({between(getattr(table, f'{what}_low')[i], getattr(table, f'{what}_high')[i])})"
    if what == "ks":
        said += f", {p_value(table.ks_p_value[i])}"
    rows = f"{count(table.rows[i])} rows, {count(table.positives[i])} positive"
    return f"{escaped(table.names[i])}<br>{said}<br>{rows}"


def _entries(tables: Mapping[str, PeriodTable]) -> list[Trace]:
    mode = "lines+markers"
    entries = [legend_entry("observed", "Observed", OBSERVED, mode)]
    entries += [
        legend_entry(key, escaped(method_of(key).label), style_of(key), mode) for key in tables
    ]
    if any(table.few.any() for table in tables.values()):
        entries.append(few_entry())
    return entries


def _ideal(table: PeriodTable, value: float, panel: int) -> Trace:
    return scatter(
        x=ends(_positions(table), MARGIN),
        y=[value, value],
        mode="lines",
        uid=f"ideal {panel}",
        line={"color": FRAME, "width": 1, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
        **axis_ids(panel),
    )


def _upward(tables: Mapping[str, PeriodTable], panel: _Panel) -> list[float]:
    """All estimates that are judged, and their intervals as far as they do not flatten them."""
    few = next(iter(tables.values())).few
    judged = ~few if (~few).any() else few
    points = _estimates(tables, panel, judged)
    low, high = (float(points.min()), float(points.max())) if len(points) else (0.0, 1.0)
    if panel.name == "ks":
        return [low, high + (0.1 * (high - low) or 0.05)]
    reach = max(high - low, 0.05)
    bounds = _known(tables, (f"{panel.name}_low", f"{panel.name}_high"), judged)
    if len(bounds):
        low, high = (
            max(min(low, float(bounds.min())), low - reach),
            min(max(high, float(bounds.max())), high + reach),
        )
    margin = 0.1 * (high - low) or 0.05
    return [low - margin, high + margin]


def _estimates(tables: Mapping[str, PeriodTable], panel: _Panel, judged: BoolArray) -> FloatArray:
    """What is drawn in a panel without its intervals, and what it is held against."""
    against = {"ks": 0.0}.get(panel.name, panel.ideal)
    names = (panel.name, "mean_score") if panel.name == "base_rate" else (panel.name,)
    found = _known(tables, names, judged)
    return found if against is None else np.append(found, against)


def _known(
    tables: Mapping[str, PeriodTable], names: Sequence[str], judged: BoolArray
) -> FloatArray:
    values = np.concatenate([getattr(t, name)[judged] for t in tables.values() for name in names])
    return values[np.isfinite(values)]
