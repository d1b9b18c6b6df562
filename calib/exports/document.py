"""The JSON file of a fitted calibrator, from which all other formats are written."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from calib.calibrators import CALIBRATORS
from calib.calibrators.forms import ON_ARRAYS, Form, RowsForm, Share
from calib.data import strict_json
from calib.data.checks import check_score_matrix, check_scores
from calib.data.strict_json import short
from calib.distribution import __version__
from calib.exports.form_json import (
    ExportError,
    FormReader,
    Json,
    NotExportedError,
    check_classes,
    encode,
)
from calib.exports.formula import formula_of
from calib.exports.score_conversion import Conversion
from calib.numerics.arrays import FloatArray
from calib.numerics.threads import single_thread

FORMAT, SCHEMA = "calib calibrator", 1
TESTS = ("scores", "expected")
VERSION = re.compile(r"[0-9A-Za-z.+-]{1,40}")
PACKAGES = {"calib", "numpy", "python", "scipy"}
METHOD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")  # Exported code has it in a comment.
MAX_CLASSES = 10_000
MAX_BYTES = 256 * 2**20
MAX_DEVIATION = 1e-12  # It is relative to the probability, or to MIN_SCALE if that is larger.
MIN_SCALE = 0.01


def deviation(expected: FloatArray, actual: FloatArray) -> FloatArray:
    """Distances of probabilities, relative to those expected, or absolute over 0.01 near 0.

    >>> deviation(np.array([0.5, 0.0]), np.array([0.5 + 5e-13, 1e-14])).round(15)
    array([1.e-12, 1.e-12])
    """
    relative = np.abs(actual - expected) / np.maximum(expected, MIN_SCALE)
    return np.where(np.isfinite(actual), relative, np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class ExportedCalibrator:
    """A fitted calibrator that was read from its JSON file.

    Attributes
    ----------
    method : str
        Key of the method.
    parameters : mapping
        Parameters of the estimator.
    form : Form or RowsForm
        The fitted function.
    conversion : Conversion
        How scores become the probabilities of which the function is taken.
    classes : tuple of str or None
        Names of the classes in the order of the columns. None for one score per row.
    n_rows : int
        Number of fitted rows.
    fitted_range : tuple of float or None
        Lowest and highest fitted score. Outside of it the function extrapolates.
    base_rate : tuple of float
        Share of positive rows among the fitted rows, or of each class.
    monotone : bool
        Whether the function never falls.
    versions : mapping of str to str
        Versions of calib and of its main dependencies.
    data : mapping or None
        Name, fingerprint and number of rows of the data that were analysed.
    held_out : mapping or None
        Held-out metrics by key.
    scores, expected : ndarray
        Test scores, and their calibrated scores.
    """

    method: str
    parameters: Mapping[str, Any]
    form: Form | RowsForm
    conversion: Conversion
    classes: tuple[str, ...] | None
    n_rows: Annotated[int, 1, 2**53]
    fitted_range: tuple[Share, Share] | None
    base_rate: tuple[Share, ...]
    monotone: bool
    versions: Mapping[str, str]
    data: Mapping[str, Any] | None
    held_out: Mapping[str, float] | None
    scores: FloatArray
    expected: FloatArray

    @property
    def matrix(self) -> bool:
        """Whether the calibrator needs one score per class."""
        return self.classes is not None

    @property
    def label(self) -> str:
        """The registered label of the method; else its name."""
        method = CALIBRATORS.get(self.method)
        return method.words(matrix=self.matrix)[0] if method else self.method

    @property
    def formula(self) -> str:
        """The fitted function in a line; curves are described by their number of pieces."""
        return formula_of(self.form, len(self.classes or ()))

    @property
    def words(self) -> Json:
        """What the file says in words. It is written from the other entries, and never read."""
        return {"label": self.label, "formula": self.formula}

    def predict(self, scores: ArrayLike) -> FloatArray:
        """Calibrated probabilities, equal to those of the fitted calibrator.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, m)
            Scores before the conversion: in [0, 1] if there is none, or one column per class.

        Returns
        -------
        ndarray of the same shape
            Probabilities in [0, 1].

        Raises
        ------
        ValueError
            If a score is not allowed, or the number of columns is wrong.
        """
        given = np.asarray(scores)
        if self.classes is not None and (given.ndim != 2 or given.shape[1] != len(self.classes)):
            shape = f"({len(self.classes)} class columns)"
            raise ValueError(f"scores must be a matrix {shape}, got shape {given.shape}.")
        if self.conversion.limits == (0.0, 1.0):
            check = check_scores if self.classes is None else check_score_matrix
            return self.values(check(given, "scores"))
        values = np.asarray(given, dtype=np.float64)
        low, high = self.conversion.limits
        if values.ndim != 1 + self.matrix or not ((values >= low) & (values <= high)).all():
            raise ValueError(f"scores must be numbers from {low:g} to {high:g}.")
        return self.values(values)

    def values(self, scores: FloatArray) -> FloatArray:
        """Calibrated probabilities of scores that were checked."""
        with single_thread(), np.errstate(all="ignore"):
            if isinstance(self.form, Form):
                given = np.asarray(scores, dtype=np.float64)
                return np.asarray(self.conversion.calibrated(self.form, ON_ARRAYS, given))
            converted = self.converted(scores)
            return np.column_stack(list(self.form(ON_ARRAYS, list(converted.T))))

    def converted(self, scores: FloatArray) -> FloatArray:
        """The probabilities of which the function is taken."""
        if self.classes is None:
            return np.asarray(self.conversion(ON_ARRAYS, np.asarray(scores, dtype=np.float64)))
        columns = list(np.ascontiguousarray(scores.T, dtype=np.float64))
        return np.column_stack(list(self.conversion.of_row(ON_ARRAYS, columns)))

    def json(self) -> str:
        """The text of the file."""
        content = {"format": FORMAT, "schema": SCHEMA} | self.words
        content |= {field.name: encode(getattr(self, field.name)) for field in fields(self)}
        content["tests"] = {"scores": _hex(self.scores), "expected": _hex(self.expected)}
        del content["scores"], content["expected"]
        return canonical(content | {"sha256": seal_of(content)})


def _hex(values: FloatArray) -> list[Any]:
    if values.ndim == 2:
        return [_hex(row) for row in values]
    return [value.hex() for value in values.tolist()]


def canonical(content: Any) -> str:
    """JSON in one line, the same for the same content."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def seal_of(content: Json) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def read_document(text: str | bytes) -> ExportedCalibrator:
    """A calibrator from a JSON file; every entry is checked, its test values and its seal."""
    content = parse(text)
    if content.get("format") != FORMAT:
        raise NotExportedError(f"format must be {FORMAT!r}: this is no exported calibrator.")
    if content.get("schema") != SCHEMA:
        raise ExportError(
            f"schema must be {SCHEMA}, got {content.get('schema')!r}: another version."
        )
    reader = FormReader()
    kinds = [name for name in strict_json.entries_of(ExportedCalibrator)[0] if name not in TESTS]
    names = ("format", "schema", "sha256", "tests", "label", "formula", *kinds)
    reader.complete(names, names, content, "The file")
    entries = read_entries(reader, {name: content[name] for name in kinds})
    tests = reader.complete(TESTS, TESTS, content["tests"], "tests")
    entries |= {name: _unhex(tests[name], f"tests.{name}", entries["classes"]) for name in TESTS}
    exported = ExportedCalibrator(**entries)
    if not ((exported.expected >= 0.0).all() and (exported.expected <= 1.0).all()):
        raise ExportError("tests.expected must hold values in [0, 1].")
    try:
        values = exported.predict(exported.scores)
    except ValueError as error:
        raise ExportError(f"tests cannot be used: {error}") from None
    check_values(exported, values, "This file")
    if seal_of({k: v for k, v in content.items() if k != "sha256"}) != content["sha256"]:
        raise ExportError("The file was changed after it was written: its SHA-256 does not fit.")
    for name, words in exported.words.items():
        given = reader.read(str, content[name], name)
        # Other versions use other words, and another package can name a calibrator of its own.
        ours = exported.versions.get("calib") == __version__ and (
            name == "formula" or exported.method in CALIBRATORS
        )
        if ours and given != words:
            raise ExportError(
                f"{name} was changed: calib {__version__} writes {words!r} for these numbers, got "
                f"{short(given)}. Export the calibrator again."
            )
    return exported


