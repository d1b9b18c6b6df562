"""Slices: observed minus predicted of each, as a forest plot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calib.analysis.slices import SliceGaps
from calib.analysis.verdict import SIGNIFICANCE
from calib.calibrators import CALIBRATORS
from calib.curves.reliability import FEW_ROWS
from calib.figures.axes import padded
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import (
    HOVER_TEXT,
    AnyFloats,
    Layer,
    Marker,
    Subject,
    area,
    few_entry,
    legend_entry,
    method,
    reference,
    whiskers,
)
from calib.figures.panels import forest
from calib.figures.slice_words import MAX_IN_ORDER, in_reading_order
from calib.figures.theme import DOUBT, FRAME, faded, style_of
from calib.numerics.arrays import IntArray
from calib.text import (
    between,
    count,
    escaped,
    level,
    p_value,
    plural,
    probability,
    shortened,
    signed,
)

WIDTH, ROW_HEIGHT = 460, 30


@chart
def slice_chart(
    gaps: Mapping[str, SliceGaps], *, most: int = MAX_IN_ORDER, recommended: str = ""
) -> Chart:
    """Forest plot of observed minus predicted of each slice, in the order of their values.

    More than 24 slices are sorted by evidence. A row is shaded, and its name bold, if a
    Holm-adjusted p-value is below 0.05. Slices with fewer than 30 rows are grey and hollow.

    Parameters
    ----------
    gaps : mapping of str to SliceGaps
        Results of `calib.slices.slice_gaps` by method key, for the same slices. The first method
        determines the order.
    most : int
        Largest number of slices to draw.
    recommended : str
        Key of the method that the analysis recommends, which is blue.

    Examples
    --------
    >>> import numpy as np
    >>> import calib
    >>> rows = calib.Predictions.from_arrays([0, 1] * 100, [0.3, 0.6] * 100).view()
    >>> cut = calib.slices.slice_by({"site": np.repeat(["north", "south"], 100)}, ["site"])
    >>> gaps = calib.slices.slice_gaps(rows, rows.score, cut)
    >>> figure = calib.plot.slices({"uncalibrated": gaps})
    >>> figure.layout.xaxis.title.text
    'Observed − predicted'
    """
    first = next(iter(gaps.values()))
    shown = in_reading_order(first, most)
    limits = _limits(gaps, shown)
    whole = [-0.5, len(shown) - 0.5]
    marked = np.any([table.significant(SIGNIFICANCE)[shown] for table in gaps.values()], axis=0)
    layers = [*_marks(np.flatnonzero(marked), limits)]
    layers += [Layer("zero", [0.0, 0.0], whole, line=reference(1.25, dash=None))]
    for place, (key, table) in enumerate(gaps.items()):
        offset = 0.0 if len(gaps) == 1 else (place - (len(gaps) - 1) / 2) * 0.32
        layers += _method(method(key, recommended), table, shown, np.arange(len(shown)) + offset)
    names = [shortened(first.names[i]) for i in shown]
    labels = [
        f"<b>{escaped(name)}</b>" if bold else escaped(name)
        for name, bold in zip(names, marked, strict=True)
    ]
    height = ROW_HEIGHT if len(gaps) == 1 else ROW_HEIGHT + 8
    return draw(
        "slices",
        forest("Observed − predicted", limits, labels, WIDTH, height * max(len(shown), 2)),
        [*layers, *few_entry([first.few[shown]])],
        _alt(gaps),
        title="Observed minus predicted, by slice",
        details=f"{plural(len(shown), 'slice')} · {level(first.confidence_level)} intervals",
        left=24 + round(6.8 * max(map(len, names))),
    )


def _alt(gaps: Mapping[str, SliceGaps]) -> str:
    sentences = []
    for key, table in gaps.items():
        n = int(table.significant().sum())
        significant = f"{n} of {len(table)} slices have a significant gap after Holm's correction"
        i = table.order[0]
        strongest = f"; strongest evidence: {table.names[i]}, {signed(table.gap[i], 3)}"
        sentences.append(f"{CALIBRATORS[key].label}: {significant}{strongest if n else ''}.")
    return "Observed minus predicted of each slice, with intervals. " + " ".join(sentences)


def _limits(gaps: Mapping[str, SliceGaps], shown: IntArray) -> list[float]:
    """The range of all intervals and zero."""
    ends = [end[shown] for table in gaps.values() for end in (table.low, table.high, table.gap)]
    return padded(0.0, *ends, margin=0.05)


def _marks(rows: IntArray, limits: list[float]) -> list[Layer]:
    """The shaded rows of the slices that have a significant gap."""
    name = f"Gap with p &lt; {SIGNIFICANCE:g} (Holm)"
    ends, color = np.array(limits), faded(DOUBT, 0.14)
    return [
        area(
            "marked",
            ends,
            np.full(2, i - 0.5),
            np.full(2, i + 0.5),
            color=color,
            name=name,
            of=Subject(f"row {i}", name, style_of("uncalibrated")),
            legend=bool(i == rows[0]),
        )
        for i in rows
    ]


def _method(of: Subject, gaps: SliceGaps, shown: IntArray, y: AnyFloats) -> list[Layer]:
    few = gaps.few[shown]
    drawn = [
        legend_entry(of, line=False),
        _dots("gaps", of, gaps, shown[~few], y[~few], of.marker(8)),
    ]
    if few.any():
        grey = Marker(FRAME, symbol=of.style.hollow)
        drawn.append(_dots("few", of, gaps, shown[few], y[few], grey))
    return drawn


def _dots(
    key: str, of: Subject, gaps: SliceGaps, chosen: IntArray, y: AnyFloats, marker: Marker
) -> Layer:
    gap, low, high = gaps.gap[chosen], gaps.low[chosen], gaps.high[chosen]
    return Layer(
        key,
        gap,
        y,
        of=of,
        marker=marker,
        error_x=whiskers(gap, low, high, marker.color, thickness=2.25),
        # The page learns from these which slice was selected.
        customdata=gaps.number[chosen],
        hovertext=[_describe(gaps, int(i)) for i in chosen],
        hover=HOVER_TEXT,
    )


def _describe(gaps: SliceGaps, i: int) -> str:
    lines = [
        escaped(gaps.names[i]),
        f"{count(gaps.rows[i])} rows, {count(gaps.positives[i])} positive",
        f"mean score {probability(gaps.mean_score[i])}, observed {probability(gaps.observed[i])}",
        f"difference {signed(gaps.gap[i])} ({between(gaps.low[i], gaps.high[i], sign=True)})",
    ]
    if gaps.few[i]:
        return "<br>".join([*lines, f"fewer than {FEW_ROWS} rows: not tested"])
    return "<br>".join([*lines, f"{p_value(gaps.p_adjusted[i])} after Holm's correction"])
