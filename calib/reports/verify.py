"""Verify a report: analyse the counts of an exact one again, or add up the sums of a guarded one.

Both begin with the seal. Words are never compared, because another version may write them
differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.analysis import LiveAnalysis, analyze
from calib.analysis.plans import with_advice
from calib.data.strict_json import short
from calib.distribution import __version__
from calib.numerics.cells import CellTable, merge_entries
from calib.reports.contents.codec import ReportError, encode
from calib.reports.contents.counting import entry_table
from calib.reports.contents.disclosure import aggregated
from calib.reports.contents.evidence import SLICE, TIME
from calib.reports.contents.sealing import public_key, seal_problem, signer
from calib.reports.contents.slices_periods_decisions import (
    certificate_part,
    decision_part,
    recounted_parts,
)
from calib.reports.contents.structure import Parts
from calib.reports.report import Report, changed_settings, read_json, versions
from calib.text import joined, listed, quoted

# These texts were written by the program. They are never compared, because another version may word
# them differently. The columns of the metric table are headings, their order and digits.
WORDS = (
    r"analysis\.columns"
    r"|(analysis|parts)\..*\.(label|sentence|notes|reasons|null|formula|tested_on|finding)\b"
    r"|analysis\.(verdict|after)\.evidence\b"
)
# Counts cannot confirm words, what a person wrote, the names in the file, or which rows were left
# out before counting. Only the seal protects these values.
UNCOUNTED_PLACES = re.compile(
    rf"{WORDS}|analysis\.recommendation\.plan"
    r"|(analysis\.(warnings|data\.(origin|name|score_name|outcome_name|set_aside)))"
    r"|parts\.(notes|unit|n_ranges|time|slices\[\d+\]\.n_(merged|left_out)|periods\.column)"
    r"|parts\.periods\.tables\.\w+\.(unit|position)"
    r"|parts\.judge"
    r"|parts\.models"
)
UNCOUNTED = (
    "Words, names, the number of rows that were left out, and what a person wrote do not follow "
    "from counts, and neither does whether decisions or a certificate were removed. Only the seal "
    "protects them."
)
SUMS_ONLY = (
    "The counts of its scores are not in it. A person who changes a number so that the sums stay, "
    "and seals the report again, is not noticed; a signature shows it."
)
# Other versions of the libraries may round differently.
ROUNDING = 1e-9
# Arrays of a report have nine digits, so their sums agree up to this share.
SUM_ROUNDING = 1e-8


class NotVerified(ReportError):
    """A number of a report contradicts its counts or its sums. The message names the first one."""


@dataclass(frozen=True, slots=True, eq=False)
class VerifiedReport:
    """A report without a contradiction.

    Attributes
    ----------
    report : Report
    is_recomputed : bool
        Whether its counts were analysed again. Otherwise only its sums were compared.
    n_compared : int
        Number of values, or of sums, that were compared.
    signer : str
        Fingerprint of the key that signed the report, or "" without a signature.
    not_verified : tuple of str
        Sentences: what was not verified.
    same_versions : bool
        Whether the report was made with exactly the versions that are installed.
    """

    report: Report
    is_recomputed: bool
    n_compared: int
    signer: str
    not_verified: tuple[str, ...]
    same_versions: bool

    @property
    def sentence(self) -> str:
        """The result in words."""
        signed = f"sealed, signed by {self.signer}" if self.signer else "sealed, not signed"
        if not self.is_recomputed:
            absent = "counts" if self.report.evidence.grade == "guarded" else "rows"
            return (
                f"consistent: {self.n_compared:,} sums agree; its {absent} are not in it, so its "
                f"numbers were not computed again; {signed}"
            )
        how = "to the last bit" if self.same_versions else f"to {ROUNDING:g}"
        return (
            f"pass: {self.n_compared:,} numbers, keys and kinds are equal {how} to those of its "
            f"counts; {signed}"
        )


def verify_report(
    source: str | bytes | Path, *, signed_by: str | bytes | Path | None = None
) -> VerifiedReport:
    """Verify the seal of a report, and its numbers as far as it contains the counts.

    The counts of an exact report are analysed again; all numbers, keys and kinds must be equal. A
    guarded report has no such counts, and neither has one that needs rows (clusters, a matrix, far
    log-odds): its sums are compared.

    Parameters
    ----------
    source : path, str or bytes
        A report.json, as in `Report.open`.
    signed_by : path, str or bytes, optional
        Public Ed25519 key, or its file, that must have signed the report.

    Raises
    ------
    NotVerified
        If a value differs (the message names it), the seal is broken, or another key signed.
    ReportError
        If the report cannot be read.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("platt",)})
    >>> text = calib.report(analysis).json()
    >>> verify_report(text).sentence[:11]
    'consistent:'
    >>> verify_report(text.replace('"n_positive": 891', '"n_positive": 890'))
    Traceback (most recent call last):
    ...
    calib.reports.verify.NotVerified: The seal is broken: the report was changed after it was \
