"""The explorer: the cells that a browser draws linked panels of, and the script that draws them.

`explorer_data` is all that differs between data sets: no text of theirs enters script or style.
"""

from __future__ import annotations

import base64
import json
import zlib
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
from calib.curves.stops import MAX_BINS, STOPS, BinStops, StopIntervals, bin_stops, stop_intervals
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
    LINE_WIDTH,
    OUTCOME,
    SYMBOLS,
    MethodStyle,
    style_of,
)
from calib.metrics.cumulative import ks_error
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.binning import Strategy, score_histogram
from calib.numerics.few_cells import cell_runs
from calib.numerics.intervals import normal_quantile
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
RUN_COLUMNS = ("low", "score_sum")
# Numbers of the bins that are only drawn: single precision is finer than pixels on all axes.
DRAWN = np.float32
# The bounds of both bands from the lowest to the highest, each from the one before.
BOUND_STEPS = ("together_low", "band_low", "band_high", "together_high")
UNSIGNED = (np.uint8, np.uint16, np.uint32)
# Below this base rate nearly all scores are in a corner of linear axes.
MIN_LINEAR_BASE_RATE = 0.05


@cache
def script() -> str:
    """The explorer's JavaScript: one module, which exports `mount` and the sums of cells."""
    parts = ("explorer_numbers.js", "explorer_downloads.js", "explorer.js")
    return "".join(map(_file, parts))


@cache
def cells_script() -> str:
    """The JavaScript that keeps the data of `explorer_bytes`."""
    return _file("explorer_cells.js")


@cache
def stops_script() -> str:
    """The JavaScript that keeps the compressed data of `stops_data`."""
    return _file("explorer_stops.js")


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
        key: _method(result, style_of(key, recommended)) for key, result in analysis.methods.items()
    }
    for key in methods:
        drawn[key] |= _counted(cells[key], level)
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
        "half_width": normal_quantile(level),
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
        "most_bins": MAX_BINS,
    }


