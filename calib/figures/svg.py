"""A chart as SVG, without a browser: what stands on a page that reads and prints without scripts.

It draws what this project's charts are made of, and no other part of plotly: scatter traces with
lines, markers, areas and error bars; axes, titles, arrows and a legend below.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape, unescape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.figures.chart import Chart
from calib.figures.layers import Trace

Axis = Mapping[str, Any]
Floats = NDArray[np.float64]
DASHES = {
    "dot": "2 3",
    "dash": "7 5",
    "dashdot": "8 4 2 4",
    "longdash": "13 6",
    "longdashdot": "13 5 2 5",
}
SAMPLE, TEXT, ROW = 30, 12, 20
# Words are escaped for Plotly, so every tag in them is one of the chart's own.
BOLD = re.compile(r"</?b>")


def _polygon(corners: int, turn: float, inner: float = 1.0) -> list[tuple[float, float]]:
    n = corners if inner == 1.0 else 2 * corners
    angles = [turn + 2.0 * math.pi * i / n for i in range(n)]
    radii = [inner if inner != 1.0 and i % 2 else 1.0 for i in range(n)]
    return [(r * math.sin(a), -r * math.cos(a)) for a, r in zip(angles, radii, strict=True)]


QUARTER = math.pi / 4
SYMBOLS = {
    "square": _polygon(4, QUARTER),
    "diamond": _polygon(4, 0.0),
    "pentagon": _polygon(5, 0.0),
    "hexagon": _polygon(6, 0.0),
    "octagon": _polygon(8, QUARTER / 2),
    "star": _polygon(5, 0.0, 0.45),
    "hexagram": _polygon(6, 0.0, 0.55),
    "cross": _polygon(4, 0.0, 0.4),
    "x": _polygon(4, QUARTER, 0.4),
    "triangle-up": _polygon(3, 0.0),
    "triangle-down": _polygon(3, math.pi),
    "triangle-left": _polygon(3, -math.pi / 2),
    "triangle-right": _polygon(3, math.pi / 2),
    "diamond-wide": [(x, 0.6 * y) for x, y in _polygon(4, 0.0)],
    "diamond-tall": [(0.6 * x, y) for x, y in _polygon(4, 0.0)],
    "hourglass": [(-0.8, -0.9), (0.8, -0.9), (-0.8, 0.9), (0.8, 0.9)],
    "bowtie": [(-0.9, -0.8), (-0.9, 0.8), (0.9, -0.8), (0.9, 0.8)],
    "star-square": _polygon(4, 0.0, 0.6),
    "star-diamond": _polygon(4, QUARTER, 0.6),
    "star-triangle-up": _polygon(3, 0.0, 0.5),
    "star-triangle-down": _polygon(3, math.pi, 0.5),
    "line-ns": [(0.0, -1.0), (0.0, 1.0)],
}


def to_svg(chart: Chart) -> str:
    """The chart as an SVG element; the page's CSS gives its text a colour."""
    layout = chart.spec["layout"]
    panels = _panels(chart)
    parts = [drawn for panel in panels.values() for drawn in panel.axes()]
    for key, panel in panels.items():
        own = [trace for trace in chart.spec["data"] if _ids(trace) == key]
        parts += panel.clipped([drawn for trace in own for drawn in _trace(trace, panel)])
    parts += [drawn for note in layout.get("annotations", ()) for drawn in _note(note, panels)]
    parts += _legend(chart)
    size = f'width="{chart.width}" height="{chart.height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" class="plot" {size} '
        f'data-name="{escape(chart.name)}" aria-label="{escape(chart.alt)}" '
        f'viewBox="0 0 {chart.width} {chart.height}">{"".join(parts)}</svg>'
    )


def _ids(trace: Mapping[str, Any]) -> tuple[str, str]:
    return str(trace.get("xaxis", "x")), str(trace.get("yaxis", "y"))


def _panels(chart: Chart) -> dict[tuple[str, str], Panel]:
    """Panels by their axes, as traces name them."""
    layout = chart.spec["layout"]
    ids = dict.fromkeys(_ids(trace) for trace in chart.spec["data"])
    for name, own in layout.items():
        if name.startswith("yaxis"):
            ids.setdefault((own.get("anchor", "x"), name.replace("axis", "")))
    return {(x, y): Panel(chart, x, y) for x, y in ids}


