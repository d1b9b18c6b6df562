"""The typed answers of decision models, in the shapes of their vendors.

Shape A (TypeSafe, and those that copy it) and C (Google) name each answer in an object; shape B
(OpenAI) is a list in the order of the questions. What differs between vendors is read here, and
nowhere else. `confidence` is defined in at least five ways, so it is never read as a probability.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from calib.loading.logs.rows import as_list, as_object, name_of

Kind: TypeAlias = Literal["yes/no", "choice", "score"]
# Why a question that was asked has no answer. "skipped" is a type without probabilities.
Failure: TypeAlias = Literal["refused", "blocked", "error", "missing", "skipped"]
FAILURES: tuple[Failure, ...] = ("refused", "blocked", "error", "missing", "skipped")
KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("noul", "predicate", "boolean", "bool", "yes/no"), "yes/no"),
    "choice": "choice",
    "score": "score",
}
NO, YES = "false", "true"
DIGEST_LENGTH = 16  # Hexadecimal digits, as jev-eval writes them.


class Answer(NamedTuple):
    """One answer, or the reason why there is none.

    Attributes
    ----------
    kind : Kind or None
        None if there is no answer, because a refusal does not say what was asked.
    options : tuple
        What the probabilities belong to: options of a choice (text or bool), numbers of levels of a
        score as text, or `YES`.
    probabilities : tuple
        As they are written, which may be no numbers; empty if there are none.
    decided : str, bool or None
        The stated option of a choice; None for other kinds, whose answer follows from the
        probabilities.
    confidence : object
        As it is written. It is only read if there are no probabilities.
    levels : tuple of str
        The texts of the levels of a score, the lowest first; empty if they are not known.
    failure : Failure or None
    type : str
        The type as it is written.
    """

    kind: Kind | None = None
    options: tuple[Hashable, ...] = ()
    probabilities: tuple[Any, ...] = ()
    decided: str | bool | None = None
    confidence: Any = None
    levels: tuple[str, ...] = ()
    failure: Failure | None = None
    type: str = ""


FAILED: Mapping[Failure, Answer] = {failure: Answer(failure=failure) for failure in FAILURES}


def digest_of(value: Any) -> str:
    """The digest of a question or of a state: of its JSON, with sorted keys and without blanks.

    >>> digest_of({"type": "noul", "instructions": "Is it urgent?"})
    '1cf60f5e3a18e21c'
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return digest[:DIGEST_LENGTH]


def named_answers(answers: Any, asked: Sequence[str] = ()) -> Iterator[tuple[str, Answer]]:
    """The answers of one record, by the names of their questions.

    An answer of a list may have no name. The question at its position is then meant: one of those
    that were asked, or else its number, from 1.

    >>> dict(named_answers([{"type": "predicate", "name": None, "probability": 0.9}]))["1"].kind
    'yes/no'
    """
    if isinstance(answers, dict):
        yield from ((str(name), answer_of(answer)) for name, answer in answers.items())
        return
    for place, answer in enumerate(as_list(answers)):
        by_place = asked[place] if place < len(asked) else str(place + 1)
        yield name_of(as_object(answer).get("name")) or by_place, answer_of(answer)


def answer_of(answer: Any) -> Answer:
    """One answer in any shape. A type that has no probabilities is skipped, not an error.

    >>> answer_of({"type": "noul", "noul": 0.91, "confidence": 0.82}).probabilities
    (0.91,)
    >>> answer_of({"type": "box", "top": 0.1}).failure
    'skipped'
    """
    if not isinstance(answer, dict):
        return FAILED["missing" if answer is None else "error"]
    stated = str(answer.get("type") or _type_of(answer))
    if stated == "refusal":
        return FAILED["refused"]
    if answer.get("error") and EVIDENCE.isdisjoint(answer):
        return FAILED["error"]
    kind, confidence = KINDS.get(stated), answer.get("confidence")
    if kind is None:
        return Answer(failure="skipped", type=stated)
    if kind == "yes/no":
        value = answer["noul"] if "noul" in answer else answer.get("probability")
        return Answer(kind, (YES,), (value,), confidence=confidence)
    options, values, labels = _distribution(answer.get("probabilities"))
    if kind == "score":
        return Answer(kind, options, values, None, confidence, labels or _levels(answer))
    decided = answer.get("choice")
    decided = decided if isinstance(decided, str | bool) else None
    return Answer(kind, options, values, decided, confidence)


# An answer with one of these is none that failed.
EVIDENCE = {"noul", "probability", "choice", "score", "probabilities"}


def _type_of(answer: Mapping[str, Any]) -> str:
    """The type of an answer that does not name it, as gateways write them."""
    if "noul" in answer or "probability" in answer:
        return "noul"
    if "choice" in answer:
        return "choice"
    return "score" if "score" in answer else ""


def _distribution(
    probabilities: Any,
) -> tuple[tuple[Hashable, ...], tuple[Any, ...], tuple[str, ...]]:
    """Options, their probabilities, and the labels of levels, of an object or a list."""
    if isinstance(probabilities, dict):
        return tuple(probabilities), tuple(probabilities.values()), ()
    parts = [as_object(part) for part in as_list(probabilities)]
    values = [part.get("value") for part in parts]
    options = tuple(v if isinstance(v, str | bool) else name_of(v) for v in values)
    labels = tuple(str(part["label"]) for part in parts if part.get("label") is not None)
    # The label of a level has the place of its number, not that in the list.
    if len(labels) == len(parts) and all(isinstance(value, int) for value in values):
        labels = tuple(label for _, label in sorted(zip(values, labels, strict=True)))
    return options, tuple(part.get("probability") for part in parts), labels


def _levels(answer: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts of levels, of a legend that is an object by number, or a list."""
    legend = answer.get("legend")
    if isinstance(legend, dict) and all(str(key).isdecimal() for key in legend):
        return tuple(str(legend[key]) for key in sorted(legend, key=int))
    return tuple(map(str, as_list(legend)))


def options_of(question: Mapping[str, Any]) -> tuple[str | bool, ...]:
    """The options of a question, or its levels, the lowest first; empty if they are not names."""
    stated = question.get("criteria", question.get("options"))
    if isinstance(stated, dict):
        return tuple(stated) if question.get("type") == "choice" else ()
    values = [one.get("value") if isinstance(one, dict) else one for one in as_list(stated)]
    options = tuple(value for value in values if isinstance(value, str | bool))
    return options if len(options) == len(values) else ()


def asked_names(questions: Any) -> list[tuple[str, dict[str, Any]]]:
    """The names and definitions of the questions of a request: an object, or a list with names."""
    if isinstance(questions, dict):
        return [(str(name), as_object(question)) for name, question in questions.items()]
    return [
        (name_of(as_object(question).get("name")) or str(number), as_object(question))
        for number, question in enumerate(as_list(questions), 1)
    ]
