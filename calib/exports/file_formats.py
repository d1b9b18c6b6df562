"""Formats of exported calibrators: how each is written, and which engine tests it."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from shutil import which
from typing import Annotated, Any

import numpy as np

from calib.calibrators.forms import Form, RowsForm
from calib.distribution import __version__, pip_install
from calib.exports import onnx_file, scripts, sql
from calib.exports.condition import Condition
from calib.exports.document import (
    FORMAT,
    SCHEMA,
    VERSION,
    ExportedCalibrator,
    ExportError,
    FormReader,
    Json,
    canonical,
    check_values,
    encode,
    parse,
    read_entries,
)
from calib.exports.from_fitted import tests_of
from calib.exports.score_conversion import Conversion
from calib.exports.sql import DIALECTS, Choices
from calib.numerics.arrays import FloatArray
from calib.numerics.splines import Pieces
from calib.text import joined, significant

NOTE = "calib-file: "
MAX_NOTE_LENGTH = 1_000
MAX_CLASSES, MAX_PIECES = 100, 20_000
# The text of a calibrator depends on these entries.
PRINTED_ENTRIES = (
    *("method", "form", "conversion", "classes", "n_rows"),
    *("fitted_range", "base_rate", "monotone"),
)


@dataclass(frozen=True, slots=True)
class Run:
    """A run at the test scores: the engine, and the largest deviation.

    `here` is whether the file itself was run. A query for an engine that is not installed is parsed
    (`was_parsed`), and DuckDB runs what was parsed.
    """

    engine: str
    deviation: float
    here: bool = True
    was_parsed: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """A format of files."""

    key: str
    suffix: str
    label: str
    needs: tuple[str, ...] = ()  # Packages are needed to write the file or to run it.
    install: str = ""  # The command installs these packages.
    mark: str = ""  # The characters that begin a comment.

    def missing(self) -> str:
        """What to install, in a sentence, or "" if nothing is missing."""
        absent = [name for name in self.needs if find_spec(name) is None]
        if not absent:
            return ""
        return f"{self.label} needs {' and '.join(absent)}. Install with: {self.install}"


TARGETS = {
    target.suffix: target
    for target in (
        Target("json", ".json", "JSON"),
        Target("sql", ".sql", "SQL", ("sqlglot", "duckdb"), pip_install("scan"), "--"),
        Target("python", ".py", "Python", mark="#"),
        Target("javascript", ".js", "JavaScript", mark="//"),
        Target("onnx", ".onnx", "ONNX", ("onnx", "onnxruntime"), pip_install("onnx")),
    )
}


# The condition of a calibrator for some rows is code.
CONDITIONAL = (".sql", ".py", ".js")


def choices_for(
    exported: ExportedCalibrator,
    dialect: str | None,
    table: str,
    columns: tuple[str, ...] | None,
    condition: Condition | None = None,
) -> Choices:
    """Check the choices of an exported file."""
    if dialect is not None and dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}.")
    if columns is None:
        columns = ("score",) if exported.classes is None else exported.classes
    needed = 1 if exported.classes is None else len(exported.classes)
    if len(columns) != needed or len(set(columns)) != needed:
        raise ValueError(f"columns must name {needed} different columns, got {list(columns)}.")
    if condition is not None and (exported.classes or exported.conversion != Conversion()):
        raise ExportError("A calibrator for some rows needs one score per row, a probability.")
    return Choices(dialect or "duckdb", table, tuple(columns), condition)


@dataclass(frozen=True, slots=True)
class Note:
    """The last line of a text, or the metadata of a model: it says from what the file was exported.

    A parametric and short calibrator is included without its test scores.
    """

    format: str
    schema: Annotated[int, SCHEMA, SCHEMA]
    version: str  # The version is that of calib.
    sha256: str  # The hash is that of the JSON file.
    choices: Choices
    calibrator: Any = None

    def text(self) -> str:
        """JSON in one line, without a backslash: some languages act on one in a comment."""
        content = {name: encode(getattr(self, name)) for name in self.__slots__}
        return canonical(content).replace("%", "%25").replace("\\", "%5C")


def note_for(exported: ExportedCalibrator, choices: Choices) -> Note:
    """The note of a calibrator."""
    sha256 = hashlib.sha256(json_bytes(exported)).hexdigest()
    note = Note(FORMAT, SCHEMA, __version__, sha256, choices)
    whole = replace(
        note, calibrator={name: encode(getattr(exported, name)) for name in PRINTED_ENTRIES}
    )
    return note if _pieces_of(exported.form) or len(whole.text()) > MAX_NOTE_LENGTH else whole


def read_note(text: str) -> tuple[Note, ExportedCalibrator | None]:
    """A note and its calibrator, with test scores, if it has one; every entry is checked."""
    content = parse(text.replace("%5C", "\\").replace("%25", "%"))
    given = content.get("calibrator")
    reader = FormReader()
    note: Note = reader.read(Note, content | {"calibrator": None}, "The last line")
    if not VERSION.fullmatch(note.version):
        raise ExportError("version must be a version of calib.")
    if not re.fullmatch(r"[0-9a-f]{64}", note.sha256):
        raise ExportError("sha256 must be 64 hexadecimal digits.")
    if given is None:
        return note, None
    reader.complete(PRINTED_ENTRIES, PRINTED_ENTRIES, given, "calibrator")
    entries = read_entries(reader, given)
    return replace(note, calibrator=given), _with_tests(entries)


def _with_tests(entries: Json) -> ExportedCalibrator:
    """A calibrator of a note. What the text does not depend on is empty."""
    exported = ExportedCalibrator(
        **entries,
        parameters={},
        versions={},
        data=None,
        held_out=None,
        scores=np.empty(0),
        expected=np.empty(0),
    )
    m = 0 if exported.classes is None else len(exported.classes)
    scores = tests_of(exported.form, exported.conversion, m, np.empty(0))
    return replace(exported, scores=scores, expected=exported.predict(scores))


def _pieces_of(value: Any) -> list[Pieces]:
    """All polynomials by pieces of a form; a parametric one has none."""
    if isinstance(value, Pieces):
        return [value]
    inner = value if isinstance(value, tuple) else ()
    if isinstance(value, Form | RowsForm):
        inner = tuple(getattr(value, field.name) for field in fields(value))  # type: ignore[arg-type]
    return [pieces for entry in inner for pieces in _pieces_of(entry)]


def json_bytes(exported: ExportedCalibrator) -> bytes:
    """The JSON file."""
    return f"{exported.json()}\n".encode()


def written(exported: ExportedCalibrator, target: Target, choices: Choices) -> tuple[bytes, Run]:
    """The file's content, and its run at the test scores."""
    if choices.condition is not None and target.suffix not in CONDITIONAL:
        forms = joined([TARGETS[suffix].label for suffix in CONDITIONAL])
        raise ExportError(f"{target.label} has no place for a condition. Choose {forms}.")
    if target.key == "json":
        return json_bytes(exported), Run("NumPy", 0.0)
    content = content_of(exported, target, note_for(exported, choices))
    return content, run_at_test_scores(exported, target, choices, content)


