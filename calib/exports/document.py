"""The JSON file of a fitted calibrator, from which all other formats are written.

Every entry that is read is checked before it is used: a file may come from anywhere.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import reduce
from typing import Annotated, Any, ClassVar, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from calib.calibrators import CALIBRATORS, forms
from calib.calibrators.forms import ON_ARRAYS, Form, Operations, RowsForm, Share, Within
from calib.data import strict_json
from calib.data.checks import check_score_matrix, check_scores
from calib.data.strict_json import Reader, is_written, short
from calib.distribution import __version__
from calib.exports.score_conversion import Conversion
from calib.numerics.arrays import FloatArray, single_thread
from calib.numerics.splines import Pieces

Json = dict[str, Any]
FORMS: tuple[type[Form], ...] = (
    *(forms.Identity, forms.Clipped, forms.OddsDivided, forms.SigmoidOfFeatures),
    *(forms.Piecewise, forms.BetweenTwo, forms.Drift, forms.Blend, forms.Within),
)
ROWS_FORMS: tuple[type[RowsForm], ...] = (
    *(forms.RowsIdentity, forms.RowsClipped, forms.Softmax, forms.SoftmaxAfterTemperature),
    forms.EachClass,
)
# Files name the class of a form by its kind.
CLASSES_BY_KIND: Mapping[type, Mapping[str, type]] = {
    Form: {form.kind: form for form in FORMS},
    RowsForm: {form.kind: form for form in ROWS_FORMS},
}


class ExportError(ValueError):
    """An exported calibrator is not valid. The message says what is wrong."""


class NotExportedError(ExportError):
    """The file is not one that calib exported."""


def encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [encode(entry) for entry in value]
    if isinstance(value, Mapping):
        return dict(value)
    if not is_dataclass(value):
        return value
    kind: Json = {"kind": value.kind} if isinstance(value, Form | RowsForm) else {}
    entries = {field: getattr(value, field.name) for field in fields(value)}
    written = {field: entry for field, entry in entries.items() if is_written(field, entry)}
    return kind | {field.name: encode(entry) for field, entry in written.items()}


class FormReader(Reader):
    """Reads the file of a calibrator. Its values must be in range and consistent."""

    error = ExportError

    def read(self, kind: Any, data: Any, where: str) -> Any:
        if get_origin(kind) is Annotated:
            inner, low, high = get_args(kind)
            value = self.read(inner, data, where)
            if not low <= value <= high:
                raise self.unlike(f"{self.a_number} from {low:g} to {high:g}", data, where)
            return value
        if kind in CLASSES_BY_KIND:
            data = self.plain(dict, data, where)
            name = self.choice(tuple(CLASSES_BY_KIND[kind]), data.get("kind"), f"{where}.kind")
            kind, data = CLASSES_BY_KIND[kind][name], {k: v for k, v in data.items() if k != "kind"}
        if kind is not Any:
            return super().read(kind, data, where)
        if isinstance(data, dict | list):
            raise self.unlike("a plain value", data, where)
        return data

    def array(self, kind: type[np.generic], data: Any, where: str) -> Any:
        """A list of numbers, or of lists of them that have one length."""
        numbers = super().array
        if not (isinstance(data, list) and data and isinstance(data[0], list)):
            return numbers(kind, data, where)
        rows = [numbers(kind, row, f"{where}[{i}]") for i, row in enumerate(data)]
        if len({len(row) for row in rows}) != 1 or not len(rows[0]):
            raise ExportError(f"{where} must hold lists of one length.")
        return np.array(rows)

    def record(self, kind: Any, data: Any, where: str) -> Any:
        record = super().record(kind, data, where)
        if wrong := next((words for sound, words in _rules(record) if not sound), ""):
            raise ExportError(f"{where}.{wrong}.")
        return record


def _rules(record: Any) -> list[tuple[bool, str]]:
    """Rules for the entries of a record: whether each is met, and its words if it is not."""
    if isinstance(record, forms.OddsDivided):
        return [(record.factor > 0.0, "factor must be above 0")]
    if isinstance(record, forms.Softmax | forms.SoftmaxAfterTemperature):
        return [(record.lowest > 0.0, "lowest must be above 0")]
    if isinstance(record, forms.SigmoidOfFeatures):
        alike = len(record.features) == len(record.coefficients)
        return [(alike, "features must name one feature per coefficient")]
    if isinstance(record, forms.Blend):
        alike = len(record.weights) == len(record.members) > 0
        # A file could otherwise hold a blend of blends of any depth.
        flat = not any(isinstance(member, forms.Blend) for member in record.members)
        return [
            (alike, "weights must have one number per member"),
            (flat, "members must not be blends"),
        ]
    if isinstance(record, forms.Within):
        # A file could otherwise hold forms within forms of any depth.
        return [
            (record.low <= record.high, "low must be at most high"),
            (not isinstance(record.inner, forms.Within), "inner must not be of this kind"),
        ]
    if isinstance(record, forms.Axis):
        inside = record.scale == "score" or 0.0 < record.low <= record.high < 1.0
        even = record.scale != "compact_logit" or (
            record.low < 0.5 and record.high == 1.0 - record.low
        )
        return [
            (inside, "low and high must fulfil 0 < low <= high < 1"),
            (even, "high must be 1 - low, and low below 0.5"),
        ]
    if isinstance(record, Pieces):
        flat = record.edges.ndim == 1 and not (np.diff(record.edges) < 0.0).any()
        n, powers = len(record.edges) + 1, record.coefficients.shape
        return [
            (flat, "edges must be a list that does not decrease"),
            (record.centers.shape == (n,), f"centers must be {n}, one more than edges"),
            (len(powers) == 2 and powers[0] == n, f"coefficients must be a list of {n} lists"),
            (powers[-1] <= 4, "coefficients must be at most cubic"),
        ]
    return []


def check_classes(form: RowsForm, n: int) -> None:
    """Refuse a form that is not of as many classes as the file names."""
    if isinstance(form, forms.EachClass) and len(form.classes) != n:
        raise ExportError(f"form.classes must be a list of {n} forms.")
    linear = (forms.Softmax, forms.SoftmaxAfterTemperature)
    if isinstance(form, linear) and {*form.weights.shape, *form.intercepts.shape} != {n}:
        raise ExportError(f"form.weights and form.intercepts must be of {n} classes.")


# An expression has the rank of its last operation; higher ranks bind more tightly.
CHOICE, COMPARISON, SUM, PRODUCT, ATOM = range(5)
# Entries of lists are variables too, and names in the quotes of a database.
VARIABLE = re.compile(r"""["`\[]?[A-Za-z_]\w*["`\]]?(\[\d+\])?""")
MAX_POWER = 700.0  # Beyond it e^x overflows, and e^-x becomes 0.


def _operation(sign: str, rank: int, *, swapped: bool = False) -> Callable[..., Text]:
    def write(this: Text, other: Text | float) -> Text:
        operand = other if isinstance(other, Text) else this.language.constant(other)
        left, right = (operand, this) if swapped else (this, operand)
        symbol, last = sign, right.text
        if right.rank <= rank:
            last = f"({last})"
        elif last.startswith("-") and sign in "+-":
            symbol, last = "-" if sign == "+" else "+", last[1:]
        elif last.startswith("-"):
            last = f"({last})"
        first = f"({left.text})" if left.rank < rank else left.text
        return Text(f"{first} {symbol} {last}", rank, this.language)

    return write


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """An expression of a language."""

    text: str
    rank: int
    language: Language

    __add__, __radd__ = _operation("+", SUM), _operation("+", SUM, swapped=True)
    __sub__, __rsub__ = _operation("-", SUM), _operation("-", SUM, swapped=True)
    __mul__, __rmul__ = _operation("*", PRODUCT), _operation("*", PRODUCT, swapped=True)
    __truediv__, __rtruediv__ = _operation("/", PRODUCT), _operation("/", PRODUCT, swapped=True)
    __lt__, __gt__ = _operation("<", COMPARISON), _operation(">", COMPARISON)

    def __str__(self) -> str:
        return self.text


class Language(Operations):
    """Operations on text. A subclass has the names, choices and functions of its language."""

    log_name: ClassVar[str]
    exp_name: ClassVar[str]
    greatest_name: ClassVar[str]

    def atom(self, text: str) -> Text:
        return Text(text, ATOM, self)

    def let(self, name: str, *columns: Text) -> Sequence[Text]:
        if all(VARIABLE.fullmatch(column.text) for column in columns):
            return columns
        return self.assign(name, columns)

    def assign(self, name: str, columns: Sequence[Text]) -> Sequence[Text]:
        """Give names to expressions, so that they are computed once."""
        raise NotImplementedError

    def constant(self, value: float) -> Text:
        """A whole number of a formula, such as the 1 in 1 - s, or a fitted number."""
        return self.atom(str(value) if isinstance(value, int) else self.number(value))

    def number(self, value: float) -> str:
        """A fitted number, which reads back as the same float."""
        return repr(value)

    def largest(self, columns: Sequence[Text]) -> Text:
        return self.atom(f"{self.greatest_name}({', '.join(map(str, columns))})")

    def log(self, x: Text) -> Text:
        return self.atom(f"{self.log_name}({x})")

    def logit(self, x: Text) -> Text:
        return self.log(x / (1 - x))

    def exp(self, x: Text) -> Text:
        return self.atom(f"{self.exp_name}({x})")

    def sigmoid(self, x: Text, bound: float) -> Text:
        if bound > MAX_POWER:
            (x,) = self.let("x", x)
            (x,) = self.let("x", self.clip(x, -MAX_POWER, MAX_POWER))
        negative = f"-{x}" if x.rank == ATOM else f"-({x})"
        return 1 / (1 + self.atom(f"{self.exp_name}({negative})"))


def polynomial(powers: Sequence[Text], z: Text) -> Text:
    """Horner's rule; constant term first."""
    return reduce(lambda value, power: value * z + power, reversed(powers))


class Notation(Language):
    """A formula for a person: five digits, and a name for each curve of pieces."""

    log_name, exp_name, greatest_name = "ln", "exp", "max"

    def __init__(self) -> None:
        self.curves: list[str] = []

    def let(self, name: str, *columns: Text) -> Sequence[Text]:  # noqa: ARG002
        return columns

    def number(self, value: float) -> str:
        text = f"{value:.5g}"
        return f"{value:.15g}" if text == "1" else text  # A bound such as 0.999999 is not 1.

    def clip(self, x: Text, low: float, high: float) -> Text:
        return self.atom(f"min(max({x}, {self.constant(low)}), {self.constant(high)})")

    def choose(self, condition: Text, yes: Text | float, no: Text | float) -> Text:
        first, last = (e if isinstance(e, Text) else self.constant(e) for e in (yes, no))
        return self.atom(f"({first} if {condition} else {last})")

    def logit(self, x: Text) -> Text:
        return self.atom(f"logit({x})")

    def sigmoid(self, x: Text, bound: float) -> Text:  # noqa: ARG002
        return self.atom(f"sigmoid({x})")

    def pieces(self, pieces: Pieces, x: Text) -> Text:
        n, powers = pieces.coefficients.shape
        name = f"f{len(self.curves) + 1}"
        self.curves.append(f"; {name} has {n:,} pieces of degree {powers - 1}")
        return self.atom(f"{name}({x})")


def formula_of(form: Form | RowsForm, n_classes: int) -> str:
    """The function of a form in a line. It follows from the numbers of the form alone.

    >>> from calib.calibrators.forms import SigmoidOfFeatures
    >>> formula_of(SigmoidOfFeatures(-1.0, (2.0,), ("logit s",)), 0)
    'sigmoid(2 logit(s) - 1)'
    """
    if isinstance(form, RowsForm):
        return f"{form.kind.replace('_', ' ')} of {n_classes:,} classes"
    do = Notation()
    score = do.atom("s")
    if isinstance(form, Within):
        score, form = do.clip(score, *form.ends), form.inner
    value = form.finish(do, form.of(do, score))
    return str(value).replace(" * ", " ") + "".join(do.curves)


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