def read_entries(reader: FormReader, content: Json) -> Json:
    """Entries of a calibrator from JSON, which fit each other."""
    kinds = dict(strict_json.entries_of(ExportedCalibrator)[0])
    classes = reader.read(kinds["classes"], content["classes"], "classes")
    if classes is not None and not 2 <= len(classes) <= MAX_CLASSES:
        raise ExportError("classes must be null or a list of at least 2 names.")
    kinds["form"] = Form if classes is None else RowsForm
    entries: Json = {name: reader.read(kinds[name], v, name) for name, v in content.items()}
    if classes is not None:
        check_classes(entries["form"], len(classes))
    if not METHOD_NAME.fullmatch(entries["method"]):
        raise ExportError("method must be a name of letters, digits and _.")
    versions = entries.get("versions", {})
    if not set(versions) <= PACKAGES or not all(map(VERSION.fullmatch, versions.values())):
        raise ExportError(f"versions must name versions of {', '.join(sorted(PACKAGES))} only.")
    if len(entries["base_rate"]) != (1 if classes is None else len(classes)):
        raise ExportError("base_rate must hold one share, or one for each class.")
    return entries


def check_values(exported: ExportedCalibrator, values: FloatArray, source: str) -> float:
    """The largest deviation from the expected values; one of more than 1e-12 is an error."""
    if values.shape != exported.expected.shape:
        raise ExportError(
            f"{source} must give {exported.expected.shape} values, got {values.shape}."
        )
    deviations = deviation(exported.expected, values)
    if deviations.max() > MAX_DEVIATION:
        first = tuple(np.argwhere(deviations > MAX_DEVIATION)[0])
        score = exported.scores[first[0]].tolist()
        raise ExportError(
            f"{source} gives {values[first].item()!r} at score {score!r} where the calibrator "
            f"gives {exported.expected[first].item()!r}: they differ by more than "
            f"{MAX_DEVIATION:g}."
        )
    return float(deviations.max())


def parse(text: str | bytes) -> Json:
    """A JSON object; NaN, repeated names, and depth or size without bound are refused."""
    if len(text) > MAX_BYTES:
        raise ExportError(f"The file must be at most {MAX_BYTES:,} bytes, got {len(text):,}.")
    try:
        content = strict_json.loads(text)
    except UnicodeDecodeError as error:
        raise NotExportedError("The file must be JSON in UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise NotExportedError(f"The file must be JSON: {error}.") from None
    if not isinstance(content, dict):
        raise NotExportedError(f"The file must hold a JSON object, got {type(content).__name__}.")
    return content


def _unhex(given: Any, place: str, classes: tuple[str, ...] | None) -> FloatArray:
    rows = given if classes else [given]
    try:
        values = np.array([[float.fromhex(text) for text in row] for row in rows])
    except (TypeError, ValueError, OverflowError):
        raise ExportError(f"{place} must hold hexadecimal floats.") from None
    right = values.ndim == 2 and (classes is None or values.shape[1] == len(classes))
    if not (right and values.size and np.isfinite(values).all()):
        raise ExportError(f"{place} must hold finite numbers, one list per row.")
    return values if classes else values[0]
