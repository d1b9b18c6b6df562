"""Every method that settings can name: calibrators of one score, and those of whole matrices."""

from __future__ import annotations

from calib.calibrators import CALIBRATORS
from calib.calibrators.base import Method
from calib.multiclass import MULTICLASS_CALIBRATORS, MulticlassMethod


def method_keys() -> tuple[str, ...]:
    """Keys of all methods: those of one score first, then those that need a matrix.

    Examples
    --------
    >>> sorted(method_keys()[-4:])
    ['dirichlet', 'dirichlet_l2', 'matrix', 'vector']
    """
    return (*CALIBRATORS, *(key for key in MULTICLASS_CALIBRATORS if key not in CALIBRATORS))


def method_of(key: str) -> Method | MulticlassMethod:
    """What is known of a method, by its key.

    Raises
    ------
    KeyError
        If no method has that key.

    Examples
    --------
    >>> method_of("beta").label, method_of("vector").label
    ('Beta', 'Vector scaling')
    """
    return CALIBRATORS[key] if key in CALIBRATORS else MULTICLASS_CALIBRATORS[key]
