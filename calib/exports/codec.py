"""Forms as JSON and back. Every entry that is read is checked before it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

import numpy as np

from calib.calibrators.forms import (
    FEATURES,
    Axis,
    BetweenTwo,
    Clipped,
    Drift,
    EachClass,
    Form,
    Identity,
    Link,
    OddsDivided,
    Piecewise,
    RowsClipped,
    RowsForm,
    RowsIdentity,
    Scale,
    SigmoidOfFeatures,
    Softmax,
)
from calib.numerics.arrays import FloatArray
from calib.numerics.splines import Pieces

MAX_CLASSES, MAX_NUMBERS = 10_000, 5_000_000
Json = dict[str, Any]


class ExportError(ValueError):
    """An exported calibrator is not valid. The message says what is wrong."""


def encode(value: Any) -> Any:
    """A form, or a part of one, as JSON."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [encode(each) for each in value]
    if not isinstance(value, Form | RowsForm | Axis | Pieces):
        return value
    kind = {"kind": value.kind} if isinstance(value, Form | RowsForm) else {}
    names = value.__dataclass_fields__  # type: ignore[union-attr]
    return kind | {name: encode(getattr(value, name)) for name in names}


def decode(given: Any, n_classes: int | None) -> Form | RowsForm:
    """Read a form from JSON, of one score or of rows with this number of classes.

    Raises ExportError if an entry is missing, unknown, of another type or out of its range.
    """
    if n_classes is None:
        return _form(given, "form")
    entries, kind = _kind(given, "form", ROWS_KINDS)
    return ROWS_KINDS[kind](entries, "form", n_classes)


def _form(given: Any, place: str) -> Form:
    entries, kind = _kind(given, place, KINDS)
    return KINDS[kind](entries, place)


def _kind(given: Any, place: str, known: Mapping[str, Any]) -> tuple[Json, str]:
    if not isinstance(given, dict) or given.get("kind") not in [*known]:
        kind = given.get("kind") if isinstance(given, dict) else given
        raise ExportError(f"{place}.kind must be one of {', '.join(known)}, got {_short(kind)}.")
    return {name: value for name, value in given.items() if name != "kind"}, given["kind"]


def names_are(given: Any, names: tuple[str, ...], place: str) -> Json:
    """The object, which has exactly these entries."""
    if not isinstance(given, dict) or set(given) != set(names):
        found = sorted(given) if isinstance(given, dict) else given
        named = ", ".join(names) or "nothing more"
        raise ExportError(f"{place} must hold {named}, got {_short(found)}.")
    return given


def number(given: Any, place: str, low: float = -np.inf, high: float = np.inf) -> float:
    """A finite number within bounds."""
    plain = isinstance(given, int | float) and not isinstance(given, bool)
    if not (plain and np.isfinite(given) and low <= given <= high):
        within = f" from {low:g} to {high:g}" if np.isfinite(low) else ""
        raise ExportError(f"{place} must be a finite number{within}, got {_short(given)}.")
    return float(given)


def choice(given: Any, place: str, known: tuple[Any, ...]) -> Any:
    """One of the known words."""
    if given not in known:
        raise ExportError(f"{place} must be one of {', '.join(known)}, got {_short(given)}.")
    return given


