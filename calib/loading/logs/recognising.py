"""Recognise the format of an evaluation log by its keys, and read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set

from calib.data.file_options import FileFormat
from calib.loading.logs import inspect_logs, lm_eval, promptfoo, records, short_formats
from calib.loading.logs.json_values import LOOK_BYTES, Document, as_object, key_paths
from calib.loading.logs.rows import Log, to_table
from calib.loading.problems import InputError, refuse
from calib.loading.reading.budget import Budget
from calib.loading.table import Table

Paths = Set[str]
Keys = Sequence[Set[str]]
# A format has all keys of one of these sets. The first format that fits reads the file.
FORMATS: tuple[tuple[Keys, Callable[..., Log]], ...] = (
    ([{"eval.task", "eval.model"}], inspect_logs.read_json),
    ([{"doc_id", "filtered_resps"}, {"doc_id", "resps"}], lm_eval.read),
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
        promptfoo.read,
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
        lm_eval.read_results,
    ),
)
# These files of a run of HELM have no scored answers.
UNSCORED = ({"request_states"}, {"name.name", "name.split", "count"})
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
        log = reads(data, name) if reads is lm_eval.read else reads(data)
        return to_table(log, name, given)
    if _has_keys(paths, UNSCORED):
        raise refuse("other-file")
    if not _are_rows(data, paths):
        table = records.read_frame(data, name, given, budget)
        if table is not None:
            return table
        raise refuse("not-a-table.json", readable=READABLE_LOGS)
    return records.read(data, name, budget)


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
