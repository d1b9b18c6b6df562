"""A chart as SVG, for pages that are read and printed without scripts.

It draws what charts are made of, and no other part of Plotly: lines, markers, areas, error bars,
axes, titles, arrows, and a legend below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape, unescape
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.figures.axes import PERCENT_TICKS, AxisNames, PanelAxis, SharedTitles, power
from calib.figures.chart import Chart
from calib.figures.layers import Arrow, Bars, Layer, Line, Marker, Note
from calib.figures.theme import (
    DASHES,
    FONT,
    GREY,
    HEADING_SIZE,
    INK,
    PALE,
    RIM,
    SYMBOLS,
    TITLE_LINE,
    readable,
)
from calib.numerics.intervals import Estimate
from calib.text import decimals, percent, with_interval
from calib.words.measures import BOLD, unmarked

Floats = NDArray[np.float64]
# Pixels: the width of a sample in the legend, the size of small text, the height of a legend's row.
SAMPLE_WIDTH, TEXT_SIZE, ROW_HEIGHT = 30, 12, 20
LINE_PIXELS = 15  # The distance of two lines of a title.
BAR_WIDTH = 240  # Pixels of an interval in a table.
LINES_WIDTH, LINES_STEP = 120, 7  # Pixels of several small intervals, and of each of them.


# In the light theme, a page's style sheet says this of its charts.
STYLE = (
    f"text {{ font-family: {FONT}; }} text:not([fill]) {{ fill: currentColor; }} "
    f".grid {{ stroke: {GREY}; stroke-opacity: 0.2; }}"
)
GROUND = f'<style>{STYLE}</style><rect width="100%" height="100%" fill="{RIM}"/>'


def to_file(chart: Chart) -> str:
    """The chart as the content of an SVG file, which needs no page around it."""
    start, end = to_svg(chart).split(">", 1)
    return f'{start} color="{INK}">{GROUND}{end}'


def to_svg(chart: Chart) -> str:
    """The chart as an SVG element; the page's CSS gives its text a colour."""
    plots = [Plot(chart, names) for names in chart.panels.names]
    parts = [drawn for plot in plots for drawn in plot.axes()]
    for number, plot in enumerate(plots):
        layers = [layer for layer in chart.layers if layer.panel == number]
        parts += plot.clipped([drawn for layer in layers for drawn in _layer(layer, plot)])
    for plot in plots:
        lines = chart.panels.titles.get(plot.names, "").split("<br>")
        for above, line in enumerate(reversed(lines)):
            y = plot.top - 5 - LINE_PIXELS * above
            parts.append(_text(line, plot.left, y, "start", TEXT_SIZE, look=_weight(line)))
    if titles := chart.panels.shared_titles:
        parts += _shared_titles(titles, plots)
    parts += [_arrow(arrow, plots[0]) for arrow in chart.arrows]
    parts += [_note(note, plots[note.panel]) for note in chart.notes]
    parts += _legend(chart)
    if chart.heading.title:
        bold, pale = ' font-weight="600"', f' fill-opacity="{PALE}"'
        lines = chart.heading.lines
        parts += [
            _text(line, 0, 17 + TITLE_LINE * i, "start", HEADING_SIZE, look=bold)
            for i, line in enumerate(lines)
        ]
        y = 35 + TITLE_LINE * (len(lines) - 1)
        parts.append(_text(chart.heading.details, 0, y, "start", look=pale))
    size = f'width="{chart.width}" height="{chart.height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" class="plot" {size} '
        f'data-name="{escape(chart.name)}" aria-label="{escape(chart.alt)}" '
        f'viewBox="0 0 {chart.width} {chart.height}">{"".join(parts)}</svg>'
    )


def interval_bar(change: Estimate, ends: tuple[float, float], color: str) -> str:
    """A change with its interval and the place of 0, on an axis between two ends, as SVG."""
    scale = (BAR_WIDTH - 16) / ((ends[1] - ends[0]) or 1.0)
    low, middle, high, zero = (
        _px(8.0 + (value - ends[0]) * scale)
        for value in (change.low, change.value, change.high, 0.0)
    )
    # A bound that is not known has no line.
    bar = _stroke(f"M{low} 11H{high}", Line(color, 2)) if change.low <= change.high else ""
    words = escape(with_interval(change, decimals(change), sign=True))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{BAR_WIDTH}" height="22" '
        f'viewBox="0 0 {BAR_WIDTH} 22" role="img" '
        f'aria-label="{words}"><title>{words}</title>'
        f'<path d="M{zero} 1V21" stroke="{GREY}" stroke-opacity="0.6"/>{bar}'
        f'<circle cx="{middle}" cy="11" r="4.5" fill="{color}"/></svg>'
    )


