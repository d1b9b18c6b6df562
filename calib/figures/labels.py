"""Words beside the lines of a chart, where they cover little, and the digits of its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from calib.figures.axes import PHONE_PANEL_WIDTH, PanelAxis, Panels
from calib.figures.layers import Bars, Layer, Line, Note
from calib.figures.theme import GREY, faded
from calib.numerics.arrays import BoolArray, FloatArray
from calib.numerics.transforms import sigmoid
from calib.words.measures import unmarked

# Pixels of a letter and of a line of words.
LETTER, LINE_HEIGHT = 6.4, 15.5
# A label at most this share of the panel away from its point needs no line to it.
SHORT_LINE = 0.03
# Places for labels are tried at this number of steps in each direction.
N_STEPS = 64
# Charts with lines of more methods, or with smaller panels, have a legend.
MAX_LINES = 4
MIN_WIDTH, MIN_HEIGHT = 200, 100  # These are in pixels.
N_POINTS = 120  # Points along a line.


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Lines of words about one of several points."""

    lines: tuple[str, ...]
    points: FloatArray  # Shape (n, 2).
    is_name: bool = True  # The first line of a name is bold.
    colors: tuple[str | None, ...] = ()  # Lines after the last colour have that of text.
    panel: tuple[float, float] = (380.0, 380.0)  # The pixels of the panel.

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        letters = max(len(unmarked(line)) for line in self.lines)
        across, upward = LETTER / self.panel[0], LINE_HEIGHT / self.panel[1]
        return across * letters, upward * len(self.lines)

    def notes(self, left: float, bottom: float, point: float) -> list[Note]:
        """The lines from the top down.

        They are held at the side of the point that they name, because a wider panel has more room.
        """
        width = self.size[0]
        at_right = point > left + width / 2
        anchor: Literal["left", "right"] = "right" if at_right else "left"
        x = left + width if at_right else left
        first = f"<b>{self.lines[0]}</b>" if self.is_name else self.lines[0]
        middle, above = bottom + self.size[1] / 2, LINE_HEIGHT * (len(self.lines) - 1) / 2
        colors = [*self.colors, *[None] * len(self.lines)]
        return [
            Note(x, middle, text, anchor, colors[i], above - LINE_HEIGHT * i)
            for i, text in enumerate((first, *self.lines[1:]))
        ]


def directly(layers: Sequence[Layer], panels: Panels) -> tuple[list[Layer], list[Note]]:
    """Name the lines and areas of the first panel beside them, and no longer in the legend.

    Entries without a line stay in the legend, and so do all in a small panel or with many methods.
    """
    axes = panels.axes[panels.names[0][0]], panels.axes[panels.names[0][1]]
    width, height = _length(axes[0], panels.width), _length(axes[1], panels.height)
    pixels = (min(width, PHONE_PANEL_WIDTH), height)
    entries = [layer for layer in layers if layer.legend and (layer.line or layer.fill)]
    methods = {layer.of.key for layer in entries if layer.of}
    small = width < MIN_WIDTH or height < MIN_HEIGHT
    if small or len(methods) > MAX_LINES or any(axis.range is None for axis in axes):
        return list(layers), []
    traces = [(layer, _trace(layer, axes)) for layer in layers if layer.panel == 0]
    beside, labelled = list[Words](), list[Layer]()
    for entry in entries:
        lines = [at for layer, at in traces if _is_named(layer, entry)]
        if lines and len(lines[0]):
            others = np.concatenate([at for layer, at in traces if not _is_named(layer, entry)])
            colors = (entry.of.style.color,) if entry.of else ()
            is_name = entry.of is not None and entry.fill is None
            points = lines[0][_clear(lines[0], others)]
            beside.append(Words((entry.label,), points, is_name, colors, pixels))
            labelled.append(entry)
    notes, leaders = placed(beside, np.concatenate([at for _, at in traces]))
    shown = [replace(one, legend=one.legend and one not in labelled) for one in layers]
    shown += [replace(one, x=_back(one.x, axes[0]), y=_back(one.y, axes[1])) for one in leaders]
    return shown, [
        replace(note, x=float(_back(note.x, axes[0])), y=float(_back(note.y, axes[1])))
        for note in notes
    ]


def _length(axis: PanelAxis, pixels: int) -> float:
    low, high = axis.domain or (0.0, 1.0)
    return (high - low) * pixels


def _is_named(layer: Layer, entry: Layer) -> bool:
    """Whether an entry of the legend names the line of a layer: itself, or one of its subject."""
    if layer is entry or entry.of is None:
        return layer is entry
    return layer.of is not None and layer.of.key == entry.of.key and layer.line is not None


def _trace(layer: Layer, axes: tuple[PanelAxis, PanelAxis]) -> FloatArray:
    """Points along a line, and those of markers and words, as shares of the panel inside of it."""
    ends = [_share(values, axis) for values, axis in zip((layer.x, layer.y), axes, strict=True)]
    points = np.column_stack(ends)
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) > 1 and layer.line:
        steps = np.hypot(*np.diff(points, axis=0).T)
        along = np.concatenate([[0.0], steps.cumsum()])
        at = np.linspace(0.0, along[-1], N_POINTS)
        points = np.column_stack([np.interp(at, along, points[:, i]) for i in (0, 1)])
    return points[((points >= 0.0) & (points <= 1.0)).all(axis=1)]


def _clear(points: FloatArray, others: FloatArray) -> BoolArray:
    """The quarter of the points that is farthest from all others."""
    if not len(others):
        return np.ones(len(points), dtype=bool)
    across, upward = ((at[:, None] - of) ** 2 for at, of in zip(points.T, others.T, strict=True))
    apart = (across + upward).min(axis=1)
    return apart >= np.quantile(apart, 0.75)


