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
    few_entry,
    legend_entry,
    method,
    reference,
    stars,
    whiskers,
)
from calib.figures.panels import forest
from calib.figures.theme import FRAME
from calib.numerics.arrays import IntArray
from calib.text import between, count, escaped, p_value, probability, shortened, signed

WIDTH, ROW_HEIGHT = 460, 30
MAX_ROWS = 24


@chart
def slice_chart(
    gaps: Mapping[str, SliceGaps], *, most: int = MAX_ROWS, recommended: str = ""
) -> Chart:
    """Forest plot of observed minus predicted of each slice, strongest evidence at the top.

    A star marks an interval whose Holm-adjusted p-value is below 0.05. Slices with fewer than 30
    rows are grey and hollow.

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
    shown = first.order[:most]
    limits = _limits(gaps, shown)
    whole = [-0.5, len(shown) - 0.5]
    layers = [Layer("zero", [0.0, 0.0], whole, line=reference(1.25, dash=None))]
    for place, (key, table) in enumerate(gaps.items()):
        offset = 0.0 if len(gaps) == 1 else (place - (len(gaps) - 1) / 2) * 0.32
        layers += _method(
            method(key, recommended), table, shown, np.arange(len(shown)) + offset, limits
        )
    names = [shortened(first.names[i]) for i in shown]
    labels, height = (
        [escaped(name) for name in names],
        ROW_HEIGHT if len(gaps) == 1 else ROW_HEIGHT + 8,
    )
    return draw(
        "slices",
        forest("Observed − predicted", limits, labels, WIDTH, height * max(len(shown), 2)),
        [*layers, *few_entry([first.few[shown]])],
        _alt(gaps),
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
    """The range of all intervals and zero, with a margin for the stars."""
    ends = [end[shown] for table in gaps.values() for end in (table.low, table.high, table.gap)]
    return padded(0.0, *ends, margin=0.09)


def _method(
    of: Subject, gaps: SliceGaps, shown: IntArray, y: AnyFloats, limits: list[float]
) -> list[Layer]:
    few, marked = gaps.few[shown], gaps.significant(SIGNIFICANCE)[shown]
    drawn = [
        legend_entry(of, line=False),
        _dots("gaps", of, gaps, shown[~few], y[~few], of.marker(8)),
    ]
    if few.any():
        grey = Marker(FRAME, symbol=of.style.hollow)
        drawn.append(_dots("few", of, gaps, shown[few], y[few], grey))
    chosen, away = shown[marked], 0.035 * (limits[1] - limits[0])
    beyond = np.where(gaps.gap[chosen] > 0, gaps.high[chosen] + away, gaps.low[chosen] - away)
    return drawn + stars(of, beyond, y[marked], size=9)


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
