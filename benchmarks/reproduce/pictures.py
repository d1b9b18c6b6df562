"""Charts as SVG files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from calib.figures import Chart
from calib.figures.chart import LEGEND_ROW
from calib.figures.svg import to_file

MAX_BYTES = 150_000
LEGEND_SYMBOL_PIXELS = 50  # The gaps beside a symbol are included.


def draw(charts: Mapping[str, Chart], folder: Path) -> None:
    """Write each chart to folder/name.svg."""
    for name, chart in charts.items():
        text = to_file(_tight(chart))
        if len(text) > MAX_BYTES:
            raise ValueError(f"{name}.svg must be at most {MAX_BYTES} bytes, got {len(text)}.")
        (folder / f"{name}.svg").write_text(text, encoding="utf-8")


def _tight(chart: Chart) -> Chart:
    """The chart without the room that its legend would need on a phone."""
    names = [layer.label for layer in chart.layers if layer.label and layer.legend]
    room = chart.width - chart.left
    rows = math.ceil(sum(LEGEND_SYMBOL_PIXELS + 7 * len(name) for name in names) / room)
    return replace(chart, legend=LEGEND_ROW * rows + 4 if names else 0)
