"""Formats of exported calibrators: how each is written, and which engine tests it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from shutil import which

from calib.exports import onnx_file, scripts, sql
from calib.exports.codec import ExportError, FormReader
from calib.exports.document import ExportedCalibrator, canonical, check_values, parse
from calib.exports.recording import Program, record
from calib.exports.sql import Choices
from calib.numerics.arrays import FloatArray
from calib.text import significant

SOURCE, MADE = "calib-source: ", "calib-made: "
MAX_CLASSES, MAX_PIECES = 100, 20_000


@dataclass(frozen=True, slots=True)
class Run:
    """How a form was tried: by which engine, and how far off it was at most, in ulp."""

    engine: str
    ulps: int
    here: bool = True


@dataclass(frozen=True, slots=True)
class Facts:
    """What a file says of itself."""

    choices: Choices
    run: Run


@dataclass(frozen=True, slots=True)
class Target:
    key: str
    suffix: str
    label: str
    needs: tuple[str, ...] = ()  # packages that must be installed to write or to run it
    install: str = ""  # the command that installs them
    mark: str = ""  # begins a comment

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
        Target("sql", ".sql", "SQL", ("sqlglot", "duckdb"), 'pip install "calib[scan]"', "--"),
        Target("python", ".py", "Python", mark="#"),
        Target("javascript", ".js", "JavaScript", mark="//"),
        Target("onnx", ".onnx", "ONNX", ("onnx", "onnxruntime"), onnx_file.HOW_TO_INSTALL),
    )
}


def choices_for(
    made: ExportedCalibrator, dialect: str | None, table: str, columns: tuple[str, ...] | None
) -> Choices:
    """The choices, checked."""
    if dialect is not None and dialect not in sql.DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(sql.DIALECTS)}, got {dialect!r}.")
    if columns is None:
        columns = ("score",) if made.classes is None else made.classes
    needed = 1 if made.classes is None else len(made.classes)
    if len(columns) != needed or len(set(columns)) != needed:
        raise ValueError(f"columns must name {needed} different columns, got {list(columns)}.")
    return Choices(dialect or "duckdb", table, tuple(columns))


def written(made: ExportedCalibrator, target: Target, choices: Choices) -> tuple[bytes, Run]:
    """The file's content, and how it was tried before it was written."""
    if target.key == "json":
        return f"{made.json()}\n".encode(), Run("NumPy", 0)
    run = tried(made, target, choices, content_of(made, target, choices))
    return content_of(made, target, choices, run), run


def content_of(
    made: ExportedCalibrator, target: Target, choices: Choices, run: Run | None = None
) -> bytes:
    """The content of a file, with how it was tried; or, before that, only the part that is run."""
    program = _program(made, target)
    if target.key == "onnx":
        facts = {"calib-source": made.json(), "calib-made": canonical(asdict(run))} if run else {}
        return onnx_file.onnx_bytes(program, matrix=made.matrix, metadata=facts)
    notes = _notes(made, choices, target, run) if run else []
    lines = [f"{target.mark} {note}" for note in notes]
    if target.key in scripts.LANGUAGES:
        body = scripts.script_text(target.key, program, matrix=made.matrix, notes=lines)
    else:
        body = "\n".join([*lines, f"{sql.sql_text(program, choices)};\n"])
    if run is None:
        return body.encode()
    how = canonical(asdict(Facts(choices, run)))
    ending = (f"{target.mark} {MADE}{how}", f"{target.mark} {SOURCE}{made.json()}", "")
    return "\n".join((body, *ending)).encode()


def _program(made: ExportedCalibrator, target: Target) -> Program:
    if made.classes is not None and len(made.classes) > MAX_CLASSES:
        raise ExportError(
            f"{target.label} is written for at most {MAX_CLASSES} classes, got "
            f"{len(made.classes):,}. Choose .json, which calib.load_calibrator reads."
        )
    program = record(made.form, None if made.classes is None else len(made.classes))
    pieces = sum(len(n.pieces.centers) for n in program.order if n.pieces is not None)
    if target.key == "sql" and pieces > MAX_PIECES:
        raise ExportError(
            f"SQL is written for at most {MAX_PIECES:,} pieces of a curve, got {pieces:,}. "
            "Choose .onnx, .py, .js or .json, or a calibrator with fewer pieces."
        )
    return program


def tried(made: ExportedCalibrator, target: Target, choices: Choices, content: bytes) -> Run:
    """Run a form at every test score; an ExportError names the first that it misses."""
    engine, run = engine_of(target, choices)
    if run is None:
        return Run(engine, 0, here=False)
    most = check_values(made, run(content, made.scores), engine)
    return Run(engine, most, here=target.key != "sql" or choices.dialect in sql.HERE)


Runner = Callable[[bytes, FloatArray], FloatArray]


def engine_of(target: Target, choices: Choices) -> tuple[str, Runner | None]:
    """The name of the engine that runs a form, and its function, or None if it is not installed."""
    if target.key == "python":
        return "Python", scripts.run_python
    if target.key == "javascript":
        return "Node", scripts.run_javascript if which("node") else None
    if target.key == "onnx":
        return f"onnxruntime {version('onnxruntime')}", onnx_file.run_onnx
    engine = "SQLite" if choices.dialect == "sqlite" else f"DuckDB {version('duckdb')}"
    return engine, partial(sql.run, choices=choices)


def _notes(made: ExportedCalibrator, choices: Choices, target: Target, run: Run) -> list[str]:
    notes = [f"{made.label} calibration, written by calib {made.versions.get('calib')}."]
    notes.append(f"Formula: {made.formula}.")
    if made.classes is None:
        rate = significant(made.base_rate[0], 6)
        notes.append(f"Base rate of the {made.n_rows:,} fitted rows: {rate}.")
    if made.fitted_range is not None:
        low, high = made.fitted_range
        notes.append(f"Fitted on scores from {low!r} to {high!r}; beyond them it is a guess.")
    if made.classes is None:
        falls = "never falls" if made.monotone else "is not monotone: it falls somewhere"
        notes.append(f"The calibrated probability {falls}.")
    if made.data is not None:
        notes.append(f"Data: {made.data.get('name')}, fingerprint {made.data.get('fingerprint')}.")
    if target.key == "sql":
        notes.append(f"Dialect: {choices.dialect}. Scores outside [0, 1] and NULL give NULL.")
    notes.append(_tried(run, len(made.scores), choices))
    return [_one_line(note) for note in notes]


def _tried(run: Run, n: int, choices: Choices) -> str:
    if run.here:
        return f"Run by {run.engine} at {n:,} scores before it was written: {run.ulps} ulp off."
    if run.engine.startswith("DuckDB"):
        return (
            f"Not executed here: no {choices.dialect}. Read back by sqlglot as {choices.dialect} "
            f"and run by {run.engine} at {n:,} scores: {run.ulps} ulp off."
        )
    return f"Not executed here: no {run.engine}."


def _one_line(text: str) -> str:
    """Without line breaks of any script: a comment must end where its line ends."""
    return " ".join(text.split()).encode("ascii", "backslashreplace").decode()


def facts_of(line: str, made: ExportedCalibrator) -> Facts:
    """How the file of a calibrator was written, according to its facts."""
    try:
        facts: Facts = FormReader().read(Facts, parse(line), "facts")
        own = facts.choices
        return Facts(choices_for(made, own.dialect, own.table, own.columns), facts.run)
    except ValueError as error:
        raise ExportError(f"The file must say how it was written, after {MADE}{error}") from None
