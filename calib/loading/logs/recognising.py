"""Recognise the format of an evaluation log by its keys, and read it; records as rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Any

import pandas as pd

from calib.data.file_options import FileFormat
from calib.loading.logs import inspect_logs, short_formats, together
from calib.loading.logs.rows import (
    LOOK_BYTES,
    MAX_TEXT_LENGTH,
    Document,
    Log,
    as_object,
    key_paths,
    records,
    text_of,
    to_table,
)
from calib.loading.problems import InputError, note, refuse
from calib.loading.reading.budget import Budget
from calib.loading.reading.delimited_text import read_cells
from calib.loading.reading.spread import probabilities
from calib.loading.table import Table, left_out_columns, make_table

LEFT_OUT_REASON = "of the JSON objects hold lists"


def read(data: bytes, name: str, budget: Budget) -> Table:
    """Read objects as rows. Objects inside them become columns such as "scores.accuracy"."""
    return _of_rows(records(data), name, budget)


def read_frame(data: bytes, name: str, given: FileFormat, budget: Budget) -> Table | None:
    """Read a table that is one value, as `DataFrame.to_json` writes it, or return None."""
    document = Document(data)
    value = document.value()
    if document.peek():
        return None
    if isinstance(value, list) and value and all(map(_is_column, value)):
        # Lists of cells are read like a text, whose first row may have the names of the columns.
        budget.check_cells(len(value), max(map(len, value)))
        return read_cells(value, name, given, budget)
    rows = _rows(as_object(value))
    return None if rows is None else _of_rows(rows, name, budget)


def _rows(frame: dict[str, Any]) -> Iterable[dict[str, Any]] | None:
    """The rows of a table in one of the orients of pandas: split, table, columns, index, list."""
    names, data = frame.get("columns"), frame.get("data")
    if isinstance(names, list) and isinstance(data, list):
        return (dict(zip(map(str, names), row, strict=True)) for row in data)
    if "schema" in frame and isinstance(data, list):
        return map(as_object, data)
    values = list(frame.values())
    if len(values) > 1 and all(map(_is_column, values)):
        return (dict(zip(frame, row, strict=True)) for row in zip(*values, strict=True))
    inner = values[0].keys() if values and isinstance(values[0], dict) else ()
    if not inner or any(not isinstance(v, dict) or v.keys() != inner for v in values):
        return None
    # The names of rows are mostly numbers, and there are mostly more rows than columns.
    are_rows = [all(key.isdecimal() for key in keys) for keys in (frame, inner)]
    if are_rows == [True, False] or (are_rows[0] == are_rows[1] and len(frame) > len(inner)):
        return values
    return ({name: column[row] for name, column in frame.items()} for row in inner)


def _is_column(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(cell, dict) for cell in value)


def _of_rows(rows: Iterable[dict[str, Any]], name: str, budget: Budget) -> Table:
    columns: dict[str, list[Any]] = {}
    lists, n_rows = dict[str, None](), 0
    for record in rows:
        for key, value in _cells(record):
            if isinstance(value, list):
                lists[key] = None
                continue
            column = columns.setdefault(key, [])
            column += [None] * (n_rows - len(column))
            if len(column) == n_rows:
                column.append(value)
        n_rows += 1
        budget.check_cells(n_rows, len(columns))
    if not columns:
        raise refuse("empty.json")
    for column in columns.values():
        column += [None] * (n_rows - len(column))
    frame = pd.DataFrame({key: _series(values) for key, values in columns.items()})
    notes = left_out_columns([key for key in lists if key not in columns], LEFT_OUT_REASON)
    return make_table(frame, list(columns), name=name, notes=notes)


def _cells(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        inner = value.values() if isinstance(value, dict) else ()
        is_nested = isinstance(value, list) or any(isinstance(cell, list | dict) for cell in inner)
        if is_nested and (numbers := probabilities(value)) is not None:
            for label, number in numbers.items():
                yield f"{key}_{label}", number
        elif isinstance(value, dict):
            for inner, cell in value.items():
                yield f"{key}.{inner}", str(cell) if isinstance(cell, dict | list) else _cell(cell)
        else:
            yield str(key), _cell(value)


def _cell(value: Any) -> Any:
    return text_of(value, MAX_TEXT_LENGTH) if isinstance(value, str) else value


def _series(values: list[Any]) -> pd.Series:
    """A column of one type; mixed types become text, as in a delimited text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or len(kinds) == 1:
        return pd.Series(values).infer_objects()
    texts = [None if value is None else str(value) for value in values]
    return pd.Series(texts, dtype="str")