def interval_lines(changes: Sequence[tuple[Estimate, str]], ends: tuple[float, float]) -> str:
    """Changes with their colours, below each other on one axis, with a line at 0."""
    scale = (LINES_WIDTH - 8) / ((ends[1] - ends[0]) or 1.0)
    height = LINES_STEP * len(changes) + 4

    def x(value: float) -> str:
        return _px(4.0 + (value - ends[0]) * scale)

    drawn = []
    for i, (change, color) in enumerate(changes):
        y = _px(LINES_STEP * (i + 0.5) + 2)
        if change.low <= change.high:
            drawn.append(_stroke(f"M{x(change.low)} {y}H{x(change.high)}", Line(color, 1.5)))
        drawn.append(f'<circle cx="{x(change.value)}" cy="{y}" r="2.5" fill="{color}"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LINES_WIDTH}" height="{height}" '
        f'viewBox="0 0 {LINES_WIDTH} {height}" role="img" '
        f'aria-label="Changes of log loss with their intervals, and a line at no change">'
        f'<path d="M{x(0.0)} 0V{height}" stroke="{GREY}" stroke-opacity="0.6"/>'
        f"{''.join(drawn)}</svg>"
    )


class Plot:
    """A panel of a chart, and the positions of values in pixels."""

    def __init__(self, chart: Chart, names: AxisNames) -> None:
        self.names = names
        self.x_axis, self.y_axis = (chart.panels.axes[name] for name in names)
        self.labels_x = (self.x_axis.anchor or "y") == names[1]
        across, upward = (axis.domain or (0.0, 1.0) for axis in (self.x_axis, self.y_axis))
        self.left = chart.left + across[0] * chart.panels.width
        self.title_x = self.left - chart.left + 13
        self.width = (across[1] - across[0]) * chart.panels.width
        self.top = chart.top + (1.0 - upward[1]) * chart.panels.height
        self.height = (upward[1] - upward[0]) * chart.panels.height
        layers = [layer for layer in chart.layers if chart.panels.names[layer.panel] == names]
        self.x_range = _range(self.x_axis, [layer.x for layer in layers])
        self.y_range = _range(self.y_axis, [layer.y for layer in layers])

    def x(self, values: Any) -> Floats:
        """Pixels from the left of the chart."""
        low, high = self.x_range
        return self.left + (_values(values, self.x_axis) - low) / (high - low) * self.width

    def y(self, values: Any) -> Floats:
        """Pixels from its top."""
        low, high = self.y_range
        share = (_values(values, self.y_axis) - low) / (high - low)
        return self.top + (1.0 - share) * self.height

    def clipped(self, parts: Sequence[str]) -> list[str]:
        """Parts of which nothing is seen outside of the panel."""
        box = f"{_px(self.left)} {_px(self.top)} {_px(self.width)} {_px(self.height)}"
        x, y, width, height = box.split()
        place = f'x="{x}" y="{y}" width="{width}" height="{height}" viewBox="{box}"'
        return [f"<svg {place}>{''.join(parts)}</svg>"] if parts else []

    def axes(self) -> Iterator[str]:
        """Grid, labels and titles."""
        bottom, right = self.top + self.height, self.left + self.width
        for value, words in _ticks(self.x_axis, self.x_range):
            x = self.x([value])[0]
            if self.x_axis.showgrid:
                yield f'<path class="grid" d="M{_px(x)} {_px(self.top)}V{_px(bottom)}"/>'
            if self.labels_x and self.x_axis.showticklabels is not False:
                yield _text(words, x, bottom + 17, "middle", TEXT_SIZE)
        for value, words in _ticks(self.y_axis, self.y_range):
            y = self.y([value])[0]
            if self.y_axis.showgrid:
                yield f'<path class="grid" d="M{_px(self.left)} {_px(y)}H{_px(right)}"/>'
            if self.y_axis.showticklabels is not False:
                yield _text(words, self.left - 7, y + 4, "end", TEXT_SIZE, look=_weight(words))
        if self.labels_x:
            yield _text(self.x_axis.title, self.left + self.width / 2, bottom + 39)
        yield _text(self.y_axis.title, self.title_x, self.top + self.height / 2, turned=True)


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _values(values: Any, axis: PanelAxis) -> Floats:
    numbers = np.array(values, dtype=np.float64)
    return np.log10(numbers) if axis.type == "log" else numbers


def _range(axis: PanelAxis, values: Sequence[Any]) -> tuple[float, float]:
    if axis.range is not None:
        return axis.range[0], axis.range[1]
    numbers = np.concatenate([[0.0], *(_values(part, axis) for part in values)])
    numbers = numbers[np.isfinite(numbers)]
    low, high = float(numbers.min()), float(numbers.max())
    return low, low + 1.05 * (high - low or 1.0)


