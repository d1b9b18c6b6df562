"""Charts: layers on panels with an alternative text, their registry, and images of them."""

from __future__ import annotations

import base64
import html
import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, get_args

import numpy as np

from calib.data.registry import Registry
from calib.feature import FEATURES
from calib.figures import labels, plotly_format
from calib.figures.axes import Panels
from calib.figures.layers import Arrow, Heading, Layer, Note
from calib.figures.theme import CONFIG, LIGHT, TITLE_LINE
from calib.text import escaped

if TYPE_CHECKING:
    import pandas as pd

    # Plotly is slow to import, and is needed only when a figure is made.
    from plotly.basedatatypes import BaseFigure
    from plotly.graph_objects import Figure as Figure

# Pixels around the panels.
LEFT, RIGHT, BOTTOM = 54, 12, 50
# Plotly's toolbar lies above the panels, and titles of panels stand under it.
TOP, TITLE_ROW, HEADING = 32, 18, 20
LEGEND_ROW = 20
# Pixels of a chart on a phone. The legend gets the room that it needs there, which is enough for
# wider screens.
PHONE_WIDTH = 342
# Operating systems accept longer names, but people do not read them.
MAX_FILE_NAME_LENGTH = 80
FILE_ENDING = re.compile(r"(\.[A-Za-z]\w{0,7})+$")

Arguments = ParamSpec("Arguments")


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Chart:
    """Layers on panels, the lowest first, with their legend below."""

    layers: Sequence[Layer]
    panels: Panels
    alt: str  # The alternative text is a sentence that says what the figure shows.
    name: str  # The name of a file with the figure has no suffix.
    _: KW_ONLY
    heading: Heading = field(default_factory=Heading)
    arrows: Sequence[Arrow] = ()
    notes: Sequence[Note] = ()
    view: str = ""  # A reader's zoom is lost if it changes.
    selectable: bool = False  # Whether a click selects a point.
    # Pixels around the panels: the legend lies below the `bottom`.
    left: int = LEFT
    right: int = RIGHT
    top: int = TOP
    bottom: int = BOTTOM
    legend: int = 0

    @property
    def width(self) -> int:
        """Natural width in pixels. Panels that must be square stay square at any width."""
        return self.left + self.panels.width + self.right

    @property
    def height(self) -> int:
        """Natural height in pixels."""
        return self.top + self.panels.height + self.bottom + self.legend

    def at_width(self, pixels: int) -> Chart:
        """The same chart with another natural width. Square panels stay square."""
        panels, width = self.panels, pixels - self.left - self.right
        height = round(panels.height * width / panels.width) if self.is_square else panels.height
        return replace(self, panels=replace(panels, width=width, height=height))

    def frame(self) -> pd.DataFrame:
        """The drawn numbers, one row per point."""
        return labels.frame(self.layers, self.panels)

    @property
    def figure(self) -> Figure:
        """The chart as Plotly's figure, with every property checked."""
        from plotly.graph_objects import Figure as Figure

        return Figure(self.spec)

    @property
    def unchecked(self) -> BaseFigure:
        """The same for `st.plotly_chart`, which would have a dictionary checked at every rerun."""
        return _unchecked_type()(self.spec)

    @property
    def config(self) -> dict[str, Any]:
        """Options of plotly's toolbar; an image that it downloads has the chart's name."""
        image = CONFIG["toImageButtonOptions"] | {"filename": self.name}
        return {**CONFIG, "toImageButtonOptions": image}

    @property
    def is_square(self) -> bool:
        """Whether the first panel must be square."""
        return self.panels.are_square

    @property
    def height_by_width(self) -> str:
        """CSS: the height at which square panels fill the width of the element around the chart."""
        aside, above = self.left + self.right, self.height - self.panels.height
        ratio = self.panels.height / self.panels.width
        return f"calc((100cqw - {aside}px) * {round(ratio, 4)} + {above}px)"

    @property
    def spec(self) -> dict[str, Any]:
        """The chart in Plotly's format: traces under "data", and "layout"."""
        return {
            "data": [
                plotly_format.trace(layer, self.panels.names[layer.panel]) for layer in self.layers
            ],
            "layout": self._layout(),
        }

    def _layout(self) -> dict[str, Any]:
        panels = self.panels
        axes = {f"{n[0]}axis{n[1:]}": plotly_format.axis(axis) for n, axis in panels.axes.items()}
        notes = plotly_format.notes(panels, self.arrows, self.notes)
        notes += plotly_format.heading(self.heading, self.left, self.top)
        margin = {"l": self.left, "r": self.right, "t": self.top, "b": self.bottom + self.legend}
        # Plotly measures labels unless margins are fixed: a second layout pass at every redraw.
        margin |= {"pad": 0, "autoexpand": False}
        layout = axes | {
            "template": LIGHT,
            "height": self.height,
            "width": self.width,
            "margin": margin,
            "hovermode": "closest",
            "hoverlabel": {"align": "left", "namelength": -1},
            "uirevision": self.view,
            "showlegend": self.legend > 0,
            "legend": {
                "orientation": "h",
                "traceorder": "normal",
                "x": 0.0,
                "xanchor": "left",
                "font": {"size": 12},
                **_below(panels, self.bottom),
            },
        }
        if self.selectable:
            # Streamlit adds these where they are not set, and draws once more.
            layout |= {"clickmode": "event+select", "dragmode": "zoom"}
        return layout | ({"annotations": notes} if notes else {})