made. analysis.data.n_positive is 890; the rest of the report gives 891.
    """
    data = read_json(source)
    report = Report.open_json(data)
    evidence = report.evidence
    problems = [seal_problem(data, report.seal), _other_signer(report, signed_by)]
    problems.append(_removed(report))
    compared = _analysed_again(report) if evidence.is_refitted else _sums(report)
    n_compared = 0
    try:
        for comparison in compared:
            n_compared += 1
            if comparison.differs:
                problems += [f"{comparison.sentence}.", _other_version(report)]
                break
    except (ArithmeticError, LookupError, ValueError) as error:
        # No rows can have such counts. Which calculation fails first depends on what was changed.
        problems.append(f"The cells contradict each other ({type(error).__name__}: {error}).")
    if any(problems):
        raise NotVerified(" ".join(filter(None, problems)))
    return VerifiedReport(
        report=report,
        is_recomputed=evidence.is_refitted,
        n_compared=n_compared,
        signer=signer(report.seal),
        not_verified=(*evidence.needs_rows, UNCOUNTED if evidence.is_refitted else SUMS_ONLY),
        same_versions=_has_same_versions(report),
    )


def _removed(report: Report) -> str:
    """A sentence that names what the counts have and the report does not show, or ""."""
    counted, parts = report.evidence.methods, report.parts or Parts()
    shown = {TIME} if parts.periods else set()
    shown |= {SLICE.format(i) for i in range(len(parts.slices))}
    removed = [
        f"the method {quoted(key)}" for key in counted.models if key not in report.analysis.methods
    ]
    for column in report.evidence.columns:
        if column not in shown:
            values = dict.fromkeys(part.value for part in counted.parts if part.column == column)
            kind = "periods" if column == TIME else "slices"
            removed.append(f"the {kind} {listed(list(values), 3)}")
    return f"Not in the report, although its counts have it: {joined(removed)}." if removed else ""


def _other_signer(report: Report, wanted: str | bytes | Path | None) -> str:
    if wanted is None or report.seal.public_key == public_key(wanted):
        return ""
    actual_signer = signer(report.seal)
    return f"The report must be signed by the given key, got {actual_signer or 'no signature'}."


def _other_version(report: Report) -> str:
    """A sentence if another version of calib made the report, or ""."""
    if not _is_earlier(report):
        return ""
    return (
        f"calib {quoted(report.versions.get('calib', ''))} made the report, and this is calib "
        f"{__version__}, which may compute a number differently. Verify it with that version."
    )


def _is_earlier(report: Report) -> bool:
    return report.versions.get("calib") != __version__


def _has_same_versions(report: Report) -> bool:
    return dict(report.versions) == versions()


@dataclass(frozen=True, slots=True)
class Comparison:
    """A value of a report, and what its counts or its other values give instead."""

    place: str  # An example is "analysis.methods.beta.metrics.log_loss.value".
    # A value is None if there is none at this place.
    printed: Any
    expected: Any
    slack: float = 0.0  # Numbers may differ by this share.
    source: str = "the cells give"

    @property
    def differs(self) -> bool:
        if all(type(value) in (int, float) for value in (self.printed, self.expected)):
            distance = abs(float(self.printed) - float(self.expected))
            return distance > self.slack * max(1.0, abs(self.printed))
        return type(self.printed) is not type(self.expected) or self.printed != self.expected

    @property
    def sentence(self) -> str:
        printed, expected = (
            "nothing" if value is None else short(value) for value in (self.printed, self.expected)
        )
        return f"{self.place} is {printed}; {self.source} {expected}"


def _analysed_again(report: Report) -> Iterator[Comparison]:
    """Every value of an exact report that follows from its counts, and the counts themselves."""
    evidence, printed = report.evidence, encode(report)
    analysis = analyze(evidence.cells, report.analysis.settings)
    if report.analysis.recommendation.plan is not None:
        analysis = with_advice(analysis, report.analysis.recommendation)
    if not _is_earlier(report):
        changed = list(changed_settings(report.analysis))
        yield Comparison("settings_changed", list(report.settings_changed), changed)
    # An earlier version may lack results, but no method.
    methods = sorted(report.analysis.methods)
    yield Comparison("analysis.methods", methods, sorted(analysis.methods))
    columns = sorted(_counted_columns(report.parts))
    yield Comparison("evidence.methods.columns", sorted(evidence.columns), columns)
    again = {"analysis": aggregated(analysis), "parts": _parts_again(report, analysis)}
    for name, value in again.items():
        yield from _values(report, printed[name], encode(value), name)
    yield from _sums_of_models(report)
    yield from _held_out_cells(report, analysis)


def _counted_columns(parts: Parts | None) -> Iterator[str]:
    """The columns by which the held-out scores of a report with such parts are counted."""
    if parts is not None:
        yield from (SLICE.format(i) for i, part in enumerate(parts.slices) if not part.n_left_out)
        yield from [TIME] if parts.periods else []


def _parts_again(report: Report, analysis: LiveAnalysis) -> Parts | None:
    parts, evidence = report.parts, report.evidence
    if parts is None:
        return None
    decisions, certificate = parts.decisions, parts.certificate
    if decisions is not None:
        decisions = decision_part(analysis, decisions.table.costs)
    if certificate is not None:
        settings = report.analysis.settings
        certificate = certificate_part(evidence.cells, settings, certificate.limit)
    again = recounted_parts(parts, evidence, report.analysis.data.n_rows)
    return replace(again, decisions=decisions, certificate=certificate)


def _values(report: Report, printed: Any, again: Any, name: str) -> Iterator[Comparison]:
    """Pairs of the values in one place that counts can confirm.

    A report of an earlier version lacks results that were added since.
    """
    earlier, slack = _is_earlier(report), 0.0 if _has_same_versions(report) else ROUNDING
    values, expected = (dict(_leaves(value, name)) for value in (printed, again))
    for place in values if earlier else dict.fromkeys((*values, *expected)):
        if not UNCOUNTED_PLACES.match(place):
            yield Comparison(place, values.get(place), expected.get(place), slack)


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """The values of a JSON document, and the lengths of its lists, with their places."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, f"{place}.{name}")
    elif isinstance(value, list):
        yield f"{place} (length)", len(value)
        for i, item in enumerate(value):
            yield from _leaves(item, f"{place}[{i}]")
    else:
        yield place, value