def _numbers(given: Any, place: str) -> FloatArray:
    flat = isinstance(given, list) and len(given) <= MAX_NUMBERS
    if not flat or not all(type(value) in (int, float) for value in given):
        raise ExportError(f"{place} must be a list of numbers, got {_short(given)}.")
    values = np.array(given, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ExportError(f"{place} must hold finite numbers only.")
    return values


def _table(given: Any, place: str, n_rows: int) -> FloatArray:
    if not isinstance(given, list) or len(given) != n_rows:
        raise ExportError(f"{place} must be a list of {n_rows} lists, got {_short(given)}.")
    rows = [_numbers(row, f"{place}[{i}]") for i, row in enumerate(given)]
    if len({len(row) for row in rows}) != 1 or not len(rows[0]):
        raise ExportError(f"{place} must hold lists of one length.")
    return np.array(rows)


def _pieces(given: Any, place: str) -> Pieces:
    entries = names_are(given, ("edges", "closed", "centers", "coefficients"), place)
    edges = _numbers(entries["edges"], f"{place}.edges")
    if (np.diff(edges) < 0.0).any():
        raise ExportError(f"{place}.edges must not decrease.")
    centers = _numbers(entries["centers"], f"{place}.centers")
    if len(centers) != len(edges) + 1:
        raise ExportError(f"{place}.centers must be one more than edges, got {len(centers)}.")
    closed = choice(entries["closed"], f"{place}.closed", ("left", "right"))
    table = _table(entries["coefficients"], f"{place}.coefficients", len(centers))
    if table.shape[1] > 4:
        raise ExportError(f"{place}.coefficients must be at most cubic, got {table.shape[1]}.")
    return Pieces(edges, closed, centers, table)


def _share(given: Any, place: str) -> float:
    return number(given, place, 0.0, 1.0)


def _factor(given: Any, place: str) -> float:
    factor = number(given, place, 0.0)
    if factor == 0.0:
        raise ExportError(f"{place} must be above 0, got 0.")
    return factor


def _axis(given: Any, place: str) -> Axis:
    entries = names_are(given, ("scale", "low", "high"), place)
    scale = choice(entries["scale"], f"{place}.scale", get_args(Scale))
    low, high = (_share(entries[n], f"{place}.{n}") for n in ("low", "high"))
    if scale != "score" and not 0.0 < low <= high < 1.0:
        raise ExportError(f"{place} must fulfil 0 < low <= high < 1, got {low} and {high}.")
    if scale == "compact_logit" and not (low < 0.5 and high == 1.0 - low):
        raise ExportError(f"{place}.high must be 1 - low, and low below 0.5, got {low} and {high}.")
    return Axis(scale, low, high)


def _link(given: Any, place: str) -> Any:
    return choice(given, place, get_args(Link))


def _by_field(
    kind: Callable[..., Any], **readers: Callable[[Any, str], Any]
) -> Callable[[Json, str], Any]:
    """Reads a form whose fields do not depend on each other."""

    def read(entries: Json, place: str) -> Any:
        names_are(entries, tuple(readers), place)
        return kind(**{name: of(entries[name], f"{place}.{name}") for name, of in readers.items()})

    return read


def _sigmoid(entries: Json, place: str) -> Form:
    names_are(entries, ("intercept", "coefficients", "features"), place)
    coefficients = _numbers(entries["coefficients"], f"{place}.coefficients")
    features = entries["features"]
    if not isinstance(features, list) or len(features) != len(coefficients):
        raise ExportError(f"{place}.features must name one feature per coefficient.")
    for name in features:
        choice(name, f"{place}.features", FEATURES)
    intercept = number(entries["intercept"], f"{place}.intercept")
    return SigmoidOfFeatures(intercept, tuple(coefficients.tolist()), tuple(features))


def _softmax(entries: Json, place: str, n_classes: int) -> RowsForm:
    names_are(entries, ("weights", "intercepts"), place)
    intercepts = _numbers(entries["intercepts"], f"{place}.intercepts")
    given = entries["weights"]
    if isinstance(given, list) and given and isinstance(given[0], list):
        weights = _table(given, f"{place}.weights", n_classes)
    else:
        weights = _numbers(given, f"{place}.weights")
    if len(intercepts) != n_classes or set(weights.shape) != {n_classes}:
        raise ExportError(f"{place}.weights and {place}.intercepts must be of {n_classes} classes.")
    return Softmax(weights, intercepts)


def _each_class(entries: Json, place: str, n_classes: int) -> RowsForm:
    names_are(entries, ("classes",), place)
    classes = entries["classes"]
    if not isinstance(classes, list) or len(classes) != n_classes:
        raise ExportError(f"{place}.classes must be a list of {n_classes} forms.")
    return EachClass(tuple(_form(each, f"{place}.classes[{k}]") for k, each in enumerate(classes)))


KINDS: Mapping[str, Callable[[Json, str], Form]] = {
    Identity.kind: _by_field(Identity),
    Clipped.kind: _by_field(Clipped, low=_share, high=_share),
    OddsDivided.kind: _by_field(OddsDivided, factor=_factor),
    SigmoidOfFeatures.kind: _sigmoid,
    Piecewise.kind: _by_field(Piecewise, axis=_axis, pieces=_pieces, link=_link),
    BetweenTwo.kind: _by_field(BetweenTwo, lower=_pieces, upper=_pieces),
    Drift.kind: _by_field(Drift, place=_pieces, slope=_pieces, low=_share, high=_share),
}
ROWS_KINDS: Mapping[str, Callable[[Json, str, int], RowsForm]] = {
    RowsIdentity.kind: lambda given, place, _: _by_field(RowsIdentity)(given, place),
    RowsClipped.kind: lambda given, place, _: _by_field(RowsClipped, low=_share, high=_share)(
        given, place
    ),
    Softmax.kind: _softmax,
    EachClass.kind: _each_class,
}


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
