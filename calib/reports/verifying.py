"""Verify that the numbers of a report follow from the counts that it contains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from calib.analysis import Analysis, LiveAnalysis, analyze
from calib.calibrators import CALIBRATORS
from calib.curves.reliability import reliability_curve
from calib.numerics.cell_table import CellTable
from calib.reports.codec import ReportError, encode, upgraded
from calib.reports.collecting import entry_table
from calib.reports.disclosure import merged_curve
from calib.reports.evidence import Evidence
from calib.reports.recomputing import (
    OF_CELLS,
    ROUNDING,
    Difference,
    Json,
    differences,
    found_differences,
    outside,
    ranges_of,
    recomputed,
)
from calib.reports.report import Report, read_json, versions
from calib.reports.sealing import broken, public_key, signer

COUNTED = ("rows", "weight", "positive", "mean_score", "observed")


class NotVerified(ReportError):
    """The numbers of a report do not follow from its counts. The message names the first one."""


@dataclass(frozen=True, slots=True, eq=False)
class VerifiedReport:
    """A report whose numbers were recomputed from its counts.

    Attributes
    ----------
    report : Report
    signer : str
        Fingerprint of the key that signed the report, or "" without a signature.
    n_numbers : int
        Number of values and words that were compared.
    not_recomputed : tuple of str
        Sentences: what was not recomputed.
    same_versions : bool
        Whether the report was made with exactly the versions that are installed.
    """

    report: Report
    signer: str
    n_numbers: int
    not_recomputed: tuple[str, ...]
    same_versions: bool

    @property
    def sentence(self) -> str:
        """The result in words."""
        evidence = self.report.evidence
        assert evidence is not None
        if evidence.grade == "guarded":
            how = "within the printed bounds of its merged cells"
        elif not evidence.refits or not self.same_versions:
            how = f"to {ROUNDING:g}"
        else:
            how = "to the last bit"
        signed = f"signed by {self.signer}" if self.signer else "not signed"
        return f"pass: {self.n_numbers:,} values recomputed, equal {how}; sealed, {signed}"


def verify_report(
    source: str | bytes | Path, *, signed_by: str | bytes | Path | None = None
) -> VerifiedReport:
    """Recompute a report from the counts that it contains, and compare its numbers and texts.

    Parameters
    ----------
    source : path, str or bytes
        A report.json, as in `Report.open`.
    signed_by : path, str or bytes, optional
        Public Ed25519 key, or its file, that must have signed the report.

    Raises
    ------
    NotVerified
        If a number, a band or the verdict differs (the message names it), the seal is broken, or
        another key signed.
    ReportError
        If the report cannot be read, or has an earlier schema without counts.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("platt",)})
    >>> text = calib.report(analysis).json()
    >>> verify_report(text).sentence[:5]
    'pass:'
    >>> verify_report(text.replace('"n_positive": 891', '"n_positive": 890'))
    Traceback (most recent call last):
    ...
    calib.reports.verifying.NotVerified: The seal is broken: the report was changed after it was \