def content_of(exported: ExportedCalibrator, target: Target, note: Note) -> bytes:
    """The content of a file; the same for the same calibrator and note."""
    _check_size(exported, target)
    n_classes = None if exported.classes is None else len(exported.classes)
    if target.key == "onnx":
        return onnx_file.onnx_bytes(exported.form, exported.conversion, n_classes, note.text())
    notes = _notes(exported, note, target)
    if target.key in scripts.LANGUAGES:
        parts = exported.form, exported.conversion, n_classes, notes, note.choices
        body = scripts.script_text(target.key, *parts)
    else:
        query = sql.sql_text(exported.form, exported.conversion, note.choices)
        body = "\n".join([*notes, query, ""])
    return f"{body}{target.mark} {NOTE}{note.text()}\n".encode()


def _check_size(exported: ExportedCalibrator, target: Target) -> None:
    if exported.classes is not None and len(exported.classes) > MAX_CLASSES:
        raise ExportError(
            f"{target.label} is written for at most {MAX_CLASSES} classes, got "
            f"{len(exported.classes):,}. Choose .json, which calib.load_calibrator reads."
        )
    pieces = sum(len(curve.centers) for curve in _pieces_of(exported.form))
    if target.key == "sql" and pieces > MAX_PIECES:
        raise ExportError(
            f"SQL is written for at most {MAX_PIECES:,} pieces of a curve, got {pieces:,}. "
            "Choose .onnx, .py, .js or .json, or a calibrator with fewer pieces."
        )


def run_at_test_scores(
    exported: ExportedCalibrator, target: Target, choices: Choices, content: bytes
) -> Run:
    """Run a form at every test score; an ExportError names the first one at which it deviates."""
    engine, run = engine_of(target, choices)
    if run is None:
        return Run(engine, 0.0, here=False)
    most = check_values(exported, run(content, exported.scores), engine)
    was_parsed = target.key == "sql" and choices.dialect not in sql.INSTALLED_DIALECTS
    return Run(engine, most, here=not was_parsed, was_parsed=was_parsed)


Runner = Callable[[bytes, FloatArray], FloatArray]


def engine_of(target: Target, choices: Choices) -> tuple[str, Runner | None]:
    """The name of the engine that runs a form, and its function, or None if it is not installed."""
    if target.key == "python":
        return "Python", _of_text(scripts.run_python)
    if target.key == "javascript":
        return "Node", _of_text(scripts.run_javascript) if which("node") else None
    if target.key == "onnx":
        return f"onnxruntime {version('onnxruntime')}", onnx_file.run_onnx
    here = choices.dialect != "sqlite" or sql.computes_in_sqlite()
    engine = "SQLite" if choices.dialect == "sqlite" else f"DuckDB {version('duckdb')}"
    return engine, _of_text(partial(sql.run, choices=choices)) if here else None


def _of_text(run: Callable[[str, FloatArray], FloatArray]) -> Runner:
    return lambda content, scores: run(content.decode(), scores)


def _notes(exported: ExportedCalibrator, note: Note, target: Target) -> list[str]:
    """Comment lines of at most 100 characters, without unchecked text from a file."""
    parts = [f"{exported.label}, written by calib {note.version}"]
    parts.append(f"fitted on {exported.n_rows:,} rows")
    if exported.fitted_range is not None:
        low, high = (significant(end, 3) for end in exported.fitted_range)
        parts.append(f"scores from {low} to {high}")
    if exported.classes is None:
        parts.append(f"base rate {significant(exported.base_rate[0], 3)}")
    sentences = [f"{', '.join(parts)}.", exported.conversion.sentence]
    if note.choices.condition is not None:
        sentences.append("It is for the rows of a condition; other rows keep their score.")
    if exported.classes is None and not exported.monotone:
        sentences.append("It is not monotone: it falls somewhere.")
    if target.key == "sql":
        sentences.append("Other scores and NULL give NULL.")
        if note.choices.dialect not in sql.INSTALLED_DIALECTS:
            name = DIALECTS[note.choices.dialect].name
            sentences.append(f"It was run by DuckDB, not by {name}.")
    text = " ".join(filter(None, sentences))
    return [f"{target.mark} {line}" for line in textwrap.wrap(text, 97)]
