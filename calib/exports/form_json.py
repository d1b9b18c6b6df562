"""Exported calibrators as JSON and back, by the type hints of their dataclasses.

Every entry that is read is checked before it is used: a file may come from anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin

import numpy as np

from calib.calibrators import forms
from calib.calibrators.forms import Form, RowsForm
from calib.data.strict_json import Reader, is_written
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
KINDS: Mapping[type, Mapping[str, type]] = {
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
        if kind in KINDS:
            data = self.plain(dict, data, where)
            name = self.choice(tuple(KINDS[kind]), data.get("kind"), f"{where}.kind")
            kind, data = KINDS[kind][name], {k: v for k, v in data.items() if k != "kind"}
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