made. analysis.data.n_positive is 890; the cells give 891.
    """
    data = read_json(source)
    report = Report.open_json(data)
    evidence = report.evidence
    if evidence is None or report.seal is None:
        raise ReportError(
            f"This report has schema {data.get('schema_version')}, which has no counts to "
            "recompute it from. Make the report again from the predictions."
        )
    sentences = [broken(upgraded(data), report.seal), _other_signer(report, signed_by)]
    printed = encode(report)
    try:
        wrong = next(_wrong(report, evidence, printed), None)
        sentences.append("" if wrong is None else f"{wrong.sentence}.")
    except (ArithmeticError, LookupError, ValueError) as error:
        # No rows have such counts; what trips over them first depends on what was changed.
        sentences.append(f"The cells contradict each other ({type(error).__name__}: {error}).")
    if any(sentences):
        raise NotVerified(" ".join(filter(None, sentences)))
    return VerifiedReport(
        report=report,
        signer=signer(report.seal),
        n_numbers=_count_compared(report, evidence, printed),
        not_recomputed=_not_recomputed(evidence),
        same_versions=dict(report.versions) == versions(),
    )


def _other_signer(report: Report, wanted: str | bytes | Path | None) -> str:
    if wanted is None or (report.seal and report.seal.public_key == public_key(wanted)):
        return ""
    found = signer(report.seal)
    return f"The report must be signed by the given key, got {found or 'no signature'}."


def _wrong(report: Report, evidence: Evidence, printed: Json) -> Iterator[Difference]:
    """All differences between the report and its counts, differences of numbers first."""
    yield from _contradicted(report.analysis)
    yield from outside(printed, ranges_of(report, evidence))
    if not evidence.refits:
        if evidence.grade == "exact":
            yield from _wrong_bins(report, evidence, printed)
        return
    analysis = analyze(evidence.cells, report.analysis.settings)
    exact = evidence.grade == "exact"
    to_the_bit = exact and dict(report.versions) == versions()
    for found in found_differences(printed, recomputed(report, evidence, analysis)):
        slack = 0.0 if to_the_bit else _slack(found)
        if found.distance > slack and (exact or not _within(found, evidence, slack)):
            yield found
    if exact:
        yield from _wrong_cells(analysis, evidence)


def _contradicted(analysis: Analysis) -> Iterator[Difference]:
    """Sentences without the words of the verdict or method: merged cells give other numbers."""
    verdict, advice = analysis.verdict, analysis.recommendation
    for name, each in {"verdict": verdict, "after": analysis.after}.items():
        if each is not None and not each.sentence.startswith(each.heading):
            yield Difference(f"analysis.{name}.sentence", each.sentence, f"{each.heading} ...")
    label = CALIBRATORS[advice.method].label if advice.method in CALIBRATORS else ""
    if label.lower() not in advice.sentence.lower():
        yield Difference("analysis.recommendation.sentence", advice.sentence, f"... {label} ...")


def _slack(found: Difference) -> float:
    value = found.printed
    return ROUNDING * max(1.0, abs(value)) if type(value) in (int, float) else 0.0


def _within(found: Difference, evidence: Evidence, slack: float) -> bool:
    if OF_CELLS.search(found.kind):
        return True
    if np.isinf(found.distance):
        return found.kind in evidence.others
    return found.distance <= evidence.bounds.get(found.kind, 0.0) + slack


def _wrong_bins(report: Report, evidence: Evidence, printed: Json) -> Iterator[Difference]:
    """Differences of bins, which need no fit, if the whole analysis cannot be recomputed."""
    settings = report.analysis.settings
    for key in report.analysis.methods:
        cells = evidence.scores(key)
        curve = reliability_curve(cells, n_bins=settings.n_bins, strategy=settings.strategy)
        again, own = encode(merged_curve(curve, cells)), printed["analysis"]["methods"][key]
        for name in COUNTED:
            place = f"analysis.methods.{key}.reliability.{name}"
            for found in differences(own["reliability"][name], again[name], place):
                if found.distance > _slack(found):
                    yield found


def _wrong_cells(analysis: LiveAnalysis, evidence: Evidence) -> Iterator[Difference]:
    """Held-out cells of an exact report are those that the fits give."""
    for key in analysis.methods:
        if not _same(entry_table(analysis.held_out.view(key)), evidence.table(key)[1]):
            yield Difference(f"evidence.methods, {key}", "one set of cells", "another")
    for column in evidence.columns:
        if evidence.cells.fold_names:
            continue  # which fold a row of a slice lies in is not counted
        yield from _wrong_slices(analysis, evidence, column)


def _wrong_slices(analysis: LiveAnalysis, evidence: Evidence, column: str) -> Iterator[Difference]:
    rows, cut = evidence.rows("uncalibrated", column)
    if analysis.held_out.rows.test is not None:
        rows = replace(rows, test=np.ones(len(rows), dtype=np.bool_))
    timed = analysis.held_out.on(rows)
    for key in evidence.methods.models:
        own = evidence.table(key, column)[1]
        if len(own) and not _same(entry_table(timed.row_view(key), cut.codes), own):
            yield Difference(f"evidence.methods, {key} by {column}", "one set of cells", "another")


def _same(one: CellTable, other: CellTable) -> bool:
    if len(one) != len(other):
        return False
    pairs = ((getattr(one, n), getattr(other, n)) for n in ("stratum", "outcome", "rows"))
    sums = ((getattr(one, n), getattr(other, n)) for n in ("low", "weight", "weight_sq"))
    return all(np.array_equal(*pair) for pair in pairs) and all(
        np.allclose(*pair, rtol=ROUNDING, atol=ROUNDING) for pair in sums
    )


def _count_compared(report: Report, evidence: Evidence, printed: Json) -> int:
    if not evidence.refits:
        return len(ranges_of(report, evidence))
    return sum(1 for _ in chain(_leaves(printed["analysis"]), _leaves(printed["parts"])))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)
    else:
        yield value


def _not_recomputed(evidence: Evidence) -> tuple[str, ...]:
    if not evidence.others:
        return evidence.needs_rows
    named = ", ".join(evidence.others)
    return (*evidence.needs_rows, f"Merged cells give other words or lists of: {named}.")