class Panel:
    """Two axes, and where values lie between them in pixels."""

    def __init__(self, chart: Chart, x_id: str, y_id: str) -> None:
        layout = chart.spec["layout"]
        margin = layout["margin"]
        self.x_axis = layout[x_id.replace("x", "xaxis")]
        self.y_axis = layout[y_id.replace("y", "yaxis")]
        self.labels_x = self.x_axis.get("anchor", "y") == y_id
        inner_width = chart.width - margin["l"] - margin["r"]
        inner_height = chart.height - margin["t"] - margin["b"]
        across, upward = (a.get("domain", (0.0, 1.0)) for a in (self.x_axis, self.y_axis))
        self.left = margin["l"] + across[0] * inner_width
        self.width = (across[1] - across[0]) * inner_width
        self.top = margin["t"] + (1.0 - upward[1]) * inner_height
        self.height = (upward[1] - upward[0]) * inner_height
        own = [trace for trace in chart.spec["data"] if _ids(trace) == (x_id, y_id)]
        self.x_range = _range(self.x_axis, (trace["x"] for trace in own))
        self.y_range = _range(self.y_axis, (trace["y"] for trace in own))

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
        """Grid, frame, ticks and titles."""
        bottom, right = self.top + self.height, self.left + self.width
        for value, words in _ticks(self.x_axis, self.x_range):
            x = _px(self.x([value])[0])
            if self.x_axis["showgrid"]:
                yield f'<path class="grid" d="M{x} {_px(self.top)}V{_px(bottom)}"/>'
            if self.labels_x and self.x_axis.get("showticklabels", True):
                yield _text(words, x, bottom + 17, "middle", TEXT)
        for value, words in _ticks(self.y_axis, self.y_range):
            y = self.y([value])[0]
            if self.y_axis["showgrid"]:
                yield f'<path class="grid" d="M{_px(self.left)} {_px(y)}H{_px(right)}"/>'
            if self.y_axis.get("showticklabels", True):
                yield _text(words, self.left - 7, y + 4, "end", TEXT)
        if self.y_axis["showline"] or self.x_axis["showline"]:
            yield self._frame(bottom, right)
        if self.labels_x:
            yield _text(self.x_axis["title"]["text"], self.left + self.width / 2, bottom + 39)
        title = self.y_axis["title"]["text"]
        yield _text(title, 13, self.top + self.height / 2, turned=True)

    def _frame(self, bottom: float, right: float) -> str:
        corner = f"M{_px(self.left)} {_px(self.top)}V{_px(bottom)}H{_px(right)}"
        closed = f"V{_px(self.top)}z" if self.y_axis["mirror"] and self.x_axis["mirror"] else ""
        only_x = f"M{_px(self.left)} {_px(bottom)}H{_px(right)}"
        return f'<path class="frame" d="{corner + closed if self.y_axis["showline"] else only_x}"/>'


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _values(values: Any, axis: Axis) -> Floats:
    found = np.array(values, dtype=np.float64)
    return np.log10(found) if axis.get("type") == "log" else found


def _range(axis: Axis, values: Iterable[Any]) -> tuple[float, float]:
    if "range" in axis:
        return axis["range"][0], axis["range"][1]
    known = np.concatenate([[0.0], *(_values(each, axis) for each in values)])
    known = known[np.isfinite(known)]
    low, high = float(known.min()), float(known.max())
    return low, low + 1.05 * (high - low or 1.0)


def _ticks(axis: Axis, ends: tuple[float, float]) -> list[tuple[float, str]]:
    """Values on an axis, and what they are called."""
    if "tickvals" in axis:
        names = axis.get("ticktext", axis["tickvals"])
        pairs = zip(axis["tickvals"], map(str, names), strict=True)
        return [(value, name) for value, name in pairs if min(ends) <= value <= max(ends)]
    low, high = sorted(ends)
    rough = (high - low) / axis.get("nticks", 6)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(k * unit for k in (1, 2, 5, 10) if k * unit >= rough * (1 - 1e-9))
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    numbers = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return [(10.0**n if axis.get("type") == "log" else n, _number(n, digits)) for n in numbers]


def _number(value: float, digits: int) -> str:
    if abs(value) >= 1000.0:
        return f"{value / 1000.0:g}k"
    # With a minus sign, and none before zero.
    return f"{value:.{digits}f}".replace("-", "−") if abs(value) > 1e-12 else "0"


