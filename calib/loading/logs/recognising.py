"""Recognise the format of an evaluation log by its keys, and read it."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Set

from calib.data.file_options import FileFormat
from calib.loading.logs import (
    deepeval,
    every_eval_ever,
    helm,
    hle,
    inspect_logs,
    lm_eval,
    openai_evals,
    promptfoo,
    records,
)
from calib.loading.logs.json_values import LOOK_BYTES, Document, as_object, key_paths
from calib.loading.logs.rows import Log, to_table
from calib.loading.problems import InputError, refuse
from calib.loading.reading.archives import DAMAGE
from calib.loading.reading.budget import Budget
from calib.loading.table import Table

Paths = Set[str]
# The first format that recognises the keys reads the file. The arguments of each reader are the
# bytes and the name of the file.
FORMATS: tuple[tuple[Callable[[Paths], bool], Callable[[bytes, str], Log]], ...] = (
    (inspect_logs.recognises, lambda data, _: inspect_logs.read_json(data)),
    (lm_eval.recognises, lm_eval.read),
    (helm.recognises, lambda data, _: helm.read(data)),
    (helm.recognises_run, lambda data, _: helm.read_run(data)),
    (openai_evals.recognises, lambda data, _: openai_evals.read(data)),
    (promptfoo.recognises, lambda data, _: promptfoo.read(data)),
    (deepeval.recognises, lambda data, _: deepeval.read(data)),
    (hle.recognises, lambda data, _: hle.read(data)),
    (every_eval_ever.recognises, lambda data, _: every_eval_ever.read(data)),
    (lm_eval.recognises_results, lambda data, _: lm_eval.read_results(data)),
)
# Inside a list, a comma stands between two objects.
NEXT_RECORD = re.compile(rb"\}[ \t\r]*+\n\s*+\{")
READABLE_LOGS = (
    "Inspect, lm-evaluation-harness (samples), HELM (per_instance_stats.json), OpenAI evals, "
    "promptfoo, deepeval, Humanity's Last Exam and Every Eval Ever"
)


def is_archive(data: bytes) -> bool:
    """Whether these bytes are a zip archive of an evaluation log."""
    if not data.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return inspect_logs.is_archive(archive.NameToInfo)
    except DAMAGE:
        return False


def read_archive(data: bytes, name: str, given: FileFormat, budget: Budget) -> Table:
    """Read the evaluation log of a zip archive."""
    return _guarded(lambda: to_table(inspect_logs.read_archive(data, budget), name, given))


def read_json(data: bytes, name: str, given: FileFormat, budget: Budget) -> Table:
    """Read an evaluation log, or rows, of a JSON text."""
    return _guarded(lambda: _read(data, name, given, budget))


def _read(data: bytes, name: str, given: FileFormat, budget: Budget) -> Table:
    paths = key_paths(data, lambda paths: _reader_of(paths) is not None)
    if reads := _reader_of(paths):
        return to_table(reads(data, name), name, given)
    if helm.recognises_others(paths):
        raise refuse("other-file")
    if not _are_rows(data, paths):
        table = records.read_frame(data, name, given, budget)
        if table is not None:
            return table
        raise refuse("not-a-table.json", readable=READABLE_LOGS)
    return records.read(data, name, budget)


def _reader_of(paths: Paths) -> Callable[[bytes, str], Log] | None:
    """The reader of the first format that has these keys."""
    return next((reads for recognises, reads in FORMATS if recognises(paths)), None)


def _are_rows(data: bytes, paths: Paths) -> bool:
    """Whether the text is a list of objects, several objects on lines of their own, or one row."""
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return bool(paths) and (start == b"[" or bool(NEXT_RECORD.search(data)) or _is_row(data))


def _is_row(data: bytes) -> bool:
    """Whether the text is one short object of several single values."""
    if len(data) > LOOK_BYTES:
        return False
    values = as_object(Document(data).value()).values()
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
