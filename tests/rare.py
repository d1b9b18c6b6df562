"""Tests that only `make test-all` runs, because `make test` protects the same with less time."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

rare = pytest.mark.rare
# `make test` tries these members of the registries: a calibrator with parameters, one of steps and
# a spline, a calibrator of matrices, and a metric of each kind. The tests of each calibrator and
# metric itself try its published values.
REPRESENTATIVES = {
    *("beta", "isotonic", "spline", "vector"),
    *("log_loss", "expected_calibration_error", "ks_error", "multiclass_log_loss"),
}


def common_first(values: Iterable[Any], common: Collection[Any]) -> list[Any]:
    """All values as parameters of a test, those outside of `common` marked as rare."""
    return [
        value if value in common else pytest.param(*_each(value), marks=rare) for value in values
    ]


def members(keys: Iterable[str]) -> list[Any]:
    """The keys of a registry as parameters, marked as rare except the representatives."""
    return common_first(keys, REPRESENTATIVES)


def _each(value: Any) -> tuple[Any, ...]:
    """The values of several arguments, or of one."""
    return value if isinstance(value, tuple) else (value,)
