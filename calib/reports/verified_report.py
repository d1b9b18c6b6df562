"""Verify that the numbers of a report follow from the counts that it contains."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from calib.distribution import __version__
from calib.reports.contents.codec import ReportError, encode
from calib.reports.contents.evidence import SLICE, TIME, Evidence
from calib.reports.contents.structure import Parts
from calib.reports.proof.expected_values import RELATED, expected
from calib.reports.proof.recomputing import (
    ROUNDING,
    UNCOUNTED_PLACES,
    WORDS,
    Difference,
    Json,
    refitted_differences,
)
from calib.reports.proof.sealing import public_key, seal_problem, signer
from calib.reports.report import Report, changed_settings, read_json, versions
from calib.text import count, joined, listed, quoted

# A value may lie beyond its range by this share of the larger end, because curves have nine digits.
RELATIVE_SLACK = 1e-8
# The counts themselves are not verified.
COUNT_PLACES = ("evidence.", "seal.")
RECOMPUTED_PLACES = ("analysis.", "parts.")
# The names of values that are not verified are found by a pattern of their place.
UNVERIFIED_KINDS = {
    WORDS: "names, texts and remarks",
    r"^parts\.judge": "numbers of the judge",
    r"^analysis\.recommendation\.plan": "values of the recommended plan",
    r"\.function\.": "fitted calibrators",
    r"\.histogram": "histograms",
    r"\.recalibrated": "smooth rates",
    r"\.(low|high|\w+_low|\w+_high)(\[\d+\])?$": "ends of intervals and bands",
    r"noise_floor$|resolution$|null_half_width$": "chance levels and resolutions",
    r"^parts\.(decisions|certificate)": "decisions",
    r"\.multiclass\.": "results of all classes",
    r"\.tests\.|\.ks\.|p_value|\.z\[": "tests",
    r"\.(metrics|differences)\.": "metrics and differences",
    r"\.(reliability|cumulative|fitted_reliability)\.": "points of curves that lie near 0",
    r"^analysis\.settings": "settings",
    r"^(analysis\.data|analysis\.warnings|parts)|^(?!analysis)": "names, texts and remarks",
    "": "other values",
}


UNSEEN_REMOVAL = (
    "Whether decisions, a certificate, notes or warnings were removed: the counts do not show it."
)


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
    n_verified : int
        Number of values that follow from the counts, or from other values of the report.
    n_not_verified : int
        Number of values, with all words, that anyone could change who seals the report again.
    not_verified : tuple of str
        Sentences: what was not verified.
    same_versions : bool
        Whether the report was made with exactly the versions that are installed.
    """

    report: Report
    signer: str
    n_verified: int
    n_not_verified: int
    not_verified: tuple[str, ...]
    same_versions: bool

    @property
    def sentence(self) -> str:
        """The result in words."""
        evidence = self.report.evidence
        if evidence.grade == "guarded":
            # Merged cells allow a range of values, so nothing is reproduced exactly.
            result = (
                f"consistent: {self.n_verified:,} values are within what its merged cells allow"
            )
        else:
            is_exact = evidence.can_be_refitted and self.same_versions
            how = "to the last bit" if is_exact else f"to {ROUNDING:g}"
            result = f"pass: {self.n_verified:,} values recomputed, equal {how}"
        signed = f"signed by {self.signer}" if self.signer else "not signed"
        return f"{result}; {self.n_not_verified:,} not verified; sealed, {signed}"


def verify_report(
    source: str | bytes | Path, *, signed_by: str | bytes | Path | None = None
) -> VerifiedReport:
    """Recompute a report from the counts that it contains, and compare numbers, keys and kinds.

    Words are not compared, because another version of calib may write them differently. The seal
    shows whether they were changed.

    Parameters
    ----------
    source : path, str or bytes
        A report.json, as in `Report.open`.
    signed_by : path, str or bytes, optional
        Public Ed25519 key, or its file, that must have signed the report.

    Raises
    ------
    NotVerified
        If a number, a band or the kind of the verdict differs, or a method, slices or periods of
        the counts are not in the report (the message names it), the seal is broken, or another key
        signed.
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
    calib.reports.verified_report.NotVerified: The seal is broken: the report was changed after it \
was made. analysis.data.n_positive is 890; the cells give 891.
    """
    data = read_json(source)
    report = Report.open_json(data)
    evidence = report.evidence
    sentences = [seal_problem(data, report.seal), _other_signer(report, signed_by)]
    sentences.append(_removed(report))
    printed = encode(report)
    try:
        values = ReportValues.of(report, evidence, printed)
        wrong = next(_all_differences(report, evidence, printed, values), None)
        sentences += [] if wrong is None else [f"{wrong.sentence}.", _other_version(report)]
    except (ArithmeticError, LookupError, ValueError) as error:
        # No rows can have such counts. Which calculation fails first depends on what was changed.
        sentences.append(f"The cells contradict each other ({type(error).__name__}: {error}).")
    if any(sentences):
        raise NotVerified(" ".join(filter(None, sentences)))
    return VerifiedReport(
        report=report,
        signer=signer(report.seal),
        n_verified=len(values.leaves) - len(values.unverified),
        n_not_verified=len(values.unverified),
        not_verified=(*evidence.needs_rows, values.not_verified, UNSEEN_REMOVAL),
        same_versions=dict(report.versions) == versions(),
    )


