"""The JSON file of a fitted calibrator, from which all other formats are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from calib.calibrators import Calibrator, MatrixCalibrator
from calib.calibrators.forms import (
    ON_ARRAYS,
    Axis,
    Drift,
    EachClass,
    Form,
    Piecewise,
    RowsForm,
    Share,
    sum_of,
    within,
)
from calib.core import strict_json
from calib.core.checks import check_score_matrix, check_scores
from calib.exports.codec import (
    ExportError,
    FormReader,
    Json,
    NotExportedError,
    check_classes,
    encode,
)
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.splines import Pieces
from calib.numerics.threads import single_thread
from calib.numerics.transforms import MACHINE_EPSILON

ALWAYS = (0.0, 5e-324, 1e-300, 0.5, 1.0 - 2.0**-53, 1.0)
N_RANDOM, SEED = 500, 20180924
MAX_KNOTS = 20_000
MAX_NUMBERS = 200_000  # of a matrix


def scores_to_test(fitted: Calibrator) -> FloatArray:
    """Every knot and both its neighbours, the ends of the floats, and 500 random scores."""
    bends = np.unique(np.concatenate([fitted.knots(), bends_of(fitted.to_map())]))
    bends = bends[np.linspace(0, len(bends) - 1, min(len(bends), MAX_KNOTS)).astype(np.int64)]
    beside = [np.nextafter(bends, -1.0), bends, np.nextafter(bends, 2.0)]
    drawn = np.random.default_rng(SEED).random(N_RANDOM)
    scores = np.unique(np.concatenate([ALWAYS, *beside]))
    return np.concatenate([scores[(scores >= 0.0) & (scores <= 1.0)], drawn])


def bends_of(form: Form) -> FloatArray:
    """Scores at which the formula of a form changes, read from its numbers."""
    found = [MACHINE_EPSILON, 1.0 - MACHINE_EPSILON]
    for part in _parts(form):
        if isinstance(part, Pieces) and _on_scores(form, part):
            found.extend(part.edges.tolist())
        elif isinstance(part, float):
            found.append(part)
    return np.array([each for each in found if 0.0 <= each <= 1.0])


def _parts(form: Any) -> list[Any]:
    values = [getattr(form, field.name) for field in fields(form)]
    inner = [v for value in values if isinstance(value, Axis) for v in _parts(value)]
    return values + inner if is_dataclass(form) else []


def _on_scores(form: Form, pieces: Pieces) -> bool:
    if isinstance(form, Piecewise):
        return form.axis.scale == "score"
    return not (isinstance(form, Drift) and pieces is form.slope)


def rows_to_test(fitted: MatrixCalibrator) -> FloatArray:
    """Certain rows, an even one, random ones, and for a function per class its knots."""
    m = fitted.n_classes_
    n = max(20, min(N_RANDOM, MAX_NUMBERS // m))
    drawn = np.random.default_rng(SEED).dirichlet(np.full(m, 0.5), n)
    certain = np.eye(m)[: max(2, MAX_NUMBERS // m // 10)]
    return np.vstack([certain, np.full((1, m), 1.0 / m), drawn, *_at_knots(fitted.to_map(), m, n)])


def _at_knots(form: RowsForm, m: int, n: int) -> list[FloatArray]:
    if not isinstance(form, EachClass):
        return []
    rows = []
    for k, each in enumerate(form.classes):
        bends = bends_of(each)
        chosen = bends[np.linspace(0, len(bends) - 1, min(len(bends), n // m + 2)).astype(np.int64)]
        row = np.repeat(((1.0 - chosen) / (m - 1))[:, None], m, axis=1)
        row[:, k] = chosen
        rows.append(row)
    return rows


def ulps(expected: FloatArray, found: FloatArray) -> IntArray:
    """Number of floats between two non-negative numbers; a huge number for NaN.

    >>> import numpy as np
    >>> ulps(np.array([0.5, 0.5]), np.array([np.nextafter(0.5, 1.0), 0.5]))
    array([1, 0])
    """
    a, b = (np.ascontiguousarray(v, dtype=np.float64) + 0.0 for v in (expected, found))
    apart = np.abs(a.view(np.int64) - b.view(np.int64))
    return np.where(np.isfinite(b) & (b >= 0.0), apart, np.iinfo(np.int64).max)


FORMAT, SCHEMA = "calib calibrator", 1
TESTS = ("scores", "expected")
MAX_CLASSES = 10_000
MAX_BYTES = 256 * 2**20
# Every engine does the same basic operations; what is left is a power of two that is not exact.
MAX_ULPS = 2


@dataclass(frozen=True, slots=True, eq=False)
class ExportedCalibrator:
    """A fitted calibrator that was read from its JSON file.

    Attributes
    ----------
    method, label, formula : str
        Key and label of the method, and description of the fitted function.
    parameters : mapping
        Parameters of the estimator.
    form : Form or RowsForm
        The fitted function.
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
    label: str
    formula: str
    parameters: Mapping[str, Any]
    form: Form | RowsForm
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

    def predict(self, scores: ArrayLike) -> FloatArray:
        """Calibrated probabilities, equal to those of the fitted calibrator.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, m)
            Scores in [0, 1], or one column per class.

        Returns
        -------
        ndarray of the same shape
            Probabilities in [0, 1].

        Raises
        ------
        ValueError
            If a score is not allowed, or the number of columns is wrong.
        """
        if self.classes is None:
            return self._values(check_scores(scores, "scores"))
        matrix = np.asarray(scores)
        if matrix.ndim != 2 or matrix.shape[1] != len(self.classes):
            shape = f"({len(self.classes)} class columns)"
            raise ValueError(f"scores must be a matrix {shape}, got shape {matrix.shape}.")
        check_score_matrix(matrix, "scores")
        return self._values(np.asarray(matrix, dtype=np.float64))

    def _values(self, scores: FloatArray) -> FloatArray:
        with single_thread(), np.errstate(all="ignore"):
            if isinstance(self.form, Form):
                return np.asarray(within(ON_ARRAYS, self.form, scores))
            columns = list(np.ascontiguousarray(scores.T))
            total = sum_of(columns)
            return np.column_stack(self.form(ON_ARRAYS, [column / total for column in columns]))

    def json(self) -> str:
        """The text of the file."""
        content = {"format": FORMAT, "schema": SCHEMA}
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
    reader, (kinds, _) = FormReader(), strict_json.entries_of(ExportedCalibrator)
    kinds = {name: kind for name, kind in kinds.items() if name not in TESTS}
    names = ("format", "schema", "sha256", "tests", *kinds)
    reader.named(names, names, content, "The file")
    classes = reader.read(kinds["classes"], content["classes"], "classes")
    if classes is not None and not 2 <= len(classes) <= MAX_CLASSES:
        raise ExportError("classes must be null or a list of at least 2 names.")
    kinds["form"] = Form if classes is None else RowsForm
    entries: Json = {name: reader.read(kind, content[name], name) for name, kind in kinds.items()}
    if classes is not None:
        check_classes(entries["form"], len(classes))
    tests = reader.named(TESTS, TESTS, content["tests"], "tests")
    entries |= {name: _unhex(tests[name], f"tests.{name}", classes) for name in TESTS}
    made = ExportedCalibrator(**entries)
    if len(made.base_rate) != (1 if classes is None else len(classes)):
        raise ExportError("base_rate must hold one share, or one for each class.")
    try:
        found = made.predict(made.scores)
    except ValueError as error:
        raise ExportError(f"tests cannot be used: {error}") from None
    check_values(made, found, "This file")
    if seal_of({k: v for k, v in content.items() if k != "sha256"}) != content["sha256"]:
        raise ExportError("The file was changed after it was written: its SHA-256 does not fit.")
    return made


def check_values(made: ExportedCalibrator, found: FloatArray, who: str) -> int:
    """The largest difference from the test values in units in the last place; 2 are allowed."""
    if found.shape != made.expected.shape:
        raise ExportError(f"{who} must give {made.expected.shape} values, got {found.shape}.")
    apart = ulps(made.expected, found)
    if apart.max() > MAX_ULPS:
        first = tuple(np.argwhere(apart > MAX_ULPS)[0])
        score = made.scores[first[0]].tolist()
        raise ExportError(
            f"{who} gives {found[first].item()!r} at score {score!r} where the calibrator gives "
            f"{made.expected[first].item()!r}, more than {MAX_ULPS} units in the last place off."
        )
    return int(apart.max())


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
        values = np.array([[float.fromhex(each) for each in row] for row in rows])
    except (TypeError, ValueError, OverflowError):
        raise ExportError(f"{place} must hold hexadecimal floats.") from None
    right = values.ndim == 2 and (classes is None or values.shape[1] == len(classes))
    if not (right and values.size and (values >= 0.0).all() and (values <= 1.0).all()):
        raise ExportError(f"{place} must hold values in [0, 1], one list per row.")
    return values if classes else values[0]
