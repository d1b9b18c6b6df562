"""Logs whose format needs few words: HELM, OpenAI evals, HLE, promptfoo and others."""

from __future__ import annotations

from typing import Any

from calib.loading.logs.rows import (
    JUDGE,
    NO_SOURCE,
    STATED,
    TOKEN,
    Document,
    Log,
    LogRow,
    as_list,
    as_object,
    errors_note,
    name_of,
    number_of,
    of_each_scorer,
    probability_of_log,
    records,
    text_of,
)
from calib.loading.problems import note, refuse, warning
from calib.loading.table import unused
from calib.text import quoted

HELM = "HELM"
HELM_RUN = "run of HELM"
HELM_SCORERS = ("exact_match", "quasi_exact_match")


def read_helm(data: bytes) -> Log:
    """Read the statistics of each instance. The model is named by run_spec.json only."""
    log, splits, n_perturbed = Log(HELM), dict[str, int](), 0
    names = dict[str, None]()
    for record in records(data):
        if record.get("perturbation"):
            n_perturbed += 1
            continue
        values, split = _means_of_helm(as_list(record.get("stats")))
        names |= dict.fromkeys(values)
        splits[split] = splits.get(split, 0) + 1
        confidence = number_of(values.get("max_prob"))
        # An instance without these statistics is counted, but was not scored.
        for scorer in [name for name in HELM_SCORERS if name in values] or [""][: len(values)]:
            log.rows.append(
                LogRow(
                    sample=name_of(record.get("instance_id")),
                    grade=number_of(values.get(scorer)),
                    confidence=confidence,
                    source=NO_SOURCE if confidence is None else TOKEN,
                    scorer=scorer,
                )
            )
    if names and not any(row.scorer for row in log.rows):
        raise refuse("no-exact-match", scorers=" or ".join(HELM_SCORERS), names=list(names))
    of_each_scorer(log)
    if n_perturbed:
        log.notes.append(note("perturbed", n=n_perturbed))
    if len(splits) > 1:
        counts = [f"{quoted(split)} ({n:,})" for split, n in splits.items()]
        log.notes.append(note("splits", splits=counts))
    return log


def _means_of_helm(stats: list[Any]) -> tuple[dict[str, Any], str]:
    """The mean of each statistic of an instance, and its split."""
    values, split = dict[str, Any](), ""
    for stat in map(as_object, stats):
        about, count = as_object(stat.get("name")), number_of(stat.get("count"))
        total = number_of(stat.get("sum"))
        split = split or name_of(about.get("split"))
        if count and total is not None:
            values[name_of(about.get("name"))] = total / count
    return values, split


def read_helm_run(data: bytes) -> Log:
    """The task and the model of a run."""
    document = Document(data)
    run = as_object(document.value())
    document.end()
    adapter = as_object(run.get("adapter_spec"))
    task = name_of(run.get("name")).split(",model=")[0]
    row = LogRow(sample="", grade=None, task=task)
    return Log(HELM_RUN, rows=[row], model=name_of(adapter.get("model")))


OPENAI_EVALS = "OpenAI evals"


def read_openai_evals(data: bytes) -> Log:
    """Read the matches, and the log-probability of the answer if the log has it."""
    log, finished = Log(OPENAI_EVALS), False
    matches = list[tuple[str, dict[str, Any]]]()
    logarithms = dict[str, list[dict[str, Any]]]()
    for event in records(data):
        if "spec" in event:
            spec = as_object(event["spec"])
            log.task = name_of(spec.get("eval_name"))
            log.model = name_of((spec.get("completion_fns") or [spec.get("model_name")])[0])
        finished = finished or "final_report" in event
        sample, about = name_of(event.get("sample_id")), as_object(event.get("data"))
        if event.get("type") == "match":
            matches.append((sample, about))
        elif event.get("type") == "cond_logp":
            logarithms.setdefault(sample, []).append(about)
    for sample, match in matches:
        correct, answer = match.get("correct"), match.get("picked") or match.get("sampled")
        probability = _probability_of_openai_evals(answer, logarithms.get(sample, []))
        log.rows.append(
            LogRow(
                sample=sample,
                grade=float(correct) if isinstance(correct, bool | int) else None,
                confidence=probability,
                source=NO_SOURCE if probability is None else TOKEN,
                scorer="match",
                answer=text_of(answer),
            )
        )
    if not finished:
        log.notes.append(warning("unfinished.report", n=len(matches)))
    return log