def _removed(report: Report) -> str:
    """A sentence that names what the counts have and the report does not show, or ""."""
    evidence, parts = report.evidence, report.parts or Parts()
    shown = {SLICE.format(i) for i in range(len(parts.slices))}
    shown |= set() if parts.periods is None else {TIME}
    names = {
        key: quoted(key) for key in dict.fromkeys(part.model for part in evidence.methods.parts)
    }
    removed = [
        f"the method {name}" for key, name in names.items() if key not in report.analysis.methods
    ]
    for column in evidence.columns:
        if column not in shown:
            values = dict.fromkeys(p.value for p in evidence.methods.parts if p.column == column)
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


def _all_differences(
    report: Report, evidence: Evidence, printed: Json, values: ReportValues
) -> Iterator[Difference]:
    """All differences between the report and its counts."""
    earlier, changed = _is_earlier(report), changed_settings(report.analysis)
    if not earlier and report.settings_changed != changed:
        yield Difference("settings_changed", list(report.settings_changed), list(changed))
    if evidence.is_refitted:
        same = dict(report.versions) == versions()
        yield from refitted_differences(report, evidence, printed, earlier=earlier, to_the_bit=same)
    else:
        yield from values.wrong()
        yield from _other_totals(report, evidence)


def _other_totals(report: Report, evidence: Evidence) -> Iterator[Difference]:
    """All methods score the same rows. Each method ranks the classes of a matrix itself."""
    of_matrix = report.analysis.multiclass is not None
    reference = evidence.scores("uncalibrated")
    for key in report.analysis.methods:
        cells = evidence.scores(key)
        pairs = [("rows", float(cells.n_rows), float(reference.n_rows))]
        if not of_matrix:
            pairs.append(("positive rows", cells.total_positive, reference.total_positive))
        for name, total, reference_total in pairs:
            if abs(total - reference_total) > RELATIVE_SLACK * max(1.0, reference_total):
                yield Difference(f"evidence.methods, {name} of {key}", total, reference_total)


@dataclass(frozen=True, slots=True, eq=False)
class ReportValues:
    """The values of a report by their place, and which of them can be verified."""

    leaves: Mapping[str, Any]
    # See `calib.reports.proof.expected_values`. It is empty if everything is recomputed.
    expected: Mapping[str, Any]
    unverified: tuple[str, ...]  # These are the places of values that are not verified.

    @classmethod
    def of(cls, report: Report, evidence: Evidence, printed: Json) -> ReportValues:
        leaves = {place: v for place, v in _leaves(printed) if not place.startswith(COUNT_PLACES)}
        compared = _compared_places(report)
        if evidence.is_refitted:
            unverified = [
                at
                for at in leaves
                if UNCOUNTED_PLACES.match(at) or not at.startswith(RECOMPUTED_PLACES)
            ]
            return cls(leaves, {}, tuple(at for at in unverified if not at.startswith(compared)))
        allowed = expected(report, evidence)
        unverified = [
            at
            for at, value in leaves.items()
            if not at.startswith(compared) and (at not in allowed or _is_loose(value, allowed[at]))
        ]
        return cls(leaves, allowed, tuple(unverified))

    def wrong(self) -> Iterator[Difference]:
        """The values that are not what the counts or other values give."""
        for place, allowed in self.expected.items():
            value = self.leaves.get(place)
            if not _is_allowed(value, allowed):
                yield Difference(place, value, _nearest(value, allowed))

    @property
    def not_verified(self) -> str:
        """What is not verified, with the number of its values."""
        numbers = Counter(
            next(name for pattern, name in UNVERIFIED_KINDS.items() if re.search(pattern, place))
            for place in self.unverified
        )
        said = joined([f"{name} ({count(n)})" for name, n in numbers.most_common()])
        return f"{count(len(self.unverified))} values: {said}."


def _compared_places(report: Report) -> tuple[str, ...]:
    """Beginnings of the places that are compared with something else than the counts.

    `settings_changed` depends on the defaults, which are those of the version that made the report.
    """
    return ("schema_version",) if _is_earlier(report) else ("schema_version", "settings_changed[")


def _is_loose(value: Any, allowed: Any) -> bool:
    """Whether a number half as large, or half larger, would be allowed too."""
    if not (isinstance(allowed, tuple) and type(value) in (int, float)):
        return False
    return any(_is_allowed(share * value, allowed) for share in (0.5, 1.5)) if value else False


def _is_allowed(value: Any, allowed: Any) -> bool:
    if allowed is RELATED:
        return True
    if not isinstance(allowed, tuple):
        return bool(value == allowed and type(value) is type(allowed))
    if type(value) not in (int, float):
        return value is None and isnan(allowed[0])
    slack = RELATIVE_SLACK * max(1.0, abs(allowed[0]), abs(allowed[1]))
    return bool(allowed[0] - slack <= value <= allowed[1] + slack)


def _nearest(value: Any, allowed: Any) -> Any:
    if not isinstance(allowed, tuple) or type(value) not in (int, float):
        return allowed
    return allowed[0] if value < allowed[0] else allowed[1]


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a JSON document with their places."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _leaves(item, f"{place}[{i}]")
    else:
        yield place, value
