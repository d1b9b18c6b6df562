"""Combinations that only `make test-all` tries: `make test` holds the same property on others."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

rare = pytest.mark.rare


def common_first(values: Iterable[Any], common: Collection[Any]) -> list[Any]:
    """All values as parameters of a test, those outside of `common` marked as rare."""
    return [
        value if value in common else pytest.param(*_each(value), marks=rare) for value in values
    ]


def _each(value: Any) -> tuple[Any, ...]:
    """The values of several arguments, or of one."""
    return value if isinstance(value, tuple) else (value,)