def _probability_of_openai_evals(answer: Any, logarithms: list[dict[str, Any]]) -> float | None:
    """The probability of the answer, if one of the completions is the answer."""
    wanted = text_of(answer).strip()
    for event in logarithms:
        if wanted and text_of(event.get("completion")).strip() == wanted:
            return probability_of_log(event.get("logp"))
    return None


HLE = "HLE"
HLE_VALUES = {"yes": 1.0, "no": 0.0}
HLE_FULL = 100.0


def read_hle(data: bytes) -> Log:
    """Read every judged question. Confidences are whole numbers from 0 to 100 in this format."""
    log, document = Log(HLE, task=HLE), Document(data)
    are_plain = list[bool]()
    for question in document.members():
        record = as_object(document.value())
        judged = as_object(record.get("judge_response"))
        are_plain.append(not str(judged.get("confidence")).strip().endswith("%"))
        stated = number_of(judged.get("confidence"))
        log.rows.append(
            LogRow(
                sample=name_of(question),
                grade=HLE_VALUES.get(str(judged.get("correct", "")).casefold()),
                confidence=stated,
                source=NO_SOURCE if stated is None else STATED,
                model=name_of(record.get("model")),
                answer=text_of(judged.get("model_answer")),
                explanation=text_of(judged.get("reasoning")),
            )
        )
    document.end()
    _with_scale_of_hle(log, are_plain)
    return log


def _with_scale_of_hle(log: Log, are_plain: list[bool]) -> None:
    """Divide confidences without a percent sign by 100, unless they are not percentages.

    If some are fractions and others are above 1, they stay as they are, so that a person is asked.
    """
    plain = [
        row.confidence
        for row, is_plain in zip(log.rows, are_plain, strict=True)
        if is_plain and row.confidence is not None
    ]
    fractions = any(0.0 < confidence < 1.0 for confidence in plain)
    if plain and max(plain) <= 1.0:
        log.notes.append(warning("at-most-1"))
    elif not fractions:
        log.rows = [
            row._replace(confidence=row.confidence / HLE_FULL)
            if is_plain and row.confidence is not None
            else row
            for row, is_plain in zip(log.rows, are_plain, strict=True)
        ]
        if n_full := sum(row.confidence == 1.0 for row in log.rows):
            log.notes.append(note("full-confidence", n=n_full, total=len(log.rows)))


DEEPEVAL = "deepeval"


def read_deepeval(data: bytes) -> Log:
    """Read the score of every metric. Its success says only whether the threshold was reached."""
    log, document = Log(DEEPEVAL, judged=True), Document(data)
    header = dict[str, Any]()
    for key in document.members():
        if key in ("testCases", "test_cases") and document.peek() == "[":
            for number, _ in enumerate(document.elements()):
                _add_case_of_deepeval(log, as_object(document.value()), number)
        else:
            header[key] = document.value()
    document.end()
    log.task = name_of(header.get("testFile") or header.get("identifier") or DEEPEVAL)
    return log


def _add_case_of_deepeval(log: Log, case: dict[str, Any], number: int) -> None:
    about: dict[str, Any] = {
        "sample": name_of(case.get("name") or number),
        "answer": text_of(case.get("actualOutput", case.get("actual_output"))),
    }
    metrics = as_list(case.get("metricsData", case.get("metrics_data")))
    for metric in map(as_object, metrics):
        success, score = metric.get("success"), number_of(metric.get("score"))
        log.rows.append(
            LogRow(
                **about,
                grade=float(success) if isinstance(success, bool) else None,
                confidence=score,
                source=NO_SOURCE if score is None else JUDGE,
                scorer=name_of(metric.get("name")),
                model=name_of(metric.get("evaluationModel")),
                explanation=text_of(metric.get("reason")),
            )
        )


EVERY_EVAL_EVER = "Every Eval Ever"


def read_every_eval_ever(data: bytes) -> Log:
    """Read whether every answer is right. The format has no confidence yet."""
    log = Log(EVERY_EVAL_EVER)
    for record in records(data):
        evaluation = as_object(record.get("evaluation"))
        correct = evaluation.get("is_correct")
        score = number_of(evaluation.get("score"))
        log.rows.append(
            LogRow(
                sample=name_of(record.get("sample_id")),
                grade=float(correct) if isinstance(correct, bool) else score,
                task=name_of(record.get("evaluation_name")),
                model=name_of(record.get("model_id")),
                answer=text_of(as_object(record.get("output")).get("raw", "")),
            )
        )
    return log


