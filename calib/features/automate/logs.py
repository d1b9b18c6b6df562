"""The records of a log: what was asked and answered, and labels beside it, of every writer.

A record has one state and the answers to its questions. Some writers have a line per record, others
a line per answer, whose records have the same id. Types of lines can be mixed in a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from calib.features.automate.answers import (
    FAILED,
    KINDS,
    Answer,
    Failure,
    Kind,
    answer_of,
    asked_names,
    digest_of,
    named_answers,
    options_of,
)
from calib.loading.logs.rows import as_list, as_object, name_of, text_of

# A second file of labels identifies a record by one of these.
ID_KEYS = ("id", "request_id", "decision_id", "state_hash", "row", "idx", "run_id", "trace_id")
STATE_KEYS = ("state", "input")
LABEL_KEYS = ("labels", "gold", "label")


class Wording(NamedTuple):
    """What is known of a question beside its name."""

    digest: str = ""
    kind: Kind | None = None
    options: tuple[str | bool, ...] = ()


UNKNOWN_WORDING = Wording()


class Unanswered(NamedTuple):
    """A question of a record that has no answer."""

    name: str
    failure: Failure
    type: str
    wording: Wording
    model: str
    version: str


@dataclass(slots=True)
class Answers:
    """The answers to one question in one wording, of one version, each with its record."""

    name: str
    kind: Kind | None
    wording: Wording
    model: str
    version: str
    records: list[int] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    failures: Counter[Failure] = field(default_factory=Counter)


class Label(NamedTuple):
    """A label for the question of this name, or for the only question if it has none.

    `ids` name its record.
    """

    name: str | None
    value: Any
    ids: tuple[str, ...] = ()


@dataclass(slots=True)
class Log:
    """What was read.

    `answers` are by question, wording, version and kind. `labels` are those beside the answers, by
    question and record, and `labels_apart` all others.
    `states` has the digest of the state of each record, or "", and `meta` what else is known of it.
    `failed` are records without any answer, of which it is not known what was asked. `unread`
    counts lines that are no part of any log.
    """

    answers: dict[tuple[Hashable, ...], Answers] = field(default_factory=dict)
    unanswered: list[Unanswered] = field(default_factory=list)
    labels: dict[str | None, dict[int, Any]] = field(default_factory=dict)
    labels_apart: list[Label] = field(default_factory=list)
    failed: list[tuple[int, Failure]] = field(default_factory=list)
    ids: list[tuple[str, ...]] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    meta: list[Mapping[str, Any]] = field(default_factory=list)
    unread: int = 0
    without_details: int = 0
    _by_key: dict[str, int] = field(default_factory=dict)
    _questions: Any = None
    _wordings: dict[str, Wording] = field(default_factory=dict)
    _open_calls: dict[str, int] = field(default_factory=dict)

    def add(self, ids: Iterable[str], state: str = "", meta: Any = None) -> int:
        """Add a record."""
        self.ids.append(tuple(ids))
        self.states.append(state)
        self.meta.append(as_object(meta))
        return len(self.ids) - 1

    def record_of(self, key: str, ids: Iterable[str], state: str = "", meta: Any = None) -> int:
        """The record of a key that several lines share."""
        if key not in self._by_key:
            self._by_key[key] = self.add(ids, state, meta)
        return self._by_key[key]

    def answer(
        self,
        record: int,
        name: str,
        answer: Answer,
        wording: Wording = UNKNOWN_WORDING,
        model: str = "",
        version: str = "",
    ) -> None:
        """Add the answer to a question, or its failure."""
        if answer.failure is not None:
            failed = Unanswered(name, answer.failure, answer.type, wording, model, version)
            self.unanswered.append(failed)
            return
        key = (name, wording.digest, version or model, answer.kind)
        of_question = self.answers.get(key)
        if of_question is None:
            of_question = Answers(name, answer.kind, wording, model, version)
            self.answers[key] = of_question
        of_question.records.append(record)
        of_question.answers.append(answer)

    def label(self, record: int, name: str | None, value: Any) -> None:
        """Add a label beside an answer."""
        if value is not None:
            self.labels.setdefault(name, {})[record] = value

    def wordings(self, questions: Any) -> dict[str, Wording]:
        """The wordings of the questions of a request. Most requests ask the same."""
        if not isinstance(questions, dict | list):
            return {}
        # Answers in a list are named by the order of the questions.
        if questions != self._questions or [*questions] != [*self._questions]:
            self._questions = questions
            self._wordings = {
                name: wording_of(question) for name, question in asked_names(questions)
            }
        return self._wordings


def wording_of(question: Mapping[str, Any], digest: str = "") -> Wording:
    """What the definition of a question says."""
    if not question:
        return Wording(digest)
    kind = KINDS.get(str(question.get("type")))
    return Wording(digest or digest_of(question), kind, options_of(question))


def read(log: Log, lines: Iterable[dict[str, Any]]) -> None:
    """Read the objects of a file into a log."""
    for line in _unwrapped(lines):
        _reader_of(line)(log, line)


def _unwrapped(lines: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The lines, and those of pages, which hold a list of them."""
    for line in lines:
        pages = [line[key] for key in ("data", "scores", "feedback") if key in line]
        if pages and isinstance(pages[0], list) and "answers" not in line:
            yield from map(as_object, pages[0])
        else:
            yield line


