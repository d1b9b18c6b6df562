"""Sentences and numbers as the pages print them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from calib.analysis import Analysis, LiveAnalysis, MethodResult
from calib.curves.reliability import FEW_ROWS, ReliabilityCurve
from calib.data.origin import Origin
from calib.text import formula as written
from calib.text import number, plain, plural
from calib.words.measures import MIN_DRAWN_ROWS

REFERENCE = re.compile(r"(arXiv:|doi:)(\S+?)(?=[,;.)]*(?:\s|$))")
SITES: Mapping[str, str] = {"arXiv:": "https://arxiv.org/abs/", "doi:": "https://doi.org/"}


def protocol(analysis: Analysis) -> str:
    """Which rows the methods were fitted on, and on which they are scored."""
    data = analysis.data
    if data.protocol == "test rows":
        return (
            f"Calibrators are fitted on {data.n_calibration:,} calibration rows and evaluated on "
            f"{data.n_rows:,} test rows."
        )
    folds = f" in {named_folds(data.origin)}" if data.named_folds else ""
    return (
        f"Metrics use {n_folds(analysis)}-fold cross-fitting on {data.n_rows:,} rows{folds}: each "
        "row is scored by a calibrator fitted on the other folds. Plotted curves are fitted on all "
        "rows."
    )


def n_folds(analysis: Analysis) -> int:
    """Number of folds: those that the data name, else those of the settings."""
    return analysis.data.named_folds or analysis.settings.n_folds


def named_folds(origin: Origin | None) -> str:
    """Name the folds that the data have."""
    if origin is None or origin.columns.fold is None:
        return "the folds that the data name"
    return f"the folds of column {plain(origin.columns.fold)}"


def formula(method: MethodResult) -> str:
    sentence = written(method.function.formula)
    sentence = sentence.replace("lambda =", "λ =").replace("epsilon =", "ε =")
    n = len(method.function.knots)
    return sentence if n == 0 or "knots" in sentence else f"{sentence} ({plural(n, 'knot')})"


def bins_sentence(curve: ReliabilityCurve) -> str:
    """How many bins have rows, and how many are empty or small."""
    parts = [f"{plural(len(curve.rows), 'bin')} with rows"]
    if curve.n_empty:
        parts.append(f"{curve.n_empty} empty or merged")
    n_few = int(curve.few.sum())
    if n_few:
        parts.append(f"{n_few} with fewer than {FEW_ROWS} rows (hollow dots)")
    return ", ".join(parts) + "."


def too_few(analysis: Analysis) -> str:
    """Why these rows are not drawn, in a sentence; "" if there are enough of them."""
    n = analysis.data.n_rows
    return "" if n >= MIN_DRAWN_ROWS else f"No chart: {plural(n, 'row')} cannot show a pattern."


def parameter_count(analysis: LiveAnalysis, key: str) -> str:
    return number(analysis.held_out.calibrators[key].n_parameters(), 1).removesuffix(".0")


def linked(source: str) -> str:
    """The reference as HTML, with a link for its arXiv or DOI number."""
    parts, end = [], 0
    for reference in REFERENCE.finditer(source):
        address = escape(f"{SITES[reference[1]]}{reference[2]}")
        link = f'<a href="{address}" target="_blank" rel="noreferrer">{escape(reference[0])}</a>'
        parts += [escape(source[end : reference.start()]), link]
        end = reference.end()
    return "".join([*parts, escape(source[end:])])
