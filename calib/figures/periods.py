"""Periods: base rate, slope, intercept and KS error over time, one panel under the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from calib.analysis.periods import PeriodChange, PeriodTable
from calib.analysis.verdict import SIGNIFICANCE
from calib.calibrators import CALIBRATORS
from calib.figures.axes import padded, timeline
from calib.figures.chart import TITLE_ROW, TOP, Chart, chart, draw
from calib.figures.layers import (
    HOVER_TEXT,
    Layer,
    Subject,
    area,
    few_entry,
    hatched,
    legend_entry,
    method,
    reference,
    symbols,
    whiskers,
)
from calib.figures.theme import DOUBT, OUTCOME, MethodStyle, faded
from calib.numerics.arrays import BoolArray, FloatArray
from calib.numerics.intervals import Estimate
from calib.text import count, escaped, p_value, percent_with_interval, plural, with_interval
from calib.words import periods as wording
from calib.words.measures import KS

PANEL_HEIGHT, GAP = 120, 30
MAX_TICKS, MARGIN = 5, 0.03
# It is less than 0.5, because the chart's table gives the ends of an area the nearest names.
HALF_PERIOD = 0.499
OBSERVED = Subject("observed", "Observed", MethodStyle(OUTCOME, "solid", "circle"))
# Titles of the panels by the column of a PeriodTable that each shows.
PANELS = {
    "base_rate": "Observed and predicted",
    "slope": "Calibration slope (1 is calibrated)",
    "intercept": "Intercept (0 is calibrated)",
    "ks": KS,
}
# Values of calibrated scores.
IDEAL = {"slope": 1.0, "intercept": 0.0}
KS_PANEL = list(PANELS).index("ks")
# Columns that are probabilities, or differences of them.
RATES = ("base_rate", "mean_score", "ks")


@chart
def period_chart(
    tables: Mapping[str, PeriodTable],
    change: PeriodChange | None = None,
    *,
    recommended: str = "",
    young: float = math.nan,
) -> Chart:
    """Calibration over time: base rate, slope, intercept and KS error of each period.

    The panel of the KS calibration error is shaded at periods in which a method has a Holm-adjusted
    p-value below 0.05. Hollow markers are periods with fewer than 30 rows.

    Parameters
    ----------
    tables : mapping of str to PeriodTable
        Results of `calib.periods.period_table` by method key, for the same periods.
    change : PeriodChange, optional
        Result of `calib.periods.period_change`. If it is significant, its wrong periods are shaded
        in the other panels.
    recommended : str
        Key of the method that the analysis recommends. Its line is strong.
    young : float
        Position from which on the chart is hatched, because outcomes may not be final: 0 is the
        beginning of the first period, and 1.5 the middle of the second.

    Examples
    --------
    >>> import calib, numpy as np
    >>> rows = calib.Predictions.from_arrays([0, 1] * 100, [0.3, 0.6] * 100).view()
    >>> years = calib.periods.cut_periods(np.repeat([2024, 2025], 100))
    >>> table = calib.periods.period_table(rows, rows.score, years)
    >>> figure = calib.plot.periods({"uncalibrated": table})
    >>> figure.layout.annotations[0].text
    'Observed and predicted'
    """
    first = next(iter(tables.values()))
    at = first.position.astype(np.float64)
    ranges = {title: _upward(tables, name) for name, title in PANELS.items()}
    panels = timeline(
        at,
        [escaped(name.removeprefix("week of ")) for name in first.names],
        ranges,
        margin=MARGIN,
        most_ticks=MAX_TICKS,
        height=PANEL_HEIGHT,
        gap=GAP,
        rates=[title for name, title in PANELS.items() if name in RATES],
    )
    marked = np.any([table.significant(SIGNIFICANCE) for table in tables.values()], axis=0)
    across, layers = padded(at, margin=MARGIN, least=0.5), list[Layer]()
    if has_young := math.isfinite(young):
        ends = (max(young, float(at[0])) - 0.5, float(at[-1]) + 0.5)
        pixels = panels.width / (across[1] - across[0])
        layers += _hatched(ends, pixels, list(ranges.values()))
    layers += [*_change(change, at, list(ranges.values())), *_marks(marked, at, ranges[KS])]
    layers.append(_line(OBSERVED, first, "base_rate", 0))
    subjects = [method(key, recommended) for key in tables]
    for of, table in zip(subjects, tables.values(), strict=True):
        layers += _method(of, table)
    layers += [legend_entry(of) for of in (OBSERVED, *subjects)]
    layers += few_entry(table.few for table in tables.values())
    layers += [
        Layer(f"ideal {panel}", across, [IDEAL[name]] * 2, panel=panel, line=reference())
        for panel, name in enumerate(PANELS)
        if name in IDEAL
    ]
    unit = first.unit
    parts = [f"{plural(int(first.rows.sum()), 'row')} in {plural(len(first), 'period')}"]
    parts += [f"shaded KS: p &lt; {SIGNIFICANCE:g} (Holm)"] if marked.any() else []
    parts += ["hatched: outcomes may not be final"] if has_young else []
    return draw(
        "periods",
        panels,
        layers,
        _about(tables, first),
        title=wording.heading(first),
        details=" · ".join(parts),
        of=(unit,),
        view=unit,
        top=TOP + TITLE_ROW,
        left=62,
    )


def _change(
    change: PeriodChange | None, at: FloatArray, ranges: Sequence[list[float]]
) -> list[Layer]:
    """The periods that differ from the others, in every panel but that of the tests."""
    if change is None or not change.significant(SIGNIFICANCE):
        return []
    return [
        layer
        for panel, upward in enumerate(ranges)
        if panel != KS_PANEL
        for layer in _shaded("change", "Changed", change.wrong, at, upward, panel)
    ]


def _hatched(
    ends: tuple[float, float], pixels: float, ranges: Sequence[Sequence[float]]
) -> list[Layer]:
    """The days whose outcomes may not be final, in every panel."""
    return [
        replace(hatched(ends, upward, pixels, PANEL_HEIGHT), key=f"hatched {panel}", panel=panel)
        for panel, upward in enumerate(ranges)
    ]


def _marks(marked: BoolArray, at: FloatArray, upward: list[float]) -> list[Layer]:
    """The periods with evidence against calibration, in the panel of the tests."""
    name = f"KS with p &lt; {SIGNIFICANCE:g} (Holm)"
    return _shaded("marked", name, marked, at, upward, KS_PANEL)


def _shaded(
    key: str, name: str, chosen: BoolArray, at: FloatArray, upward: list[float], panel: int
) -> list[Layer]:
    """One area for periods that follow each other."""
    edges = np.flatnonzero(np.diff(chosen.astype(int), prepend=0, append=0)).tolist()
    return [
        replace(
            area(
                f"{key} {start} {panel}",
                np.array([at[start] - HALF_PERIOD, at[end - 1] + HALF_PERIOD]),
                *(np.full(2, height) for height in upward),
                color=faded(DOUBT, 0.14),
                name=name,
            ),
            panel=panel,
        )
        for start, end in zip(edges[::2], edges[1::2], strict=True)
    ]


def _about(tables: Mapping[str, PeriodTable], first: PeriodTable) -> str:
    span = f"Calibration over {len(first)} periods, {first.names[0]} to {first.names[-1]}."
    others = [
        f"{CALIBRATORS[key].short_label}. {wording.heading(table)}."
        for key, table in tables.items()
        if table is not first
    ]
    return " ".join([span, *others])


def _method(of: Subject, table: PeriodTable) -> list[Layer]:
    drawn = [_line(of, table, "mean_score", 0)]
    return drawn + [_line(of, table, name, panel) for panel, name in enumerate(PANELS) if panel]


def _line(of: Subject, table: PeriodTable, what: str, panel: int) -> Layer:
    y, bars = getattr(table, what), None
    if what not in ("mean_score", "ks"):
        low, high = (getattr(table, f"{what}_{end}") for end in ("low", "high"))
        bars = whiskers(y, low, high, faded(of.style.color, 0.6))
    return Layer(
        what,
        table.position,
        y,
        panel=panel,
        of=of,
        line=of.faint_line(),
        marker=of.marker(6, symbols(of, table.few)),
        error_y=bars,
        hovertext=[_describe(table, what, i) for i in range(len(table))],
        hover=HOVER_TEXT,
    )


def _describe(table: PeriodTable, what: str, i: int) -> str:
    value = getattr(table, what)[i]
    ends = ("value", "low", "high") if what not in ("mean_score", "ks") else ("value",)
    names = [what if end == "value" else f"{what}_{end}" for end in ends]
    estimate = Estimate(*(float(getattr(table, name)[i]) for name in names))
    written = percent_with_interval if what in RATES else with_interval
    text = "not estimable" if math.isnan(value) else written(estimate)
    if what == "ks":
        text += f", {p_value(table.ks_p_value[i])}"
    rows = f"{count(table.rows[i])} rows, {count(table.positives[i])} positive"
    return f"{escaped(table.names[i])}<br>{text}<br>{rows}"


def _upward(tables: Mapping[str, PeriodTable], name: str) -> list[float]:
    """The range of all estimates that are judged, and of their intervals unless they are long."""
    few = next(iter(tables.values())).few
    judged = ~few if (~few).any() else few
    columns = (name, "mean_score") if name == "base_rate" else (name,)
    values = _finite(tables, columns, judged)
    values = np.append(values, ({"ks": 0.0} | IDEAL).get(name, []))
    if name == "ks":
        return [0.0, padded(values, margin=0.1, least=0.05)[1]]
    low, high = padded(values, margin=0.0, least=0.0)
    reach = max(high - low, 0.05)
    bounds = _finite(tables, (f"{name}_low", f"{name}_high"), judged)
    inside = np.clip(bounds, low - reach, high + reach)
    return padded(low, high, inside, margin=0.1, least=0.05)


def _finite(
    tables: Mapping[str, PeriodTable], names: Iterable[str], judged: BoolArray
) -> FloatArray:
    values = np.concatenate([getattr(t, name)[judged] for t in tables.values() for name in names])
    return values[np.isfinite(values)]