def _reader_of(line: Mapping[str, Any]) -> Callable[[Log, dict[str, Any]], None]:
    if "question_hash" in line:
        return _jev_eval
    if "parse_status" in line and "expected" in line:
        return _judge_audit
    if "qid" in line and line.get("kind") in ("call", "outcome"):
        return _jev_trust
    if "dataType" in line and "name" in line:
        return _langfuse
    if "key" in line and "feedback_source" in line:
        return _langsmith
    return _wire


def _texts(*values: Any) -> tuple[str, ...]:
    return tuple(name_of(value) for value in values if value is not None and value != "")


def _jev_eval(log: Log, line: dict[str, Any]) -> None:
    """A line of the cache of jev-eval: one question of one row."""
    state, row = name_of(line.get("state_hash")), name_of(line.get("row"))
    record = log.record_of(f"row {row}", _texts(row, state), state, line.get("meta"))
    answer, model = line.get("answer"), name_of(line.get("model"))
    failure: Failure = "error" if line.get("error") else "missing"
    name = name_of(line.get("id"))
    wording = wording_of(as_object(line.get("question")), name_of(line["question_hash"]))
    made = FAILED[failure] if answer is None else answer_of(answer)
    log.answer(record, name, made, wording, model, model)
    log.label(record, name, line.get("gold"))


def _judge_audit(log: Log, line: dict[str, Any]) -> None:
    """A judgment of judge-audit. Its confidence is not read if it has the answer itself."""
    idx, raw = name_of(line.get("idx")), as_object(line.get("raw"))
    record = log.record_of(f"idx {idx}", _texts(idx), meta=line.get("meta"))
    name = name_of(line.get("question"))
    if line["parse_status"] == "no_answer":
        answer = FAILED["missing"]
    elif isinstance(raw.get("answer"), dict):
        answer = answer_of(raw["answer"])
    else:
        decided = text_of(line.get("decision"))
        answer = Answer("choice", decided=decided, confidence=line.get("confidence"))
    version = name_of(raw.get("served"))
    log.answer(record, name, answer, version=version)
    log.label(record, name, line["expected"])


def _jev_trust(log: Log, line: dict[str, Any]) -> None:
    """A call of jev-trust, or an outcome, which belongs to the last call of its question."""
    qid = name_of(line["qid"])
    if line["kind"] == "outcome":
        if (record := log._open_calls.pop(qid, None)) is not None:
            log.label(record, None, line.get("truth"))
        return
    record = log.add(_texts(line.get("rid"), qid))
    decided = text_of(line.get("decision"))
    answer = Answer("choice", decided=decided, confidence=line.get("stated_confidence"))
    log.answer(record, name_of(line.get("domain")) or "decision", answer)
    log._open_calls[qid] = record