CHARTS: Registry[Callable[..., Chart]] = Registry(
    "chart",
    "calib.figures",
    more=lambda: [feature.charts for feature in FEATURES.values() if feature.charts],
)


def chart(function: Callable[Arguments, Chart]) -> Callable[Arguments, Chart]:
    """Register a function that draws a chart: the common tests then draw it too."""
    CHARTS.add(function.__name__, function)
    return function


def draw(
    kind: str,
    panels: Panels,
    layers: Sequence[Layer],
    about: str,
    *,
    title: str = "",
    details: str = "",
    of: Sequence[object] = (),
    view: str = "",
    left: int = LEFT,
    right: int = RIGHT,
    top: int = TOP,
    bottom: int = BOTTOM,
    arrows: Sequence[Arrow] = (),
    notes: Sequence[Note] = (),
    selectable: bool = False,
) -> Chart:
    """Draw layers on panels, the lowest first, with their legend below.

    `kind` names the kind of chart. `title` and `details`, such as the rows and bins, stand above
    the panels. The alternative text is the title with `about`, sentences that say what it does not.
    `of` is what else stands in the name of a downloaded image, such as the name of the data. If
    `view` changes, a reader's zoom is lost. `left`, `right`, `top` and `bottom` are pixels around
    the panels. `selectable` says whether a click selects a point.
    """
    layers, names = labels.directly(layers, panels)
    heading = Heading(escaped(title), details)
    if title:
        top += HEADING + TITLE_LINE * (len(heading.lines) - 1)
    return Chart(
        layers,
        panels,
        f"{title}. {about}" if title else about,
        file_name(kind, *of),
        heading=heading,
        arrows=arrows,
        notes=[*notes, *names],
        view=f"{kind} {view}".strip(),
        selectable=selectable,
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        legend=legend_height(layers, PHONE_WIDTH - left),
    )


def _below(panels: Panels, bottom: int) -> dict[str, Any]:
    """The position of the legend: below the axis, which takes `bottom` pixels.

    If panels grow, a share of their height is not a fixed number of pixels. The height of an empty
    title of the legend is: 1.3 times its font size.
    """
    if panels.are_square:
        gap = {"text": "\u00a0", "side": "top", "font": {"size": (bottom - 4) / 1.3}}
        # The title covers the labels of the axis, so it is transparent.
        return {"y": 0.0, "yanchor": "top", "title": gap, "bgcolor": "rgba(0, 0, 0, 0)"}
    return {"y": -(bottom - 4) / panels.height, "yanchor": "top"}


def file_name(*parts: object) -> str:
    """Words joined to the name of a file."""
    words = (re.sub(r"\W+", "-", FILE_ENDING.sub("", str(part))).strip("-") for part in parts)
    return "-".join(filter(None, words)).lower()[:MAX_FILE_NAME_LENGTH]