def _share(values: Any, axis: PanelAxis) -> FloatArray:
    numbers = np.array(values, dtype=np.float64)
    low, high = axis.range or (0.0, 1.0)
    return ((np.log10(numbers) if axis.type == "log" else numbers) - low) / (high - low)


def _back(share: Any, axis: PanelAxis) -> Any:
    low, high = axis.range or (0.0, 1.0)
    value = low + np.asarray(share) * (high - low)
    return 10.0**value if axis.type == "log" else value


def placed(beside: Iterable[Words], taken: FloatArray) -> tuple[list[Note], list[Layer]]:
    """Words in places of the unit square that cover few of the points `taken`.

    Lines lead from words to what they name, if that is not next to them.
    """
    notes, leaders = list[Note](), list[Layer]()
    for words in beside:
        (left, bottom), point = _free_place(words, taken)
        notes += words.notes(left, bottom, point[0])
        width, height = words.size
        end = np.clip(point, (left, bottom), (left + width, bottom + height))
        if np.hypot(*(end - point)) > SHORT_LINE:
            ends = np.vstack([end, point])
            line = Line(faded(GREY, 0.9), 1)
            leaders.append(Layer(f"leader {words.lines[0]}", ends[:, 0], ends[:, 1], line=line))
        x, y = np.linspace(left, left + width, 9), np.linspace(bottom, bottom + height, 5)
        taken = np.concatenate([taken, *(np.column_stack([x, np.full(9, at)]) for at in y)])
    return notes, leaders


def _free_place(words: Words, taken: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The lower left corner of a place near one of the points that covers little; and the point."""
    counts, _, _ = np.histogram2d(
        taken[:, 0], taken[:, 1], bins=N_STEPS, range=[(0.0, 1.0), (0.0, 1.0)]
    )
    sums = np.pad(counts.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    # The box is a step wider on each side than the words.
    steps = (math.ceil(length * N_STEPS) + 2 for length in words.size)
    width, height = (min(n, N_STEPS) for n in steps)
    covered = sums[width:, height:] - sums[:-width, height:] - sums[width:, :-height]
    covered = covered + sums[:-width, :-height]
    corners = [(np.arange(n) + 1) / N_STEPS for n in covered.shape]
    across, upward = (
        (np.clip(at, corner[:, None], corner[:, None] + length) - at) ** 2
        for at, corner, length in zip(words.points.T, corners, words.size, strict=True)
    )
    cost = np.sqrt(across[:, None] + upward[None]) + covered[:, :, None]
    i, j, point = np.unravel_index(cost.argmin(), cost.shape)
    return np.array([corners[0][i], corners[1][j]]), words.points[point]


COLUMNS = ("panel", "series", "x", "x_low", "x_high", "y", "y_low", "y_high", "weight")


def frame(layers: Sequence[Layer], panels: Panels) -> pd.DataFrame:
    """Columns without values are left out. Lines that only lead the eye have no name, and no row.

    Positions on log-odds axes become probabilities, and rows of forests and periods their names.
    """
    parts = [
        pd.DataFrame(_words(panels, layer) | columns)
        for layer in layers
        if layer.label and len(columns := _columns(panels, layer))
    ]
    table = pd.concat(parts, ignore_index=True).reindex(columns=COLUMNS)
    if len(panels.names) == 1:
        table = table.drop(columns="panel")
    return table.dropna(axis="columns", how="all")


def _columns(panels: Panels, layer: Layer) -> dict[str, Any]:
    """Coordinates and intervals of a layer; empty for an entry of the legend."""
    x_axis, y_axis = (panels.axes[name] for name in panels.names[layer.panel])
    x, y = (np.asarray(values, dtype=np.float64) for values in (layer.x, layer.y))
    if not np.isfinite(x).any():
        return {}
    if layer.fill == "toself":
        # The outline of an area runs along its lower edge and back along the upper one.
        half = len(x) // 2
        ends = {"y_low": y[:half], "y_high": y[half:][::-1]}
        return _on_axis("x", x_axis, x[:half]) | {
            name: _values(y_axis, values) for name, values in ends.items()
        }
    columns = _on_axis("x", x_axis, x, layer.error_x) | _on_axis("y", y_axis, y, layer.error_y)
    if layer.marker and layer.marker.sizemode == "area":
        columns["weight"] = np.asarray(layer.marker.size)
    return columns


def _on_axis(
    name: str, axis: PanelAxis, values: np.ndarray[Any, Any], bars: Bars | None = None
) -> dict[str, Any]:
    columns = {name: _values(axis, values)}
    if bars is not None:
        columns |= {
            f"{name}_low": _values(axis, values - bars.arrayminus),
            f"{name}_high": _values(axis, values + bars.array),
        }
    return columns


def _values(axis: PanelAxis, values: np.ndarray[Any, Any]) -> Any:
    if axis.names:
        at = np.array(list(axis.names))
        names = [unmarked(name) for name in axis.names.values()]
        return [names[int(np.abs(at - value).argmin())] for value in values]
    return sigmoid(values) if axis.log_odds else values


def _words(panels: Panels, layer: Layer) -> dict[str, Any]:
    """The name of a layer, and the title of its panel or of the panel's y-axis."""
    names = panels.names[layer.panel]
    title = panels.titles.get(names) or panels.axes[names[1]].title
    panel = unmarked(title) or f"panel {layer.panel + 1}"
    return {"panel": panel, "series": unmarked(layer.label)}
