"""Verify that an exported file still gives the numbers of its calibrator."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from calib.distribution import __version__
from calib.exports import onnx_file, sql
from calib.exports.document import (
    MAX_BYTES,
    ExportedCalibrator,
    ExportError,
    NotExportedError,
    read_document,
)
from calib.exports.file_formats import (
    NOTE,
    TARGETS,
    Note,
    Target,
    choices_for,
    content_of,
    read_note,
    run_at_test_scores,
)
from calib.text import significant


@dataclass(frozen=True, slots=True)
class Verified:
    """The result for a file that gives the numbers of its calibrator."""

    exported: ExportedCalibrator
    engine: str  # JSON files are computed by NumPy.
    deviation: float  # The largest deviation at the test scores is relative.
    here: bool = True  # If False, the engine of this format is not installed.

    @property
    def not_verified(self) -> tuple[str, ...]:
        """What the file holds that does not follow from its function."""
        version = self.exported.versions.get("calib", __version__)
        other = (
            (f"label and formula, which calib {version} wrote",) if version != __version__ else ()
        )
        about = "what it holds about the data and the fit, since the rows are not in it"
        return (*other, about) if self.engine == "NumPy" else ()

    @property
    def sentence(self) -> str:
        """The result in words."""
        n = f"{len(self.exported.scores):,} test scores"
        if not self.here and not self.engine.startswith("DuckDB"):
            return f"pass: the text is what calib writes; not executed here: no {self.engine}"
        how = "" if self.here else ", not executed by its own engine"
        return f"pass: {self.engine}{how}: at most {significant(self.deviation, 1)} off at {n}"


def checked_path(path: object) -> Path:
    """A path, or an error that names the argument."""
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path must be the path of a file, got {path!r}.")
    return Path(path)


def load_calibrator(path: str | Path) -> ExportedCalibrator:
    """Read a fitted calibrator from its JSON file.

    Parameters
    ----------
    path : str or Path
        A .json file that `export` wrote.

    Returns
    -------
    ExportedCalibrator
        Its `predict` gives the same numbers as the calibrator that was exported.

    Raises
    ------
    ExportError
        If the file is of another kind, was changed, or does not reproduce its test values.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import calib
    >>> fitted = calib.calibrator("platt").fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> path = calib.export(fitted, Path(tempfile.mkdtemp()) / "platt.json")
    >>> calib.load_calibrator(path).formula
    'sigmoid(1.8391 s - 0.91953)'
    """
    path = checked_path(path)
    if path.suffix.lower() != ".json":
        raise ExportError(f"A calibrator is loaded from its .json file, got {path.name!r}.")
    return read_document(_bytes(path))


def verify(path: str | Path, source: str | Path | None = None) -> Verified:
    """Check that an exported file is what calib writes for its calibrator, and run it.

    Its text is written again from its last line, or from the JSON file, and must be equal,
    character by character. A query of an earlier version must have the same words: layout and the
    quotes of names can differ. Only then it is run at the test scores.

    Parameters
    ----------
    path : str or Path
        A .json, .sql, .py, .js or .onnx file.
    source : str or Path, optional
        The JSON file of the same calibrator. A file with the pieces of a curve, or with many
        classes, needs it. Default: the file of the same name that ends in .json, if it is needed.

    Returns
    -------
    Verified

    Raises
    ------
    ExportError
        If the file is not what calib writes for the calibrator, or does not give its numbers.
    """
    path = Path(path)
    target = TARGETS.get(path.suffix.lower())
    if target is None:
        raise NotExportedError(
            f"The file must end in one of {', '.join(TARGETS)}, got {path.name!r}."
        )
    content = _bytes(path)
    if target.key == "json":
        return Verified(read_document(content), "NumPy", 0.0)
    if target.missing():
        raise ExportError(target.missing())
    if target.key != "onnx":
        content = content.replace(b"\r\n", b"\n")
    note, exported = read_note(_note(content, target))
    beside = path.with_suffix(".json")
    if source is None and exported is None and beside.exists():
        source = beside
    if source is not None:
        exported = _source(Path(source), note)
    if exported is None:
        raise ExportError(
            f"{path.name} does not hold its calibrator as data. Give the JSON file that was "
            "exported with it: calib verify FILE --source map.json."
        )
    return _compared(content, target, note, exported)


def _bytes(path: Path) -> bytes:
    if path.stat().st_size > 2 * MAX_BYTES:
        raise ExportError(f"{path.name} is too large: {path.stat().st_size:,} bytes.")
    return path.read_bytes()


def _note(content: bytes, target: Target) -> str:
    """The note of a file that calib wrote."""
    if target.key == "onnx":
        note = onnx_file.note_of(content)
    else:
        last = content.decode("utf-8", "replace").rstrip("\n").rpartition("\n")[2]
        mark = f"{target.mark} {NOTE}"
        note = last.removeprefix(mark) if last.startswith(mark) else ""
    if not note:
        raise NotExportedError(
            f"The file must end with a line that begins with {NOTE}: it has none."
        )
    return note


def _source(path: Path, note: Note) -> ExportedCalibrator:
    content = _bytes(path)
    exported = read_document(content)
    if hashlib.sha256(content).hexdigest() != note.sha256:
        raise ExportError(f"{path.name} is not the JSON file with which the file was exported.")
    return exported


def _compared(content: bytes, target: Target, note: Note, exported: ExportedCalibrator) -> Verified:
    given = note.choices
    try:
        choices = choices_for(exported, given.dialect, given.table, given.columns)
    except ValueError as error:
        raise ExportError(f"The last line cannot be used: {error}") from None
    fresh = content_of(exported, target, note)
    if fresh != content:
        if target.key == "onnx":
            raise ExportError("The model was changed: calib writes another one. Export it again.")
        if place := _changed_line(content, fresh, target, choices.dialect):
            raise ExportError(
                f"Line {place} was changed, or is of an earlier version that wrote it wrongly: "
                f"calib {__version__} writes another line for this calibrator. Export it again."
            )
    run = run_at_test_scores(exported, target, choices, content)
    return Verified(exported, run.engine, run.deviation, run.here)


def _changed_line(content: bytes, fresh: bytes, target: Target, dialect: str) -> int:
    """The first line that says something else than the fresh one, or 0."""
    if target.key == "sql":
        return sql.changed_line(content.decode("utf-8", "replace"), fresh.decode(), dialect)
    lines = zip(fresh.splitlines(), content.splitlines(), strict=False)
    return next((i for i, (a, b) in enumerate(lines, 1) if a != b), len(fresh.splitlines()))