def rate_looks() -> dict[str, dict[str, str | float]]:
    """The names and looks of the lines without bins, by kind."""
    return {
        kind: {"label": label, "color": OUTCOME, "dash": DASHES[dash], "width": LINE_WIDTH}
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
    name = _name(data)
    return name, json.dumps({"of": name, **data}).encode()


def _method(result: MethodResult, style: MethodStyle) -> dict[str, Any]:
    function = result.function
    data: dict[str, Any] = {
        "label": result.label,
        "color": style.color,
        "dash": DASHES[style.dash],
        "width": style.width,
        "corners": [[round(x, 4), round(y, 4)] for x, y in SYMBOLS[style.symbol]],
        "null_half_width": result.cumulative.null_half_width,
    }
    if function.has_curve:
        data["function"] = {
            "score": packed(function.score),
            "calibrated": packed(function.calibrated),
        }
    return data


def _counted(cells: ScoreCells, confidence_level: float) -> dict[str, Any]:
    """The cells of a method, what is drawn of them at all stops, and the name of its stops."""
    runs = packed_cells(cells)
    return {
        "cells": runs,
        "heights": score_histogram(cells.score, cells.weight).tolist(),
        "ks": ks_error(cells),
        "stops": _name([runs, confidence_level]),
    }


def packed_stops(
    cells: ScoreCells,
    confidence_level: float | None,
    stops: Sequence[tuple[int, Strategy]],
    drawn: type[np.floating[Any]] = np.float64,
) -> dict[str, str]:
    """The bins of some stops, as the script's `readStops` reads them.

    A bin is a number of runs of `packed_cells`, and two edges. Of equal parts of [0, 1], these are
    how many parts lie between it and the bin before, and in it. Of quantiles, each is a kind of
    edge. Without a level there are no intervals and bands: those of rows in clusters need
    resamples. Numbers that are only drawn have the type `drawn`.
    """
    cut = bin_stops(cells, stops)
    bins, of_bin = cut.bins, cut.of_bin
    uniform = np.array([strategy == "uniform" for _, strategy in stops])
    n_bins = np.array([n for n, _ in stops])
    equal, first = uniform[of_bin], cut.start[:-1]
    parts = [np.rint(edge * n_bins[of_bin]) for edge in (bins.low_edge, bins.high_edge)]
    runs = np.searchsorted(cell_runs(cells).high, cells.score[bins.last - 1], side="right")
    low = np.where(equal, parts[0] - _shifted(parts[1], first), _kinds(bins.low_edge, cells.score))
    high = np.where(equal, parts[1] - parts[0], _kinds(bins.high_edge, cells.score))
    columns: dict[str, NDArray[Any]] = {
        "n_bins": n_bins,
        "uniform": uniform.astype(np.int64),
        "size": np.diff(cut.start),
        "low_edge": low.astype(np.int64),
        "high_edge": high.astype(np.int64),
        "runs": runs - _shifted(runs, first),
        "ece": cut.ece,
        "worst": cut.worst,
    }
    if confidence_level is not None:
        columns |= _intervals(cut, stop_intervals(cells, cut, confidence_level), drawn)
    return {name: packed(_smallest(values)) for name, values in columns.items()}


def _intervals(
    cut: BinStops, made: StopIntervals, drawn: type[np.floating[Any]]
) -> dict[str, NDArray[Any]]:
    worst = cut.start[:-1] + cut.worst
    bounds = np.array([made.together_low, made.band_low, made.band_high, made.together_high])
    # The bounds of a bin with few rows are numbers of positives, divided by the rows. They are sent
    # as these numbers, and others as distances from the mean score on both sides.
    counts = np.rint(bounds * cut.bins.rows)
    whole = (counts / cut.bins.rows == bounds).all(axis=0)
    steps = np.diff(counts[:, whole], axis=0, prepend=0.0).astype(np.int64)
    away = np.abs(bounds[:, ~whole] - cut.bins.mean_score[~whole]).astype(drawn)
    return {
        "whole": whole.astype(np.int64),
        **{name: steps[i] for i, name in enumerate(BOUND_STEPS)},
        # At the ends of the axis one side is shorter.
        "together_half": np.maximum(away[0], away[3]),
        "band_half": np.maximum(away[1], away[2]),
        "low": made.low.astype(drawn),
        "high": made.high.astype(drawn),
        # These are printed.
        "worst_low": made.low[worst],
        "worst_high": made.high[worst],
        "worst_p": made.p_adjusted[worst],
        "chance": made.chance,
        "band_width": made.band_width,
        "together_width": made.together_width,
    }


def _kinds(edge: FloatArray, score: FloatArray) -> IntArray:
    """0 for an edge of quantiles that is a score, 1 in the middle of two, and 2 for 0 and 1."""
    is_score = score[np.searchsorted(score, edge).clip(max=len(score) - 1)] == edge
    return np.select([(edge <= 0.0) | (edge >= 1.0), is_score], [2, 0], 1)


def _shifted(values: NDArray[Any], first: NDArray[Any]) -> NDArray[Any]:
    """The value before each in its stop, and 0 before the first."""
    before = np.concatenate([[0], values[:-1]])
    before[first] = 0
    return before


def _smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in the fewest bytes."""
    if values.dtype.kind == "f":
        return values
    most = values.max(initial=0)
    return values.astype(next(kind for kind in UNSIGNED if most <= np.iinfo(kind).max))


def stops_data(
    cells: ScoreCells,
    confidence_level: float,
    *,
    clustered: bool = False,
    most_bins: int = MAX_BINS,
) -> dict[str, str]:
    """The bins of all stops of a method, with the name that `explorer_data` has."""
    level = None if clustered else confidence_level
    stops = [stop for stop in STOPS if stop[0] <= most_bins]
    of = _name([packed_cells(cells), confidence_level])
    return {"of": of, **packed_stops(cells, level, stops, DRAWN)}


def compressed(data: Mapping[str, Any]) -> bytes:
    """JSON for the script's `inflate`."""
    return zlib.compress(json.dumps(data, separators=(",", ":")).encode(), level=9)


def _name(content: object) -> str:
    return sha256(json.dumps(content).encode()).hexdigest()[:16]


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
