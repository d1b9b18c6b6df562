"""Charts as SVG files: no wider legend than needed, no more digits than the eye can see."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from calib.figures import Chart
from calib.figures.chart import LEGEND_ROW
from calib.figures.images import images, missing

MAX_BYTES = 150_000
LEGEND_SYMBOL_PIXELS = 50  # The gaps beside a symbol are included.
LONG_NUMBER = re.compile(r"(\d+\.\d\d)\d+")
# Numbers in attributes are coordinates. Other numbers are text.
ATTRIBUTE = re.compile(r'="[^"]*"')
RANDOM_NAME = re.compile(r'id="defs-(\w+)"')
RANDOM_CLASS = re.compile(r'(class="trace scatter) trace\w+"')


class NoPictures(Exception):
    """Pictures cannot be drawn here; the message says why."""


def draw(charts: Mapping[str, Chart], folder: Path) -> None:
    """Write each chart to folder/name.svg.

    Raises
    ------
    NoPictures
        If kaleido or a Chrome is missing.
    """
    if not charts:
        return
    if missing():
        raise NoPictures(missing())
    drawn = images([_tight(chart) for chart in charts.values()], "svg")
    for name, image in zip(charts, drawn, strict=True):
        text = _settled(image.decode())
        if len(text) > MAX_BYTES:
            raise ValueError(f"{name}.svg must be at most {MAX_BYTES} bytes, got {len(text)}.")
        (folder / f"{name}.svg").write_text(text, encoding="utf-8")


def _tight(chart: Chart) -> Chart:
    """The chart without the room that its legend would need on a phone."""
    names = [layer.label for layer in chart.layers if layer.label and layer.legend]
    room = chart.width - chart.left
    rows = math.ceil(sum(LEGEND_SYMBOL_PIXELS + 7 * len(name) for name in names) / room)
    return replace(chart, legend=LEGEND_ROW * rows + 4 if names else 0)


def _settled(svg: str) -> str:
    """The same picture in the same bytes each time, without digits that nobody sees."""
    svg = RANDOM_CLASS.sub(r'\1"', svg)
    drawn = RANDOM_NAME.search(svg)
    renamed = svg.replace(drawn[1], "plot") if drawn else svg
    return ATTRIBUTE.sub(lambda found: LONG_NUMBER.sub(r"\1", found[0]), renamed)
