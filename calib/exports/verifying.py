"""Verify that an exported file still gives the numbers of its calibrator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from calib.exports import onnx_file
from calib.exports.codec import ExportError, NotExportedError
from calib.exports.document import MAX_BYTES, ExportedCalibrator, read_document
from calib.exports.sql import Choices
from calib.exports.targets import (
    MADE,
    SOURCE,
    TARGETS,
    Target,
    content_of,
    facts_of,
    tried,
)


@dataclass(frozen=True, slots=True)
class Verified:
    """The result for a file that gives the numbers of its calibrator."""

    made: ExportedCalibrator
    engine: str  # what ran it; NumPy for JSON
    ulps: int  # how far off it is at most at the test scores
    here: bool = True  # False if the engine of this format is not installed
    # Whether the text differs from what calib writes, although its numbers are correct.
    edited: bool = False

    @property
    def sentence(self) -> str:
        """The result in words."""
        n = f"{len(self.made.scores):,} test scores"
        if not self.here and not self.engine.startswith("DuckDB"):
            return f"pass: the text is what calib writes; not executed here: no {self.engine}"
        how = "" if self.here else ", not executed by its own engine"
        edited = "; the text was edited, and still gives these numbers" if self.edited else ""
        return f"pass: {self.engine}{how}: at most {self.ulps} ulp off at {n}{edited}"


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
    '1 / (1 + exp(-(1.84 s - 0.92)))'
    """
    path = Path(path)
    if path.suffix.lower() != ".json":
        raise ExportError(f"A calibrator is loaded from its .json file, got {path.name!r}.")
    return read_document(_bytes(path))


def verify(path: str | Path) -> Verified:
    """Run an exported calibrator at its test scores, and compare the results.

    A changed Python or JavaScript file is never run. A changed query or ONNX model is run only if
    it has no other operations than those that calib writes.

    Parameters
    ----------
    path : str or Path
        A .json, .sql, .py, .js or .onnx file.

    Returns
    -------
    Verified

    Raises
    ------
    ExportError
        If the file does not give the numbers of its calibrator. The message names the first score.
    """
    path = Path(path)
    target = TARGETS.get(path.suffix.lower())
    if target is None:
        raise NotExportedError(
            f"The file must end in one of {', '.join(TARGETS)}, got {path.name!r}."
        )
    content = _bytes(path)
    if target.key == "json":
        return Verified(read_document(content), "NumPy", 0)
    if target.missing():
        raise ExportError(target.missing())
    return _model(content, target) if target.key == "onnx" else _text(content, target)


def _bytes(path: Path) -> bytes:
    if path.stat().st_size > 2 * MAX_BYTES:
        raise ExportError(f"{path.name} is too large: {path.stat().st_size:,} bytes.")
    return path.read_bytes()


def _model(content: bytes, target: Target) -> Verified:
    try:
        metadata = onnx_file.metadata_of(content)
        made = read_document(metadata["calib-source"])
        run = tried(made, target, Choices(), content)
    except ExportError:
        raise
    except Exception as error:  # of two libraries' many kinds
        raise ExportError(
            "The file must be a model that calib wrote: it is damaged, or no ONNX model of calib."
        ) from error
    return Verified(made, run.engine, run.ulps)


def _text(content: bytes, target: Target) -> Verified:
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    body, found, rest = text.rpartition(MADE)
    line, source, document = rest.partition(SOURCE)
    if not (found and source):
        raise NotExportedError(
            "The file must end with its source, after calib-source: it has none."
        )
    made = read_document(document.strip())
    facts = facts_of(line.rpartition("\n")[0], made)
    fresh = content_of(made, target, facts.choices, facts.run).decode()
    if fresh == text:
        again = tried(made, target, facts.choices, fresh.encode())
        return Verified(made, again.engine, again.ulps, again.here)
    if target.key != "sql":
        lines = zip(fresh.splitlines(), text.splitlines(), strict=False)
        place = next((i for i, (a, b) in enumerate(lines, 1) if a != b), len(text.splitlines()))
        raise ExportError(
            f"Line {place} was changed: calib writes another line for this calibrator. "
            "Export it again."
        )
    try:
        again = tried(made, target, facts.choices, body.rpartition("\n")[0].encode())
    except ValueError as error:
        raise ExportError(f"The query was changed. {error}") from None
    except Exception as error:  # of three libraries' many kinds
        raise ExportError("The query was changed, and no longer runs.") from error
    return Verified(made, again.engine, again.ulps, again.here, edited=True)
