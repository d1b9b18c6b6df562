"""A verdict in words: one heading and one sentence, from its answer, its kind and its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

Answer = Literal["not calibrated", "no evidence", "inconclusive"]
Kind = Literal[
    "calibrated",
    "overconfident",
    "underconfident",
    "too high",
    "too low",
    "uneven",
    "reversed",
    "uninformative",
    "some classes",
    "unknown",
]
HEADINGS: Mapping[Answer, str] = {
    "not calibrated": "Not calibrated",
    "no evidence": "No evidence of miscalibration",
    "inconclusive": "Inconclusive",
}
# A text ends a sentence such as "These probabilities are ...". The name of any other kind does so
# itself: "overconfident".
KINDS: Mapping[str, str] = {
    "uneven": "too high in some ranges, too low in others",
    "reversed": "in reverse order",
    "some classes": "wrong in some classes",
}
TEST_NAMES = {
    "ks": "KS calibration error",
    "kuiper": "Kuiper error",
    "spiegelhalter": "Spiegelhalter z",
    "hosmer_lemeshow": "Hosmer-Lemeshow χ²",
    "line": "Slope and intercept χ²",
}
# Beside a p-value the statistic is known.
SHORT_TEST_NAMES = {
    "ks": "KS",
    "kuiper": "Kuiper",
    "spiegelhalter": "Spiegelhalter",
    "hosmer_lemeshow": "Hosmer-Lemeshow",
    "line": "slope and intercept",
}


def kind_words(kind: str) -> str:
    return KINDS.get(kind, kind)


def heading(answer: Answer, kind: Kind) -> str:
    """The answer in a few words, with the kind of the miscalibration if there is one.

    >>> heading("not calibrated", "reversed"), heading("inconclusive", "unknown")
    ('Not calibrated: in reverse order', 'Inconclusive')
    """
    if answer == "not calibrated":
        return f"{HEADINGS[answer]}: {kind_words(kind)}"
    return HEADINGS[answer]


def summary(answer: Answer, kind: Kind) -> str:
    """The answer within a sentence, for example after the name of a method and a colon.

    >>> summary("not calibrated", "too high"), summary("no evidence", "calibrated")
    ('too high', 'no evidence of miscalibration')
    """
    return kind_words(kind) if answer == "not calibrated" else HEADINGS[answer].lower()


def body(finding: str, evidence: str) -> str:
    """What follows a heading: what was found, and the test on which it is based."""
    return f"{finding} ({evidence})" if evidence else finding


def after(label: str, summary: str, body: str, notes: Sequence[str]) -> str:
    """The verdict of held-out calibrated scores in sentences that name the calibrator."""
    return " ".join(filter(None, (f"After {label}: {summary}.", body, *notes)))