def _langfuse(log: Log, line: dict[str, Any]) -> None:
    """A score of Langfuse: an answer of a decision model, or the annotation of a person."""
    subject = as_object(line.get("subject"))
    ids = _texts(subject.get("id"), subject.get("traceId"), line.get("traceId"))
    record = log.record_of(f"subject {next(iter(ids), '')}", ids)
    if str(line.get("source", "")).upper() == "ANNOTATION":
        log.label(record, name_of(line["name"]), line.get("value"))
        return
    metadata = as_object(line.get("metadata"))
    details = as_object(metadata.get("typesafe") or metadata.get("openai"))
    if not details:
        log.without_details += 1
        return
    answer = dict(details)
    if KINDS.get(str(details.get("type"))) == "yes/no":
        answer.setdefault("probability", line.get("value"))
    elif details.get("type") == "choice":
        answer.setdefault("choice", line.get("value"))
    name = name_of(details.get("questionId")) or name_of(line["name"])
    version = name_of(details.get("model"))
    log.answer(record, name, answer_of(answer), version=version)


def _langsmith(log: Log, line: dict[str, Any]) -> None:
    """Feedback of LangSmith: an answer of a decision model with its correction, or of a person."""
    ids = _texts(line.get("run_id"), line.get("trace_id"))
    record = log.record_of(f"run {next(iter(ids), '')}", ids)
    name = name_of(line["key"])
    metadata = as_object(as_object(line["feedback_source"]).get("metadata"))
    details = as_object(metadata.get("typesafe") or metadata.get("openai"))
    value = line.get("value") if line.get("value") is not None else line.get("score")
    if not details:
        log.label(record, name, value)
        return
    answer = as_object(details.get("answer")) or details
    version = name_of(details.get("model"))
    log.answer(record, name, answer_of(answer), version=version)
    correction = line.get("correction")
    if isinstance(correction, dict):
        correction = correction.get("value", correction.get("score"))
    log.label(record, name, correction)


def _wire(log: Log, line: dict[str, Any]) -> None:
    """A response, perhaps with its request and labels; a request with labels; or labels alone."""
    envelope = as_object(line.get("response")) or line
    result = envelope.get("result")
    response = result if isinstance(result, dict) else envelope
    request = as_object(line.get("request")) or line
    state = next((digest_of(one[k]) for one in (request, line) for k in STATE_KEYS if k in one), "")
    stated = (one.get(key) for key in ID_KEYS for one in (line, request, response))
    ids = tuple(dict.fromkeys((*_texts(*stated), *_texts(state))))
    labels = _labels(line)
    answers = response.get("answers")
    failure = _failure(envelope, response) if answers is None else None
    if "answers" not in response and failure is None:
        log.labels_apart += [Label(name, value, ids) for name, value in labels]
        log.unread += not labels and "dataset" not in line
        return
    meta = line.get("meta") or line.get("_meta")
    record = log.add(ids, state or name_of(line.get("state_hash")), meta)
    for name, value in labels:
        log.label(record, name, value)
    wordings = log.wordings(request.get("questions"))
    # A response names the version that answered, and a request what was asked for.
    version = name_of(response.get("model"))
    model = name_of(request.get("model")) or version
    of_labels = (name for name, _ in labels if name is not None)
    unanswered = dict.fromkeys([*wordings, *of_labels], FAILED[failure or "missing"])
    if failure and not unanswered:
        log.failed.append((record, failure))
    answered = dict(named_answers(answers, [*wordings]))
    for name, answer in (unanswered | answered).items():
        log.answer(record, name, answer, wordings.get(name, UNKNOWN_WORDING), model, version)


def _failure(envelope: Mapping[str, Any], response: Mapping[str, Any]) -> Failure | None:
    """Why a response has no answers; None if it is none."""
    if as_object(response.get("prompt_feedback")).get("block_reason"):
        return "blocked"
    if envelope.get("success") is False or response.get("error"):
        return "error"
    detail = response.get("detail")
    return "error" if isinstance(detail, dict) or as_list(detail) else None


def _labels(line: Mapping[str, Any]) -> list[tuple[str | None, Any]]:
    """The labels of a line by question; those without a name are of the only question."""
    value = next((line[key] for key in LABEL_KEYS if line.get(key) is not None), None)
    if value is None:
        return []
    if isinstance(value, dict) and "labels" in line:
        return [(str(name), one) for name, one in value.items()]
    question = line.get("question")
    return [(question if isinstance(question, str) else None, value)]