def _ticks(axis: PanelAxis, ends: tuple[float, float]) -> list[tuple[float, str]]:
    """Values on an axis, and their labels."""
    if axis.tickvals is not None:
        labels = axis.ticktext or list(map(str, axis.tickvals))
        pairs = zip(axis.tickvals, labels, strict=True)
        return [(value, label) for value, label in pairs if min(ends) <= value <= max(ends)]
    low, high = sorted(ends)
    rough = (high - low) / (axis.nticks or 6)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(k * unit for k in (1, 2, 5, 10) if k * unit >= rough * (1 - 1e-9))
    if axis.type == "log":
        step = max(step, 1.0)  # Labels are whole powers of ten.
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    numbers = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    if axis.type == "log":
        return [(10.0**n, power(10.0**n)) for n in numbers]
    if axis.tickformat == PERCENT_TICKS:
        return [(n, percent(n, max(0, digits - 2))) for n in numbers]
    return [(n, _number(n, digits)) for n in numbers]


def _number(value: float, digits: int) -> str:
    if abs(value) >= 1000.0:
        return f"{value / 1000.0:g}k"
    # Zero must not become "−0".
    return f"{value:.{digits}f}".replace("-", "−") if abs(value) > 1e-12 else "0"


def _text(
    words: str,
    x: float,
    y: float,
    anchor: str = "middle",
    size: int = 13,
    *,
    turned: bool = False,
    look: str = "",
) -> str:
    if not words:
        return ""
    turn = f' transform="rotate(-90 {_px(x)} {_px(y)})"' if turned else ""
    return (
        f'<text x="{_px(x)}" y="{_px(y)}" text-anchor="{anchor}" font-size="{size}"{turn}{look}>'
        f"{escape(unmarked(words))}</text>"
    )


def _layer(layer: Layer, plot: Plot) -> Iterator[str]:
    """Area, error bars, line, markers and words of one layer, from the lowest up."""
    x, y = plot.x(layer.x), plot.y(layer.y)
    if not np.isfinite(x).any():
        return
    if layer.fill:
        yield _area(layer, x, y, plot)
    if layer.error_x:
        ends = zip(y, *_ends(layer.error_x, layer.x, plot.x), strict=True)
        yield _bars(layer.error_x, [f"M{_px(low)} {_px(up)}H{_px(high)}" for up, low, high in ends])
    if layer.error_y:
        ends = zip(x, *_ends(layer.error_y, layer.y, plot.y), strict=True)
        yield _bars(layer.error_y, [f"M{_px(at)} {_px(low)}V{_px(high)}" for at, low, high in ends])
    if layer.line:
        yield _stroke(_path(x, y, layer.line.shape), layer.line)
    if layer.marker:
        yield from _markers(layer, layer.marker, x, y)
    if layer.text:
        below, anchor = _beside(layer.textposition or "top center")
        for words, at, up in zip(layer.text, x, y, strict=True):
            yield _text(words, at, up + below, anchor, TEXT_SIZE)


def _beside(position: str) -> tuple[float, str]:
    """How far below a point its words stand, and at which of their ends."""
    upward, across = position.split()
    below = {"top": -8.0, "middle": 4.0, "bottom": 18.0}[upward]
    return below, {"left": "end", "center": "middle", "right": "start"}[across]


def _path(x: Floats, y: Floats, shape: str | None = None) -> str:
    """A line with a gap at each missing value."""
    words, joined = [], False
    for at, up in zip(x.tolist(), y.tolist(), strict=True):
        if not (math.isfinite(at) and math.isfinite(up)):
            joined = False
            continue
        step = f"H{_px(at)}" if joined and shape == "hv" else ""
        words.append(f"{step}{'L' if joined else 'M'}{_px(at)} {_px(up)}")
        joined = True
    return "".join(words)


def _stroke(path: str, line: Line) -> str:
    if not line.width or not path:
        return ""
    dash = DASHES[line.dash or "solid"]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path d="{path}" fill="none" stroke="{line.color}" '
        f'stroke-width="{line.width}" stroke-linejoin="round"{dashed}/>'
    )


def _area(layer: Layer, x: Floats, y: Floats, plot: Plot) -> str:
    path = _path(x, y, layer.line.shape if layer.line else None)
    if layer.fill == "tozeroy":
        path += f"V{_px(plot.y([0.0])[0])}H{_px(x[np.isfinite(x)][0])}"
    return f'<path d="{path}z" fill="{layer.fillcolor}"/>'


