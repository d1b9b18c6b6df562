"""Slices: observed minus predicted of each, as a forest plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calib.analysis.slices import SliceGaps, SliceTests
from calib.analysis.verdict import SIGNIFICANCE
from calib.calibrators import CALIBRATORS
from calib.curves.reliability import FEW_ROWS
from calib.figures.axes import PHONE_PANEL_WIDTH, forest, padded
from calib.figures.chart import Chart, chart, draw
from calib.figures.labels import MAX_LINES, Words, placed
from calib.figures.layers import (
    HOVER_TEXT,
    AnyFloats,
    Layer,
    Marker,
    Note,
    Subject,
    area,
    few_entry,
    legend_entry,
    method,
    reference,
    whiskers,
)
from calib.figures.theme import DOUBT, FRAME, faded, style_of
from calib.numerics.arrays import FloatArray, IntArray
from calib.text import (
    MAX_NAME_LENGTH,
    count,
    escaped,
    level,
    percent,
    plural,
    points,
    shortened,
)
from calib.words import slices as wording
from calib.words.slices import MAX_IN_ORDER, in_reading_order, slice_names

WIDTH, ROW_HEIGHT = 460, 30
N_TICKS = 6
N_POINTS = 40  # Points along an interval.


@chart
def slice_chart(
    gaps: Mapping[str, SliceGaps],
    tests: Mapping[str, SliceTests] | None = None,
    *,
    most: int = MAX_IN_ORDER,
    recommended: str = "",
) -> Chart:
    """Forest plot of observed minus predicted of each slice, in the order of their values.

    More than 24 slices are sorted by evidence. A row is shaded, and its name bold, if the tests
    find that the slice is miscalibrated. Slices with fewer than 30 rows are grey and hollow.

    Parameters
    ----------
    gaps : mapping of str to SliceGaps
        Results of `calib.slices.slice_gaps` by method key, for the same slices. The first method
        determines the order.
    tests : mapping of str to SliceTests, optional
        Results of `calib.slices.slice_tests` for the same slices and methods. Without them, no row
        is shaded, and the title names the largest difference.
    most : int
        Largest number of slices to draw.
    recommended : str
        Key of the method that the analysis recommends. Its line is strong.

    Examples
    --------
    >>> import numpy as np
    >>> import calib
    >>> rows = calib.Predictions.from_arrays([0, 1] * 100, [0.3, 0.6] * 100).view()
    >>> cut = calib.slices.slice_by({"site": np.repeat(["north", "south"], 100)}, ["site"])
    >>> gaps = calib.slices.slice_gaps(rows, rows.score, cut)
    >>> figure = calib.plot.slices({"uncalibrated": gaps})
    >>> figure.layout.xaxis.title.text
    'Observed − predicted (points)'
    """
    first = next(iter(gaps.values()))
    shown = in_reading_order(first, most)
    limits = _limits(gaps, shown)
    whole = [-0.5, len(shown) - 0.5]
    marked = np.zeros(len(shown), dtype=np.bool_)
    for judged in (tests or {}).values():
        marked |= judged.significant(SIGNIFICANCE)[shown]
    subjects = [method(key, recommended) for key in gaps]
    step = min(0.32, 0.9 / len(gaps))
    rows = [np.arange(len(shown)) + step * (i - (len(gaps) - 1) / 2) for i in range(len(gaps))]
    layers = [*_marks(np.flatnonzero(marked), limits)]
    layers += [Layer("zero", [0.0, 0.0], whole, line=reference(1.25, dash=None))]
    for of, table, y in zip(subjects, gaps.values(), rows, strict=True):
        layers += _method(of, table, shown, y)
    names = _row_names(first, shown)
    labels = [
        f"<b>{escaped(name)}</b>" if bold else escaped(name)
        for name, bold in zip(names, marked, strict=True)
    ]
    height = (ROW_HEIGHT if len(gaps) == 1 else ROW_HEIGHT + 8) * max(len(shown), 2)
    notes = list[Note]()
    if len(gaps) > MAX_LINES:
        layers += [legend_entry(of, line=False) for of in subjects]
    elif len(gaps) > 1:
        bars = [
            _bars(table, shown, y, limits) for table, y in zip(gaps.values(), rows, strict=True)
        ]
        notes, leaders = _names(subjects, bars, limits, len(shown), height)
        layers += leaders
    parts = [
        plural(int(first.rows.sum()), "row"),
        plural(len(shown), "slice"),
        f"{level(first.confidence_level)} intervals",
    ]
    parts += ["shaded: miscalibrated"] if marked.any() else []
    title = "Observed − predicted (points)"
    return draw(
        "slices",
        forest(title, limits, labels, WIDTH, height, ticks=_ticks(limits)),
        [*layers, *few_entry([first.few[shown]])],
        _about(gaps, tests),
        title=_title(gaps, tests),
        details=" · ".join(parts),
        notes=notes,
        left=24 + round(6.8 * max(map(len, names))),
    )


def _row_names(gaps: SliceGaps, shown: IntArray) -> list[str]:
    """The names of slices, with that of their column if all fit beside the axis."""
    values = [gaps.names[i] for i in shown]
    names = slice_names(gaps.columns, values)
    if all(len(name) <= MAX_NAME_LENGTH for name in names):
        return names
    return [shortened(value) for value in values]


def _ticks(limits: list[float]) -> dict[float, str]:
    """Differences on the axis, and their labels in percentage points."""
    rough = (limits[1] - limits[0]) / N_TICKS
    unit = 10.0 ** np.floor(np.log10(rough))
    step = float(next(k * unit for k in (1, 2, 5, 10) if k * unit >= rough * (1 - 1e-9)))
    digits = max(0, -int(np.floor(np.log10(step) + 1e-9)) - 2)
    numbers = range(int(np.ceil(limits[0] / step)), int(np.floor(limits[1] / step)) + 1)
    return {n * step: points(n * step, digits) if n else "0" for n in numbers}


def _bars(gaps: SliceGaps, shown: IntArray, y: AnyFloats, limits: list[float]) -> FloatArray:
    """Points along the intervals, of shape (k, N_POINTS, 2), as shares of the panel."""
    x = np.linspace(gaps.low[shown], gaps.high[shown], N_POINTS, axis=1)
    across = (x - limits[0]) / (limits[1] - limits[0])
    upward = (len(shown) - 0.5 - np.asarray(y)) / len(shown)
    bars = np.stack([across, np.broadcast_to(upward[:, None], across.shape)], axis=2)
    return np.asarray(bars, dtype=np.float64)


def _names(
    subjects: Sequence[Subject],
    bars: Sequence[FloatArray],
    limits: list[float],
    n_rows: int,
    height: int,
) -> tuple[list[Note], list[Layer]]:
    """The name of each method beside the ends of its intervals, where it covers little."""
    words = [
        Words(
            (of.name,),
            drawn[:, [0, -1]].reshape(-1, 2),
            colors=(of.style.color,),
            panel=(PHONE_PANEL_WIDTH, height),
        )
        for of, drawn in zip(subjects, bars, strict=True)
    ]
    zero = -limits[0] / (limits[1] - limits[0])
    line = np.column_stack([np.full(N_POINTS, zero), np.linspace(0.0, 1.0, N_POINTS)])
    notes, leaders = placed(words, np.concatenate([line, *(one.reshape(-1, 2) for one in bars)]))

    def x(share: Any) -> Any:
        return limits[0] + share * (limits[1] - limits[0])

    def y(share: Any) -> Any:
        return n_rows - 0.5 - share * n_rows

    return (
        [replace(note, x=x(note.x), y=y(note.y)) for note in notes],
        [replace(leader, x=x(leader.x), y=y(leader.y)) for leader in leaders],
    )


def _title(gaps: Mapping[str, SliceGaps], tests: Mapping[str, SliceTests] | None) -> str:
    """How many slices are miscalibrated with the first method, which is named beside others."""
    key, first = next(iter(gaps.items()))
    said = wording.heading(tests[key], first.columns) if tests else _largest(first)
    return said if len(gaps) == 1 else f"{CALIBRATORS[key].label}. {said}"


def _largest(gaps: SliceGaps) -> str:
    i = gaps.order[0]
    return f"Most evident difference: {shortened(gaps.names[i])}, {points(gaps.gap[i])} points"


def _about(gaps: Mapping[str, SliceGaps], tests: Mapping[str, SliceTests] | None) -> str:
    sentences = ["Observed minus predicted of each slice, with intervals."]
    for key, table in [*gaps.items()][1:]:
        of_method = (tests or {}).get(key)
        said = wording.heading(of_method, table.columns) if of_method else _largest(table)
        sentences.append(f"{CALIBRATORS[key].short_label}. {said}.")
    return " ".join(sentences)


def _limits(gaps: Mapping[str, SliceGaps], shown: IntArray) -> list[float]:
    """The range of all intervals and zero."""
    ends = [end[shown] for table in gaps.values() for end in (table.low, table.high, table.gap)]
    return padded(0.0, *ends, margin=0.05)


def _marks(rows: IntArray, limits: list[float]) -> list[Layer]:
    """The shaded rows of the slices that are miscalibrated."""
    ends, color = np.array(limits), faded(DOUBT, 0.14)
    name = "Miscalibrated"
    return [
        area(
            "marked",
            ends,
            np.full(2, i - 0.5),
            np.full(2, i + 0.5),
            color=color,
            name=name,
            of=Subject(f"row {i}", name, style_of("uncalibrated")),
        )
        for i in rows
    ]


def _method(of: Subject, gaps: SliceGaps, shown: IntArray, y: AnyFloats) -> list[Layer]:
    few = gaps.few[shown]
    drawn = [_dots("gaps", of, gaps, shown[~few], y[~few], of.marker(8))]
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
        f"mean score {percent(gaps.mean_score[i])}, observed {percent(gaps.observed[i])}",
        f"difference {points(gaps.gap[i])} points ({points(gaps.low[i])} to "
        f"{points(gaps.high[i])})",
    ]
    if gaps.few[i]:
        return "<br>".join([*lines, f"fewer than {FEW_ROWS} rows: not tested"])
    return "<br>".join(lines)