def _held_out_cells(report: Report, analysis: LiveAnalysis) -> Iterator[Comparison]:
    """Held-out cells of an exact report are those that the fits give, also by slice and period."""
    evidence = report.evidence
    for key in analysis.methods:
        cells = entry_table(analysis.held_out.view(key))
        yield _same_cells(f"evidence.methods, {key}", evidence.table(key)[1], cells)
    for column in evidence.columns:
        rows, cut = evidence.rows("uncalibrated", column)
        if analysis.held_out.rows.test is not None:
            rows = replace(rows, test=np.ones(len(rows), dtype=np.bool_))
        for key in evidence.methods.models:
            table = evidence.table(key, column)[1]
            if not len(table):
                continue
            if not evidence.cells.fold_names:
                expected = entry_table(analysis.held_out.on(rows).row_view(key), cut.codes)
            elif column == TIME:
                continue  # Some rows may have no time.
            else:
                # The folds of the rows of a slice are not counted, but its slices have all rows.
                table = merge_entries(replace(table, stratum=np.zeros_like(table.stratum)))
                expected = evidence.table(key)[1]
            yield _same_cells(f"evidence.methods, {key} by {column}", table, expected)


def _same_cells(place: str, one: CellTable, other: CellTable) -> Comparison:
    tables = [_without_rounding(table) for table in (one, other)]
    same = all(
        len(mine) == len(theirs) and np.allclose(mine, theirs, rtol=ROUNDING, atol=ROUNDING)
        for mine, theirs in zip(*tables, strict=True)
    )
    return Comparison(place, "one set of cells", "one set of cells" if same else "another")


