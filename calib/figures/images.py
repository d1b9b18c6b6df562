"""Charts as images, drawn by kaleido in a Chrome where both are installed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Literal, get_args

from calib.figures.chart import Chart, still

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