def _text(
    words: str, x: Any, y: float, anchor: str = "middle", size: int = 13, *, turned: bool = False
) -> str:
    if not words:
        return ""
    plain = escape(unescape(BOLD.sub("", str(words)).replace("<br>", " ")))
    turn = f' transform="rotate(-90 {x} {_px(y)})"' if turned else ""
    place = x if isinstance(x, str) else _px(x)
    return (
        f'<text x="{place}" y="{_px(y)}" text-anchor="{anchor}" font-size="{size}"{turn}>'
        f"{plain}</text>"
    )


def _trace(trace: Trace, panel: Panel) -> Iterator[str]:
    """Area, error bars, line, markers and words of one layer, from the lowest up."""
    x, y = panel.x(trace["x"]), panel.y(trace["y"])
    mode = trace.get("mode", "lines")
    if not np.isfinite(x).any():
        return
    if trace.get("fill", "none") != "none":
        yield _area(trace, x, y, panel)
    for name, along in (("error_x", 0), ("error_y", 1)):
        if trace.get(name):
            yield _whiskers(trace, panel, name, along)
    if "lines" in mode:
        yield _stroke(_path(x, y, trace.get("line", {}).get("shape")), trace.get("line", {}))
    if "markers" in mode:
        yield from _markers(trace, x, y)
    if "text" in mode:
        below, anchor = _beside(trace.get("textposition", "top center"))
        for words, at, up in zip(trace["text"], x, y, strict=True):
            yield _text(words, at, up + below, anchor, TEXT)


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


def _stroke(path: str, look: Mapping[str, Any]) -> str:
    dash = DASHES.get(look.get("dash") or "", "")
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    width = look.get("width", 2)
    if not width or not path:
        return ""
    return (
        f'<path d="{path}" fill="none" stroke="{look.get("color", "currentColor")}" '
        f'stroke-width="{width}" stroke-linejoin="round"{dashed}/>'
    )


def _area(trace: Trace, x: Floats, y: Floats, panel: Panel) -> str:
    path = _path(x, y, trace.get("line", {}).get("shape"))
    if trace["fill"] == "tozeroy":
        base, known = float(panel.y([0.0])[0]), x[np.isfinite(x)]
        path += f"V{_px(base)}H{_px(known[0])}"
    return f'<path d="{path}z" fill="{trace.get("fillcolor", "none")}"/>'


def _whiskers(trace: Trace, panel: Panel, name: str, along: int) -> str:
    look = trace[name]
    middle = np.array(trace["xy"[along]], dtype=np.float64)
    ends = middle - np.array(look["arrayminus"]), middle + np.array(look["array"])
    x, y = panel.x(trace["x"]), panel.y(trace["y"])
    low, high = ((panel.y if along else panel.x)(end) for end in ends)
    bars = [
        f"M{_px(at)} {_px(one)}V{_px(two)}" if along else f"M{_px(one)} {_px(at)}H{_px(two)}"
        for at, one, two in zip(x if along else y, low, high, strict=True)
        if math.isfinite(one) and math.isfinite(two)
    ]
    return _stroke("".join(bars), {"color": look["color"], "width": look["thickness"]})


def _markers(trace: Trace, x: Floats, y: Floats) -> Iterator[str]:
    marker, n = trace["marker"], len(x)
    sizes = np.broadcast_to(np.asarray(marker.get("size", 6), dtype=np.float64), n)
    if marker.get("sizemode") == "area":
        sizes = np.sqrt(2.0 * sizes / marker["sizeref"]).clip(2.0 * marker.get("sizemin", 0.0))
    symbols = _each(marker.get("symbol", "circle"), n)
    colors = _each(marker.get("color", "currentColor"), n)
    said = trace.get("hovertext") or [""] * n
    for at, up, size, symbol, color, words in zip(x, y, sizes, symbols, colors, said, strict=True):
        if math.isfinite(at) and math.isfinite(up):
            yield _symbol(symbol, at, up, size / 2.0, color, marker, words)


def _each(value: Any, n: int) -> Sequence[Any]:
    return [value] * n if isinstance(value, str) else list(value)


