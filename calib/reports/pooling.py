"""pool_reports: add up the counts of reports of disjoint rows, and analyse the sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import reduce
from itertools import combinations
from operator import add
from typing import Any

import numpy as np

from calib.analysis import LiveAnalysis, analyze
from calib.analysis.summary import GROUPED
from calib.data.aggregate import Aggregate
from calib.data.remark import code_of
from calib.numerics.arrays import FloatArray
from calib.numerics.cell_table import CellTable
from calib.reports.contents.codec import ReportError, encode
from calib.reports.contents.evidence import Evidence
from calib.reports.contents.slices_periods_decisions import decision_part
from calib.reports.contents.structure import Contents, Parts
from calib.reports.proof.sealing import seal_problem
from calib.reports.report import Report
from calib.text import count

# A file that was written with fewer digits has scores that differ by less.
MAX_DISTANCE_OF_EQUAL_SCORES = 1e-9
# If scores and outcomes are mostly distinct, two samples share at most about 60% of them by chance.
MAX_SHARE_OF_EQUAL_ROWS = 0.9
MAX_ROWS_PER_SCORE = 1.5
# Up to this number of reports, the name of the pooled report contains all names.
MAX_LISTED_NAMES = 3


def pool_reports(reports: Mapping[str, Report], **words: Any) -> Report:
    """Add up the counts of reports of disjoint rows, and analyse the sum.

    With exact reports the numbers are those of all rows together, up to rounding. With guarded
    reports they are those of the merged cells. Decisions are included if all reports have the same
    costs. Slices and periods are left out, because each report counts them by its own calibrated
    scores.

    Parameters
    ----------
    reports : mapping of str to Report
        Reports by name, for example the name of the file; names are used in messages. Each row must
        be in only one report.
    **words
        Title, author and note, as in `Report.from_analysis`.

    Raises
    ------
    ReportError
        If there are fewer than two reports, a report is damaged or has no counts, two reports are
        of the same data, nearly all scores of two exact reports are the same, only some have
        weights, settings or grades differ, or the counts cannot be added up.

    Examples
    --------
    >>> import numpy as np
    >>> import calib
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> settings = calib.Settings(methods=("platt",))
    >>> def report(rows):
    ...     analysis = calib.from_predictions(y[rows], p[rows], settings=settings)
    ...     return Report.from_analysis(analysis, grade="exact")
    >>> parts = {"north": report(slice(0, 800)), "south": report(slice(800, 2000))}
    >>> whole, pooled = report(slice(0, 2000)).analysis, pool_reports(parts).analysis
    >>> pooled.table().equals(whole.table()), pooled.data.n_rows
    (True, 2000)
    """
    if len(reports) < 2:
        raise ReportError(f"Pooling needs at least two reports, got {len(reports)}.")
    evidence = {name: _evidence(name, report) for name, report in reports.items()}
    (first, report), *others = reports.items()
    for name, other in others:
        if evidence[name].grade != evidence[first].grade:
            raise ReportError(
                "Reports must have the same grade to be pooled: "
                f"{first} is {evidence[first].grade} and {name} is {evidence[name].grade}."
            )
        weighted = [
            report_name for report_name in (first, name) if evidence[report_name].cells.weighted
        ]
        if len(weighted) == 1:
            raise ReportError(
                "Reports must all have row weights to be pooled, or none: only "
                f"{weighted[0]} of {first} and {name} has weights."
            )
        _check_alike(first, report, name, other)
    _check_disjoint(evidence)
    whole = _sum(evidence)
    analysis = analyze(whole, report.analysis.settings)
    if evidence[first].grade == "guarded":
        analysis = _without_resolution(analysis, len(reports))
    declared = {report.held_out_declared for report in reports.values()}
    return Report.from_analysis(
        analysis,
        parts=_parts(list(reports.values()), analysis),
        held_out_declared=declared.pop() if len(declared) == 1 else "unknown",
        grade=evidence[first].grade,
        **words,
    )


def _evidence(name: str, report: Report) -> Evidence:
    if trouble := seal_problem(encode(report), report.seal):
        raise ReportError(f"{name}: {trouble}")
    if not report.evidence.can_be_refitted:
        raise ReportError(f"{name} cannot be pooled. {report.evidence.needs_rows[0]}")
    return report.evidence


def _check_alike(first: str, one: Contents, name: str, other: Contents) -> None:
    for field in fields(one.analysis.settings):
        value, other_value = (
            getattr(report.analysis.settings, field.name) for report in (one, other)
        )
        if value != other_value:
            raise ReportError(
                f"Reports must have the same settings to be pooled: {field.name} is {value!r} in "
                f"{first} and {other_value!r} in {name}."
            )


def _check_disjoint(evidence: Mapping[str, Evidence]) -> None:
    """Refuse reports of the same rows, in any order and with scores of fewer digits."""
    for (first, one), (name, other) in combinations(evidence.items(), 2):
        same = set(one.cells.sources) & set(other.cells.sources)
        alike = one.rows_sha256 == other.rows_sha256
        if same or alike:
            reason = "of the same data" if same else "of the same scores and outcomes"
            raise ReportError(
                f"{first} and {name} are {reason}, so rows would count twice. Leave one out."
            )
        if one.cells.exact and other.cells.exact:
            _check_shared(first, one.cells.table, name, other.cells.table)


def _check_shared(first: str, one: CellTable, name: str, other: CellTable) -> None:
    """Refuse reports of mostly distinct scores that have nearly all of them in common."""
    scores = [_distinct(table) for table in (one, other)]
    n_rows = [int(table.rows.sum()) for table in (one, other)]
    if any(
        n > MAX_ROWS_PER_SCORE * len(of_report) for n, of_report in zip(n_rows, scores, strict=True)
    ):
        return
    fewer, more = sorted(scores, key=len)
    after = np.searchsorted(more, fewer)
    beside = (more[np.clip(at, 0, len(more) - 1)] for at in (after - 1, after))
    n_shared = int(
        np.any(
            [np.abs(neighbour - fewer) < MAX_DISTANCE_OF_EQUAL_SCORES for neighbour in beside],
            axis=0,
        ).sum()
    )
    if n_shared > MAX_SHARE_OF_EQUAL_ROWS * len(fewer):
        raise ReportError(
            f"{first} and {name} share {count(n_shared)} of {count(len(fewer))} scores with their "
            "outcomes, so rows would count twice. Pool reports of different rows."
        )


def _distinct(table: CellTable) -> FloatArray:
    """Distinct pairs of score and outcome as numbers: those of positive rows are 2 larger."""
    return np.unique(table.low + 2.0 * table.outcome)


def _sum(evidence: Mapping[str, Evidence]) -> Aggregate:
    # Cells are of probabilities, so reports may differ in how scores were written before.
    cells = [replace(counts.cells, transform="none", swap=False) for counts in evidence.values()]
    try:
        whole = reduce(add, cells)
    except ValueError as error:
        raise ReportError(f"The reports cannot be pooled. {error}") from error
    names = list(dict.fromkeys(counts.name for counts in cells))
    rest = f" and {len(names) - MAX_LISTED_NAMES} more" if len(names) > MAX_LISTED_NAMES else ""
    return replace(whole, name=" + ".join(names[:MAX_LISTED_NAMES]) + rest)


def _without_resolution(analysis: LiveAnalysis, n: int) -> LiveAnalysis:
    """Merged cells of several reports overlap, so bounds for separate cells are not valid."""
    unknown = {
        key: replace(
            method,
            metrics={
                name: replace(estimate, resolution=float("nan"))
                for name, estimate in method.metrics.items()
            },
        )
        for key, method in analysis.methods.items()
    }
    said = (
        f"These are the merged cells of {n} guarded reports. How far their numbers are from those "
        "of the rows is not known; exact reports give the same numbers as the rows."
    )
    kept = (warning for warning in analysis.warnings if code_of(warning) != GROUPED)
    return replace(analysis, methods=unknown, warnings=(said, *kept))


def _parts(reports: list[Report], analysis: LiveAnalysis) -> Parts | None:
    decisions = [report.parts.decisions if report.parts else None for report in reports]
    costs = [None if part is None else part.table.costs for part in decisions]
    if costs[0] is None or any(part != costs[0] for part in costs):
        return None
    return Parts(decisions=decision_part(analysis, costs[0]))
