"""The explorer: the cells that a browser draws linked panels of, and the script that draws them.

`explorer_data` is all that differs between data sets: no text of theirs enters script or style.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.analysis import Analysis, MethodResult
from calib.analysis.verdict import SIGNIFICANCE
from calib.crossfit.cross_fitted import CrossFitted
from calib.curves.rate import RateCurve
from calib.data.cells import ScoreCells
from calib.figures.axes import AxisKind
from calib.figures.chart import file_name
from calib.figures.layers import FULL_DOT_AREA, MIN_DOT_SIZE, RATES
from calib.figures.theme import (
    BAND,
    DASHES,
    FRAME,
    GREY,
    GRID,
    OUTCOME,
    SYMBOLS,
    MethodStyle,
    style_of,
)
from calib.numerics.few_cells import cell_runs
from calib.words import titles
from calib.words.measures import (
    KS,
    LAYER_MEANINGS,
    MAX_BAND_WIDTH,
    axis_titles,
    positives,
    verdicts,
)

FOLDER = Path(__file__).parent
# The script computes these from the score and the weights of a cell, but cannot for runs of cells.
RUN_COLUMNS = ("low", "score_sum", "variance")
# Below this base rate nearly all scores are in a corner of linear axes.
MIN_LINEAR_BASE_RATE = 0.05


@cache
def script() -> str:
    """The explorer's JavaScript: one module, which exports `mount` and the numbers."""
    parts = ("explorer_numbers.js", "explorer_downloads.js", "explorer.js")
    return "".join(map(_file, parts))


@cache
def cells_script() -> str:
    """The JavaScript that keeps the data of `explorer_bytes`."""
    return _file("explorer_cells.js")


@cache
def style() -> str:
    """The explorer's CSS, with the greys of all charts as variables."""
    greys = {"grey": GREY, "grid": GRID, "frame": FRAME, "band": BAND}
    variables = " ".join(f"--explorer-{name}: {color};" for name, color in greys.items())
    return f".explorer {{ {variables} }}\n{_file('explorer.css')}"


def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def explorer_data(
    analysis: Analysis,
    cells: Mapping[str, ScoreCells],
    methods: Sequence[str],
    held_out: CrossFitted | None = None,
) -> dict[str, Any]:
    """The data that `mount` of the script draws, without the choices, as JSON.

    `cells` has the held-out scores by method. `methods` are those whose cells are among the data;
    any other is only named. Calibrated values have the interval that the folds of `held_out` show.
    """
    # The script writes plain text; text for Plotly must be escaped.
    across, upward = map(unescape, axis_titles(analysis))
    level = analysis.settings.confidence_level
    recommended = analysis.recommendation.method
    drawn = {
        key: _method(result, style_of(key, recommended), cells[key] if key in methods else None)
        for key, result in analysis.methods.items()
    }
    for key, result in analysis.methods.items():
        drawn[key]["title"] = titles.reliability(analysis, key)
        function = result.function
        if held_out is not None and function.has_curve:
            bounds = held_out.function_interval(key, function.score, function.calibrated, level)
            ends = zip(("low", "high"), bounds or (), strict=False)
            drawn[key]["function"] |= {name: packed(end) for name, end in ends}
    return {
        "methods": drawn,
        "level": level,
        "significance": SIGNIFICANCE,
        "error": KS,
        "help": LAYER_MEANINGS,
        "across": across,
        "upward": upward,
        "positives": positives(analysis),
        "unit": "Weight" if analysis.data.weighted else "Rows",
        "finding": verdicts(analysis, methods),
        "full_area": FULL_DOT_AREA,
        "smallest_dot": MIN_DOT_SIZE,
        "widest_band": MAX_BAND_WIDTH,
        "file": file_name("reliability", analysis.data.name),
    }


def rate_looks() -> dict[str, dict[str, str]]:
    """The names and looks of the lines without bins, by kind."""
    return {
        kind: {"label": label, "color": OUTCOME, "dash": DASHES[dash]}
        for kind, (label, dash) in RATES.items()
    }


def packed_lines(curves: Iterable[RateCurve]) -> dict[str, dict[str, str]]:
    """The points of lines without bins, by kind. A server computes them when they are chosen."""
    names = ("score", "observed", "low", "high")
    return {curve.kind: {name: packed(getattr(curve, name)) for name in names} for curve in curves}


def automatic_axis(analysis: Analysis) -> AxisKind:
    """Log-odds axes if positives are so rare that linear axes show all scores in one corner."""
    return "logit" if analysis.data.base_rate < MIN_LINEAR_BASE_RATE else "linear"


def explorer_bytes(data: Mapping[str, Any]) -> tuple[str, bytes]:
    """`explorer_data` as it is sent, and the name by which choices refer to it."""
    name = sha256(json.dumps(data).encode()).hexdigest()[:16]
    return name, json.dumps({"of": name, **data}).encode()


def _method(result: MethodResult, style: MethodStyle, cells: ScoreCells | None) -> dict[str, Any]:
    function = result.function
    data: dict[str, Any] = {
        "label": result.label,
        "color": style.color,
        "dash": DASHES[style.dash],
        "corners": [[round(x, 4), round(y, 4)] for x, y in SYMBOLS[style.symbol]],
        "null_half_width": result.cumulative.null_half_width,
    }
    if function.has_curve:
        data["function"] = {
            "score": packed(function.score),
            "calibrated": packed(function.calibrated),
        }
    if cells is not None:
        data["cells"] = packed_cells(cells)
    return data


def packed_cells(cells: ScoreCells) -> dict[str, str]:
    """The arrays of cells, or of runs of them, that the script's `readCells` reads."""
    runs = cell_runs(cells)
    weighted = not np.array_equal(runs.weight, runs.rows)
    columns: dict[str, NDArray[Any]] = {"high": runs.high, "rows": runs.rows.astype(np.uint32)}
    columns["positive"] = runs.positive if weighted else runs.positive.astype(np.uint32)
    if weighted:
        columns |= {"weight": runs.weight, "weight_sq": runs.weight_sq}
    if not runs.are_cells:
        columns |= {name: getattr(runs, name) for name in RUN_COLUMNS}
    return {name: packed(values) for name, values in columns.items()}


def packed(values: NDArray[Any]) -> str:
    """Numbers for the script's `decode`: their type, then base64 of little-endian bytes."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    kind = f"{values.dtype.kind}{values.dtype.itemsize}"
    return f"{kind}:{base64.b64encode(little.tobytes()).decode()}"