def legend_height(layers: Sequence[Layer], room: float) -> int:
    """Height of the legend at a width in pixels."""
    names = [layer.label for layer in layers if layer.legend]
    if not names:
        return 0
    # Plotly sets a wrapped legend in columns as wide as the longest name.
    column = 58 + 6 * max(len(html.unescape(name)) for name in names)
    columns = max(1, math.floor(room / column))
    return LEGEND_ROW * math.ceil(len(names) / columns) + 4


def still(chart: Chart) -> Figure:
    """A figure for an image, whose traces have no identifiers.

    Plotly uses them as selectors of CSS when it makes an image, and a space breaks a selector.
    """
    return chart.figure.update_traces(uid=None)


@cache
def _unchecked_type() -> Callable[[Mapping[str, Any]], BaseFigure]:
    from plotly.basedatatypes import BaseFigure

    class Unchecked(BaseFigure):
        """A figure whose dictionary is all that Streamlit reads."""

        def __init__(self, spec: Mapping[str, Any]) -> None:
            self._spec = spec

        def to_dict(self) -> dict[str, Any]:
            return dict(self._spec, data=[_packed(trace) for trace in self._spec["data"]])

    return Unchecked


def _packed(value: Any) -> Any:
    """A trace with its numbers as bytes: the JSON is a third as long, and is not parsed."""
    if isinstance(value, dict):
        return {name: _packed(part) for name, part in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        numbers = base64.b64encode(value.tobytes()).decode()
        return {"dtype": value.dtype.str[1:], "bdata": numbers}
    return value


ImageKind = Literal["png", "svg"]
IMAGE_KINDS: tuple[ImageKind, ...] = get_args(ImageKind)
# A PNG has twice the pixels in each direction, so that it is sharp on paper.
SCALE = 2
# A process has one server of Kaleido, so images are drawn one after the other.
DRAWING = threading.Lock()


def missing() -> str:
    """A sentence that says what must be installed to make images, or "" if nothing is missing."""
    if find_spec("kaleido") is None:
        return "Images need the package kaleido, which is not installed: pip install kaleido."
    from choreographer.browsers.chromium import Chromium

    if Chromium.find_browser(skip_local=False) is None:
        return (
            "Images are drawn by Chrome or Chromium, and none is installed: install one, or set "
            "BROWSER_PATH to its program."
        )
    return ""


def images(
    charts: Sequence[Chart],
    kind: ImageKind,
    progress: Callable[[float, str], None] = lambda _share, _text: None,
) -> list[bytes]:
    """Draw charts as PNG or SVG.

    `progress` is called as ``progress(share, step)``: starting the browser takes about three
    seconds, a chart a third of one. Raises ValueError if `kind` is unknown or something is not
    installed; the message says what.
    """
    if kind not in IMAGE_KINDS:
        raise ValueError(f"kind must be one of {', '.join(IMAGE_KINDS)}, got {kind!r}.")
    lacking = missing()
    if lacking:
        raise ValueError(lacking)
    with DRAWING:
        return _draw(charts, kind, progress)


def _draw(
    charts: Sequence[Chart], kind: ImageKind, progress: Callable[[float, str], None]
) -> list[bytes]:
    import kaleido

    drawn = []
    # Without this option MathJax would be loaded from the network.
    kaleido.start_sync_server(n=1, mathjax=False, silence_warnings=True)
    try:
        for number, chart in enumerate(charts, 1):
            progress((number - 1) / len(charts), f"Drawing chart {number} of {len(charts)}")
            drawn.append(_image(kaleido.calc_fig_sync, chart, kind))
    finally:
        kaleido.stop_sync_server(silence_warnings=True)
    return drawn


def _image(calculate: Callable[..., bytes], chart: Chart, kind: ImageKind) -> bytes:
    figure = still(chart)
    figure.update_layout(paper_bgcolor="#FFFFFF")
    size = {"format": kind, "width": chart.width, "height": chart.height}
    return calculate(figure, opts=size | ({"scale": SCALE} if kind == "png" else {}))