Paths = Set[str]
Keys = Sequence[Set[str]]
# A format has all keys of one of these sets. The first format that fits reads the file.
FORMATS: tuple[tuple[Keys, Callable[..., Log]], ...] = (
    ([{"eval.task", "eval.model"}], inspect_logs.read_json),
    ([{"doc_id", "filtered_resps"}, {"doc_id", "resps"}], together.read),
    ([{"instance_id", "stats"}], short_formats.read_helm),
    # The description of a run names the model.
    ([{"adapter_spec", "scenario_spec"}], short_formats.read_helm_run),
    (
        [{"spec.eval_name"}, {"run_id", "event_id", "sample_id", "type"}],
        short_formats.read_openai_evals,
    ),
    (
        [
            *({"results.results"}, {"results.prompts"}, {"evalId", "results"}),
            *({"results.[].gradingResult"}, {"results.[].success"}),
        ],
        short_formats.read,
    ),
    ([{"testCases"}, {"test_cases"}], short_formats.read_deepeval),
    ([{"*.judge_response"}], short_formats.read_hle),
    (
        [{"sample_id", "evaluation.is_correct"}, {"sample_id", "evaluation.score"}],
        short_formats.read_every_eval_ever,
    ),
    (
        [
            {"results", key}
            for key in ("configs", "versions", "n-shot", "higher_is_better", "group_subtasks")
        ],
        together.read_results,
    ),
)
# These files of a run of HELM have no scored answers.
UNSCORED = ({"request_states"}, {"name.name", "name.split", "count"})
# Logs of decision models have one of these, and `calib.decisions_log` reads them.
ANSWERS = re.compile(
    r"(response\.)?(result\.)?answers\.[^.]+\.(type|noul|probability|probabilities)"
)
DECISIONS = (
    *({"question_hash", "answer"}, {"parse_status", "expected"}, {"qid", "stated_confidence"}),
    *({"dataType", "metadata"}, {"key", "feedback_source"}),
)
# Inside a list, a comma stands between two objects.
NEXT_RECORD = re.compile(rb"\}[ \t\r]*+\n\s*+\{")
READABLE_LOGS = (
    "Inspect, lm-evaluation-harness (samples), HELM (per_instance_stats.json), OpenAI evals, "
    "promptfoo, deepeval, Humanity's Last Exam and Every Eval Ever"
)


def read_archive(data: bytes, name: str, given: FileFormat, budget: Budget) -> Table:
    """Read the evaluation log of a zip archive."""
    return _guarded(lambda: to_table(inspect_logs.read_archive(data, budget), name, given))


def read_json(data: bytes, name: str, given: FileFormat, budget: Budget) -> Table:
    """Read an evaluation log, or rows, of a JSON text."""
    return _guarded(lambda: _read(data, name, given, budget))


def _read(data: bytes, name: str, given: FileFormat, budget: Budget) -> Table:
    paths = key_paths(data, lambda paths: _reader_of(paths) is not None)
    if reads := _reader_of(paths):
        # The name of a file is a task only in this format.
        log = reads(data, name) if reads is together.read else reads(data)
        return to_table(log, name, given)
    if _has_keys(paths, UNSCORED):
        raise refuse("other-file")
    if not _are_rows(data, paths):
        table = read_frame(data, name, given, budget)
        if table is not None:
            return table
        raise refuse("not-a-table.json", readable=READABLE_LOGS)
    table = read(data, name, budget)
    if _has_keys(paths, DECISIONS) or any(map(ANSWERS.fullmatch, paths)):
        table = replace(table, notes=(*table.notes, note("decisions-log")))
    return table


def _reader_of(paths: Paths) -> Callable[..., Log] | None:
    """The reader of the first format that has these keys."""
    return next((reads for keys, reads in FORMATS if _has_keys(paths, keys)), None)


def _has_keys(paths: Paths, keys: Keys) -> bool:
    return any(all_of <= paths for all_of in keys)


def _are_rows(data: bytes, paths: Paths) -> bool:
    """Whether the text is a list of objects, several objects on lines of their own, or one row."""
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if not paths or start == b"[" or NEXT_RECORD.search(data):
        return bool(paths)
    # One short object of several single values is a row.
    values = as_object(Document(data).value()).values() if len(data) <= LOOK_BYTES else ()
    return len(values) > 1 and not any(isinstance(value, list | dict) for value in values)


def _guarded(read: Callable[[], Table]) -> Table:
    try:
        return read()
    except InputError:
        raise
    except RecursionError:
        raise refuse("too-deep") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise refuse("damaged.json") from None
