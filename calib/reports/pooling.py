"""pool_reports: add up the counts of reports of disjoint rows, and analyse the sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import reduce
from operator import add
from typing import Any

from calib.analysis import LiveAnalysis, analyze
from calib.analysis.summary import GROUPED
from calib.core.aggregate import Aggregate
from calib.reports.build_parts import decision_part
from calib.reports.codec import ReportError, encode
from calib.reports.contents import Contents, Parts
from calib.reports.evidence import Evidence
from calib.reports.report import Report
from calib.reports.sealing import broken

# Up to this number of reports, the name of the pooled report contains all names.
MOST_NAMES = 3


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
        of the same data, settings or grades differ, or the counts cannot be added up.

    Examples
    --------
    >>> import numpy as np
    >>> import calib
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> settings = calib.Settings(methods=("platt",))
    >>> def report(rows):
    ...     found = calib.from_predictions(y[rows], p[rows], settings=settings)
    ...     return Report.from_analysis(found, grade="exact")
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
        _check_alike(first, report, name, other)
    _check_disjoint(evidence)
    whole = _sum(evidence)
    analysis = analyze(whole, report.analysis.settings)
    if evidence[first].grade == "guarded":
        analysis = _without_resolution(analysis, len(reports))
    declared = {each.held_out_declared for each in reports.values()}
    return Report.from_analysis(
        analysis,
        parts=_parts(list(reports.values()), analysis),
        held_out_declared=declared.pop() if len(declared) == 1 else "unknown",
        grade=evidence[first].grade,
        **words,
    )


def _evidence(name: str, report: Report) -> Evidence:
    if report.evidence is None or report.seal is None:
        raise ReportError(
            f"{name} has no counts, because it is of an earlier schema. Make it again from "
            "the predictions."
        )
    if trouble := broken(encode(report), report.seal):
        raise ReportError(f"{name}: {trouble}")
    if not report.evidence.refits:
        raise ReportError(f"{name} cannot be pooled. {report.evidence.needs_rows[0]}")
    return report.evidence


def _check_alike(first: str, one: Contents, name: str, other: Contents) -> None:
    for field in fields(one.analysis.settings):
        own, theirs = (getattr(each.analysis.settings, field.name) for each in (one, other))
        if own != theirs:
            raise ReportError(
                f"Reports must have the same settings to be pooled: {field.name} is {own!r} in "
                f"{first} and {theirs!r} in {name}."
            )


def _check_disjoint(evidence: Mapping[str, Evidence]) -> None:
    seen: dict[str, str] = {}
    for name, each in evidence.items():
        for source in each.cells.sources:
            if source in seen:
                raise ReportError(
                    f"{seen[source]} and {name} are of the same data, so rows would count twice. "
                    "Leave one out."
                )
            seen[source] = name


def _sum(evidence: Mapping[str, Evidence]) -> Aggregate:
    cells = [each.cells for each in evidence.values()]
    try:
        whole = reduce(add, cells)
    except ValueError as error:
        raise ReportError(f"The reports cannot be pooled. {error}") from error
    names = list(dict.fromkeys(each.name for each in cells))
    rest = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return replace(whole, name=" + ".join(names[:MOST_NAMES]) + rest)


def _without_resolution(analysis: LiveAnalysis, n: int) -> LiveAnalysis:
    """Merged cells of several reports overlap, so bounds for separate cells are not valid."""
    unknown = {
        key: replace(
            method,
            metrics={
                name: replace(own, resolution=float("nan")) for name, own in method.metrics.items()
            },
        )
        for key, method in analysis.methods.items()
    }
    said = (
        f"These are the merged cells of {n} guarded reports. How far their numbers are from those "
        "of the rows is not known; exact reports give the same numbers as the rows."
    )
    kept = (each for each in analysis.warnings if not each.startswith(GROUPED))
    return replace(analysis, methods=unknown, warnings=(said, *kept))


def _parts(reports: list[Report], analysis: LiveAnalysis) -> Parts | None:
    decisions = [report.parts.decisions if report.parts else None for report in reports]
    costs = [None if each is None else each.table.costs for each in decisions]
    if costs[0] is None or any(each != costs[0] for each in costs):
        return None
    return Parts(decisions=decision_part(analysis, costs[0]))
