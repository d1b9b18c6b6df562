"""Charts as SVG files: white paper, no more digits than the eye can see."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import plotly.graph_objects as go

from calib.figures import Chart
from calib.figures.chart import BOTTOM, LEGEND_ROW

LEGEND_ENTRY = 50  # pixels of a symbol and its gaps
MOST_BYTES = 150_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LONG_NUMBER = re.compile(r"(\d+\.\d\d)\d+")
# Of coordinates, not of what is written.
ATTRIBUTE = re.compile(r'="[^"]*"')
RANDOM_NAME = re.compile(r'id="defs-(\w+)"')


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
    _find_chrome()
    for name, chart in charts.items():
        text = _settled(_on_paper(chart).to_image(format="svg").decode())
        if len(text) > MOST_BYTES:
            raise ValueError(f"{name}.svg must be at most {MOST_BYTES} bytes, got {len(text)}.")
        (folder / f"{name}.svg").write_text(text, encoding="utf-8")


def _find_chrome() -> None:
    try:
        import kaleido  # noqa: F401
    except ImportError:
        raise NoPictures("no pictures: install kaleido (pip install kaleido)") from None
    found = os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise NoPictures("no pictures: install Chrome or Chromium, or name one in BROWSER_PATH")
    os.environ["BROWSER_PATH"] = found


def _on_paper(chart: Chart) -> go.Figure:
    """A copy that dark pages can show too, without the room that a phone's legend needs."""
    figure = chart.figure
    # Plotly makes CSS selectors of them, and ours have spaces.
    figure.update_traces(uid=None)
    names = [trace.name for trace in figure.data if trace.name and trace.showlegend is not False]
    room = figure.layout.width - figure.layout.margin.l
    rows = math.ceil(sum(LEGEND_ENTRY + 7 * len(name) for name in names) / room)
    bottom = BOTTOM + (LEGEND_ROW * rows + 4 if names else 0)
    return figure.update_layout(
        paper_bgcolor="white",
        font_family="Helvetica, Arial, sans-serif",
        height=figure.layout.height - figure.layout.margin.b + bottom,
        margin_b=bottom,
    )


def _settled(svg: str) -> str:
    """The same picture in the same bytes each time, without digits that nobody sees."""
    drawn = RANDOM_NAME.search(svg)
    named = svg.replace(drawn[1], "plot") if drawn else svg
    return ATTRIBUTE.sub(lambda found: LONG_NUMBER.sub(r"\1", found[0]), named)