def _without_rounding(table: CellTable) -> list[NDArray[Any]]:
    """The columns of a table, in which scores that differ by rounding are one.

    A mean over folds is added up in an order that the rows decide, so the same score can be two.
    """
    sorted_table = table.pick(np.lexsort([table.low, table.outcome, table.stratum]))
    keys = (sorted_table.stratum, sorted_table.outcome.astype(np.int64), sorted_table.low)
    is_new = np.any([np.abs(np.diff(key, prepend=-1)) > ROUNDING for key in keys], axis=0)
    starts = np.flatnonzero(is_new)
    sums = (sorted_table.rows, sorted_table.weight, sorted_table.weight_sq)
    return [key[starts] for key in keys] + [np.add.reduceat(column, starts) for column in sums]


def pair(place: str, printed: float, expected: float) -> Comparison:
    """A number, and what the rest of the report gives instead."""
    given = "the rest of the report gives"
    one, other = (int(n) if float(n).is_integer() else float(n) for n in (printed, expected))
    return Comparison(place, one, other, SUM_ROUNDING, given)


def _sums_of_models(report: Report) -> Iterator[Comparison]:
    """The shown model has the numbers of the analysis, and differences are those of the metrics."""
    part, analysis = report.parts.models if report.parts else None, report.analysis
    if part is None:
        return
    matrix = analysis.multiclass
    results = analysis.methods if matrix is None else matrix.results
    for method in part.comparison.methods:
        best = part.comparison.models[part.comparison.best(method)].metrics[method]
        for name, model in part.comparison.models.items():
            place = f"parts.models.comparison.models.{name}"
            of_method = model.metrics[method]
            for key, change in model.differences[method].items():
                at = f"{place}.differences.{method}.{key}.value"
                yield pair(at, change.value, of_method[key].value - best[key].value)
            if name == part.shown and method in results:
                of_analysis = results[method].metrics["log_loss"].value
                at = f"{place}.metrics.{method}.log_loss.value"
                yield pair(at, of_method["log_loss"].value, of_analysis)


def _sums(report: Report) -> Iterator[Comparison]:
    """The sums of a report: each table has all rows, and differences are those of its numbers."""
    analysis, data, parts = report.analysis, report.analysis.data, report.parts
    weight = report.evidence.scores("uncalibrated").total_weight

    for key, method in analysis.methods.items():
        place, rows = f"analysis.methods.{key}", report.evidence.rows(key)[0]
        cells, curve = rows.cells(), method.reliability
        n_positive = rows.counts[rows.outcome].sum()
        if key == "uncalibrated":
            yield pair("analysis.data.n_positive", data.n_positive, n_positive)
            yield pair("analysis.data.base_rate", data.base_rate, cells.base_rate)
            yield pair("analysis.data.mean_score", data.mean_score, cells.mean_score)
        yield pair("analysis.data.n_rows", data.n_rows, rows.n_rows)
        yield pair(f"evidence.methods, the weight of {key}", cells.total_weight, weight)
        yield pair(f"{place}.reliability.rows", curve.rows.sum(), data.n_rows)
        yield pair(f"{place}.reliability.weight", curve.weight.sum(), weight)
        yield pair(f"{place}.reliability.positive", curve.positive.sum(), cells.total_positive)
        yield pair(f"{place}.histogram", method.histogram.sum(), weight)
        for name in ("log_loss", "brier_score"):
            before, after = analysis.uncalibrated.metrics[name], method.metrics[name]
            change = method.differences[name].value
            yield pair(f"{place}.differences.{name}.value", change, after.value - before.value)
        for i, part in enumerate(parts.slices if parts else ()):
            if key in part.gaps and not part.n_left_out:
                at, gaps = f"parts.slices[{i}].gaps.{key}", part.gaps[key]
                yield pair(f"{at}.rows", gaps.rows.sum(), data.n_rows)
                yield pair(f"{at}.positives", gaps.positives.sum(), n_positive)
        if parts and parts.periods and key in parts.periods.tables:
            table = parts.periods.tables[key]
            timed = table.rows.sum() + table.n_missing
            yield pair(f"parts.periods.tables.{key}.rows", timed, data.n_rows)
        if parts and parts.decisions and key in parts.decisions.table.methods:
            decided = parts.decisions.table.methods[key].n_rows
            yield pair(f"parts.decisions.table.methods.{key}, all rows", decided, weight)
    yield from _sums_of_models(report)
    fitted = analysis.fitted_reliability.rows.sum()
    yield pair("analysis.fitted_reliability.rows", fitted, data.n_calibration)
