"""The charts of a report as files of PNG or SVG."""

from __future__ import annotations

from collections.abc import Callable

from calib.figures import Chart
from calib.figures.images import ImageKind, images
from calib.reports.blocks import Beside, Drawing
from calib.reports.contents import Contents
from calib.reports.printed import slug
from calib.reports.sections import sections


def charts(report: Contents) -> dict[str, Chart]:
    """Every chart of a report, by the name of its file, in order."""
    found: dict[str, Chart] = {}
    for section in sections(report):
        for block in section.blocks:
            drawings = block.drawings if isinstance(block, Beside) else (block,)
            for drawing in drawings:
                if isinstance(drawing, Drawing):
                    found[f"{len(found) + 1:02d}_{slug(section.title)}"] = drawing.chart
    return found


def pictures(
    report: Contents, kind: ImageKind, progress: Callable[[float, str], None]
) -> dict[str, bytes]:
    """Every chart drawn, by the name of its file.

    Parameters
    ----------
    report : Contents
    kind : {"png", "svg"}
    progress : callable
        Called with (share done, what is being done).

    Raises
    ------
    ValueError
        If kaleido or a Chrome is not installed; the message says what.
    """
    drawn = charts(report)
    made = images(list(drawn.values()), kind, progress)
    return {f"{name}.{kind}": image for name, image in zip(drawn, made, strict=True)}