def _ends(bars: Bars, values: Any, pixels: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    middle = np.array(values, dtype=np.float64)
    return pixels(middle - bars.arrayminus), pixels(middle + bars.array)


def _bars(bars: Bars, paths: Sequence[str]) -> str:
    """Error bars, without those whose ends are not known."""
    path = "".join(path for path in paths if "nan" not in path)
    return _stroke(path, Line(bars.color, bars.thickness))


def _markers(layer: Layer, marker: Marker, x: Floats, y: Floats) -> Iterator[str]:
    sizes = np.broadcast_to(np.asarray(marker.size, dtype=np.float64), len(x))
    if marker.sizeref is not None:
        sizes = np.sqrt(2.0 * sizes / marker.sizeref).clip(2.0 * (marker.sizemin or 0.0))
    symbols = repeat(marker.symbol) if isinstance(marker.symbol, str) else marker.symbol
    texts = layer.hovertext or repeat("")
    for at, up, size, symbol, text in zip(x, y, sizes, symbols, texts, strict=False):
        if math.isfinite(at) and math.isfinite(up):
            yield _symbol(symbol, at, up, size / 2.0, marker, text)


def _symbol(symbol: str, x: float, y: float, r: float, marker: Marker, text: str = "") -> str:
    hollow = symbol.endswith("-open")
    edge = marker.line or Line(width=1.25 if hollow else 0)
    color = marker.color if hollow else edge.color or marker.color
    drawn = f'stroke="{color}" stroke-width="{edge.width}"'
    look = f'fill="{"none" if hollow else marker.color}" {drawn if edge.width else ""}'
    title = f"<title>{escape(unescape(text.replace('<br>', ' · ')))}</title>" if text else ""
    corners = SYMBOLS[symbol.removesuffix("-open")]
    if not corners:
        return f'<circle cx="{_px(x)}" cy="{_px(y)}" r="{_px(r)}" {look}>{title}</circle>'
    path = "L".join(f"{_px(x + r * dx)} {_px(y + r * dy)}" for dx, dy in corners)
    return f'<path d="M{path}z" {look}>{title}</path>'


def _arrow(arrow: Arrow, plot: Plot) -> str:
    x = float(plot.x([arrow.x])[0])
    start, end = plot.y([0.0, arrow.y])
    turn = 4.0 if end > start else -4.0
    path = _path(np.array([x, x]), np.array([start, end]))
    head = f"M{_px(x - 4)} {_px(end - turn)}L{_px(x)} {_px(end)}L{_px(x + 4)} {_px(end - turn)}"
    return _stroke(path + head, Line(arrow.color, arrow.width))


def _note(note: Note, plot: Plot) -> str:
    anchor = {"left": "start", "right": "end"}[note.xanchor]
    look = _weight(note.text)
    if note.color:
        look += f' fill="{readable(note.color)}"'
    x, y = plot.x([note.x])[0] + note.aside, plot.y([note.y])[0] + 4 - note.up
    return _text(note.text, x, y, anchor, TEXT_SIZE, look=look)


def _weight(words: str) -> str:
    """The weight of words that are bold for Plotly."""
    return ' font-weight="600"' if BOLD.search(words) else ""


def _shared_titles(titles: SharedTitles, plots: Sequence[Plot]) -> list[str]:
    left = min(plot.left for plot in plots)
    right = max(plot.left + plot.width for plot in plots)
    top = min(plot.top for plot in plots)
    bottom = max(plot.top + plot.height for plot in plots)
    return [
        _text(titles.across, (left + right) / 2, bottom + 36),
        _text(titles.upward, left - titles.left - 4, (top + bottom) / 2, turned=True),
    ]


def _legend(chart: Chart) -> Iterator[str]:
    """Names of layers, in as many columns as fit below."""
    layers = [layer for layer in chart.layers if layer.legend]
    if not layers:
        return
    names = [unescape(layer.label) for layer in layers]
    column = SAMPLE_WIDTH + 16 + 6.6 * max(map(len, names))
    columns = max(1, int((chart.width - chart.left) // column))
    top = chart.top + chart.panels.height + chart.bottom
    for i, (layer, name) in enumerate(zip(layers, names, strict=True)):
        x, y = (
            chart.left + (i % columns) * column,
            top + ROW_HEIGHT * (i // columns) + ROW_HEIGHT / 2,
        )
        yield from _sample(layer, x, y)
        yield _text(name, x + SAMPLE_WIDTH + 6, y + 4, "start", TEXT_SIZE)


def _sample(layer: Layer, x: float, y: float) -> Iterator[str]:
    """A piece of a layer, as it stands in the legend."""
    if layer.fill:
        place = f'x="{_px(x)}" y="{_px(y - 5)}" width="{SAMPLE_WIDTH}" height="10"'
        yield f'<rect {place} fill="{layer.fillcolor}"/>'
    elif layer.line:
        yield _stroke(f"M{_px(x)} {_px(y)}h{SAMPLE_WIDTH}", layer.line)
    if layer.marker:
        symbol = layer.marker.symbol
        first = symbol if isinstance(symbol, str) else symbol[0]
        yield _symbol(first, x + SAMPLE_WIDTH / 2, y, 4.5, layer.marker)