NAME = "promptfoo"
# The score of these checks comes from a model, so it is a judge's.
JUDGES = (
    *("llm-rubric", "model-graded-closedqa", "model-graded-factuality", "factuality", "g-eval"),
    *("answer-relevance", "context-faithfulness", "context-relevance", "context-recall", "pi"),
    *("search-rubric", "agent-rubric", "conversation-relevance", "trajectory:goal-success"),
)
RED_TEAM = "promptfoo:redteam:"
# A result with this reason has an error of the model's program, and no answer that was scored.
ERROR_REASON = 2
# This marks rows while they are read, because promptfoo has no filters.
ONLY_JUDGED = "only judged"


def read(data: bytes) -> Log:
    """Read every result: a judge's score, and whether the checks without a judge passed."""
    reader, document = _Reader(), Document(data)
    for key in document.members():
        if key == "evalId":
            reader.log.task = name_of(document.value())
        elif key == "results":
            _add_results(reader, document)
        else:
            document.value()
    document.end()
    return reader.finished()


def _add_results(reader: _Reader, document: Document) -> None:
    if document.peek() == "[":
        for _ in document.elements():
            reader.add(as_object(document.value()))
        return
    for key in document.members():
        if key == "results" and document.peek() == "[":
            _add_results(reader, document)
        else:
            document.value()


class _Reader:
    """Results one after the other, and those whose outcome is only the judge's verdict."""

    def __init__(self) -> None:
        self.log = Log(NAME)
        self.errors = self.only_judged = self.n_checked = 0

    def add(self, result: dict[str, Any]) -> None:
        """Add the rows of a result, one per judge."""
        about = _about(result)
        reason = result.get("failureReason")
        # A failed check has an error too, but it has a grading.
        failed = bool(result.get("error")) and not result.get("gradingResult")
        if reason == ERROR_REASON or (reason is None and failed):
            self.errors += 1
            self.log.rows.append(LogRow(**about, grade=None))
            return
        judges, checks = _judges_and_checks(result)
        outcome = all(part.get("pass") for part in checks) if checks else result.get("success")
        grade = float(outcome) if isinstance(outcome, bool) else None
        if not judges:
            self.log.rows.append(LogRow(**about, grade=grade, source=NO_SOURCE))
            return
        self.n_checked += bool(checks)
        self.only_judged += not checks
        for name, part in judges.items():
            self.log.rows.append(
                LogRow(
                    **about,
                    grade=grade,
                    confidence=number_of(part.get("score")),
                    source=JUDGE,
                    scorer=name,
                    filter="" if checks else ONLY_JUDGED,
                    explanation=text_of(part.get("reason")),
                )
            )

    def finished(self) -> Log:
        """The log, with answers that only a judge graded as not scored if there are others."""
        log = self.log
        # Without a check of another kind, the outcome repeats the judge's score.
        log.judged = self.only_judged > 0 and not self.n_checked
        left_out = ONLY_JUDGED if self.n_checked else None
        log.rows = [
            row._replace(filter="", grade=None if row.filter == left_out else row.grade)
            for row in log.rows
        ]
        if self.only_judged and self.n_checked:
            log.notes.append(note("only-judged", n=self.only_judged))
        if self.errors:
            log.notes.append(errors_note(self.errors))
        of_each_scorer(log)
        return log


def _about(result: dict[str, Any]) -> dict[str, Any]:
    provider = result.get("provider")
    model = provider.get("id") if isinstance(provider, dict) else provider
    prompt = as_object(result.get("prompt"))
    return {
        "sample": name_of(result.get("testIdx", result.get("id"))),
        "epoch": 1,
        "model": name_of(model),
        # The prompt of a result is its task.
        "task": name_of(prompt.get("label") or "")[:80] or f"prompt {result.get('promptIdx', 0)}",
        "answer": text_of(as_object(result.get("response")).get("output")),
    }


def _judges_and_checks(
    result: dict[str, Any],
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """The parts of a grading that a model judged, by name, and the checks without a model."""
    judges, checks = dict[str, dict[str, Any]](), list[dict[str, Any]]()
    grading = as_object(result.get("gradingResult"))
    for part in map(as_object, as_list(grading.get("componentResults"))):
        assertion = as_object(part.get("assertion"))
        kind = str(assertion.get("type") or "").removeprefix("not-")
        if kind in JUDGES or kind.startswith(RED_TEAM):
            # A rubric without a name is distinguished by its place.
            judges[unused(name_of(assertion.get("metric") or kind), judges)] = part
        # A part without a type is a set of others, and its outcome includes that of judges.
        elif kind and kind != "assert-set":
            checks.append(part)
    return judges, checks