def _symbol(
    symbol: str,
    x: float,
    y: float,
    r: float,
    color: str,
    marker: Mapping[str, Any],
    words: str = "",
) -> str:
    hollow = symbol.endswith("-open")
    corners = SYMBOLS.get(symbol.removesuffix("-open"))
    edge = marker.get("line", {})
    width = edge.get("width", 1.25 if hollow else 0)
    drawn = f'stroke="{color if hollow else edge.get("color", color)}" stroke-width="{width}"'
    look = f'fill="{"none" if hollow else color}" {drawn if width else ""}'
    said = f"<title>{escape(unescape(words.replace('<br>', ' · ')))}</title>" if words else ""
    if corners is None:
        return f'<circle cx="{_px(x)}" cy="{_px(y)}" r="{_px(r)}" {look}>{said}</circle>'
    path = "L".join(f"{_px(x + r * dx)} {_px(y + r * dy)}" for dx, dy in corners)
    return f'<path d="M{path}z" {look}>{said}</path>'


def _note(note: Mapping[str, Any], panels: Mapping[tuple[str, str], Panel]) -> Iterator[str]:
    """Titles of panels, titles of all panels, and arrows."""
    first = next(iter(panels.values()))
    if note.get("showarrow"):
        x = float(first.x([note["x"]])[0])
        ends = first.y([note["ay"], note["y"]])
        path = _path(np.array([x, x]), ends)
        turn = 4.0 if ends[1] > ends[0] else -4.0
        head = f"M{_px(x - 4)} {_px(ends[1] - turn)}L{_px(x)} {_px(ends[1])}L{_px(x + 4)} "
        look = {"color": note["arrowcolor"], "width": note["arrowwidth"]}
        yield _stroke(path + head + _px(ends[1] - turn), look)
        return
    size = note["font"]["size"]
    if note["xref"] == "paper":
        left = min(panel.left for panel in panels.values())
        right = max(panel.left + panel.width for panel in panels.values())
        top = min(panel.top for panel in panels.values())
        bottom = max(panel.top + panel.height for panel in panels.values())
        if note.get("textangle"):
            x = left + note.get("xshift", 0) - 4
            yield _text(note["text"], _px(x), (top + bottom) / 2, size=size, turned=True)
        else:
            yield _text(note["text"], (left + right) / 2, bottom - note.get("yshift", 0) + 12)
        return
    panel = panels[note["xref"].split()[0], note["yref"].split()[0]]
    yield _text(note["text"], panel.left, panel.top - note.get("yshift", 3), "start", size)


def _legend(chart: Chart) -> Iterator[str]:
    """What layers are called, in as many columns as fit below."""
    shown = [trace for trace in chart.spec["data"] if trace.get("showlegend")]
    if not shown:
        return
    layout = chart.spec["layout"]
    margin, legend = layout["margin"], layout["legend"]
    names = [unescape(str(trace.get("name") or "")) for trace in shown]
    column = SAMPLE + 16 + 6.6 * max(map(len, names))
    columns = max(1, int((chart.width - margin["l"]) // column))
    inner = chart.height - margin["t"] - margin["b"]
    top = chart.height - margin["b"] - legend["y"] * inner + 4
    if gap := legend.get("title"):
        # Of a square it is the height of an empty title that keeps it below the axis.
        top += 1.3 * gap["font"]["size"]
    for i, (trace, name) in enumerate(zip(shown, names, strict=True)):
        x, y = margin["l"] + (i % columns) * column, top + ROW * (i // columns) + ROW / 2
        yield from _sample(trace, x, y)
        yield _text(name, x + SAMPLE + 6, y + 4, "start", TEXT)


def _sample(trace: Trace, x: float, y: float) -> Iterator[str]:
    """A piece of a layer, as it stands in the legend."""
    mode = trace.get("mode", "lines")
    if trace.get("fill", "none") != "none":
        color = trace.get("fillcolor", "none")
        yield (f'<rect x="{_px(x)}" y="{_px(y - 5)}" width="{SAMPLE}" height="10" fill="{color}"/>')
    elif "lines" in mode:
        yield _stroke(f"M{_px(x)} {_px(y)}h{SAMPLE}", trace.get("line", {}))
    if "markers" in mode:
        marker = trace["marker"]
        first = _each(marker.get("symbol", "circle"), 1)[0]
        color = _each(marker.get("color", "currentColor"), 1)[0]
        yield _symbol(first, x + SAMPLE / 2, y, 4.5, color, marker)
