"""Which values of a report are verified, and whether they are what its counts give."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any

from calib.reports.contents.evidence import Evidence
from calib.reports.proof.expected_curves import RELATED
from calib.reports.proof.expected_values import expected
from calib.reports.proof.recomputing import WORDS, Difference, Json
from calib.reports.report import Report
from calib.text import count, joined

# The share of the larger end of a range by which a value may be beyond it: curves have nine digits.
SLACK = 1e-8
# Places of the counts, and of those values that are always compared.
COUNTS = ("evidence.", "seal.")
FIXED = re.compile(r"schema_version$|contains$|settings_changed\[")
RECOMPUTED = ("analysis.", "parts.")
# The names of values that are not verified, by a pattern of their place.
KINDS = {
    r"\.function\.": "fitted calibrators",
    r"\.histogram": "histograms",
    r"\.recalibrated": "smooth rates",
    r"\.(low|high|\w+_low|\w+_high)(\[\d+\])?$": "ends of intervals and bands",
    r"noise_floor$|resolution$|null_half_width$": "chance levels and resolutions",
    r"^parts\.decisions": "decisions",
    r"\.multiclass\.": "results of all classes",
    r"\.tests\.|\.ks\.|p_value|\.z\[": "tests",
    r"\.(metrics|differences)\.": "metrics and differences",
    r"\.(reliability|cumulative|fitted_reliability)\.": "points of curves that lie near 0",
    r"^analysis\.settings": "settings",
    r"^(analysis\.data|analysis\.warnings|parts)|^(?!analysis)": "names, texts and remarks",
    "": "other values",
}


@dataclass(frozen=True, slots=True, eq=False)
class CheckedValues:
    """The values of a report by their place, and which of them can be verified."""

    leaves: Mapping[str, Any]
    # See `calib.reports.proof.expected_values`. It is empty if everything is recomputed.
    expected: Mapping[str, Any]
    free: tuple[str, ...]  # places of values that are not verified

    @classmethod
    def of(cls, report: Report, evidence: Evidence, printed: Json) -> CheckedValues:
        leaves = {place: v for place, v in _leaves(printed) if not place.startswith(COUNTS)}
        if evidence.is_refitted:
            free = [at for at in leaves if WORDS.match(at) or not at.startswith(RECOMPUTED)]
            return cls(leaves, {}, tuple(at for at in free if not FIXED.match(at)))
        found = expected(report, evidence)
        free = [
            at
            for at, value in leaves.items()
            if not FIXED.match(at) and (at not in found or _is_loose(value, found[at]))
        ]
        return cls(leaves, found, tuple(free))

    def wrong(self) -> Iterator[Difference]:
        """The values that are not what the counts or other values give."""
        for place, allowed in self.expected.items():
            value = self.leaves.get(place)
            if not _fits(value, allowed):
                yield Difference(place, value, _nearest(value, allowed))

    @property
    def not_verified(self) -> str:
        """What is not verified, with the number of its values."""
        found = Counter(
            next(name for pattern, name in KINDS.items() if re.search(pattern, place))
            for place in self.free
        )
        said = joined([f"{name} ({count(n)})" for name, n in found.most_common()])
        return f"{count(len(self.free))} values: {said}."


def _is_loose(value: Any, allowed: Any) -> bool:
    """Whether half of a number more, or half of it less, could pass as well."""
    if not (isinstance(allowed, tuple) and type(value) in (int, float)):
        return False
    return any(_fits(share * value, allowed) for share in (0.5, 1.5)) if value else False


def _fits(value: Any, allowed: Any) -> bool:
    if allowed is RELATED:
        return True
    if not isinstance(allowed, tuple):
        return bool(value == allowed and type(value) is type(allowed))
    if type(value) not in (int, float):
        return value is None and isnan(allowed[0])
    slack = SLACK * max(1.0, abs(allowed[0]), abs(allowed[1]))
    return bool(allowed[0] - slack <= value <= allowed[1] + slack)


def _nearest(value: Any, allowed: Any) -> Any:
    if not isinstance(allowed, tuple) or type(value) not in (int, float):
        return allowed
    return allowed[0] if value < allowed[0] else allowed[1]


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a JSON document with their places."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _leaves(each, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from _leaves(each, f"{place}[{i}]")
    else:
        yield place, value
