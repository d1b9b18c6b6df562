"""The registry of calibrators, for one score per row and for score matrices."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sklearn.base import clone

from calib.calibrators.base import Calibrator, MatrixCalibrator
from calib.data.registry import Registry
from calib.text import without_scale

Result = TypeVar("Result")
Made = TypeVar("Made", bound=Callable[..., Calibrator | MatrixCalibrator])


@dataclass(frozen=True, slots=True)
class Method:
    """One entry of the registry.

    `key` is the name in code, and `label` the name on the pages. It says in brackets on which scale
    the method works, "(on scores)", if another method has a similar name. `aliases` are other names
    in the field, for the search on the Learn page. `summary` is a sentence about the assumptions.

    Smaller values of `simplicity` are simpler. Of equally simple methods the one with the lower
    loss is recommended. `weighs_evidence` says whether the fit depends on how many rows there are,
    so that three rows tell more than one row of weight 3.

    `create` makes the unfitted calibrator of one score per row; without it, the method calibrates
    only matrices. `create_matrix` makes that of a matrix; without it, a matrix is calibrated
    one-vs-rest. `matrix_label` and `matrix_summary` replace label and summary for matrices.
    """

    key: str
    label: str
    simplicity: int
    summary: str
    source: str
    aliases: str = ""
    weighs_evidence: bool = False
    create: Callable[..., Calibrator] | None = None
    create_matrix: Callable[..., MatrixCalibrator] | None = None
    matrix_label: str = ""
    matrix_summary: str = ""

    @property
    def short_label(self) -> str:
        """The label in running sentences, and where there is no room for the scale.

        >>> from calib.calibrators import CALIBRATORS
        >>> CALIBRATORS["platt"].label, CALIBRATORS["platt"].short_label
        ('Platt scaling (on scores)', 'Platt scaling')
        """
        return without_scale(self.label)

    def takes(self, parameter: str) -> bool:
        """Whether the calibrator of one score per row has a parameter of this name."""
        return self.create is not None and parameter in self.create().get_params()

    def words(self, *, matrix: bool) -> tuple[str, str]:
        """Label and summary, for one score per row or for a matrix.

        Examples
        --------
        >>> from calib.calibrators import CALIBRATORS
        >>> CALIBRATORS["beta"].words(matrix=True)[0], CALIBRATORS["clip"].words(matrix=True)[0]
        ('Beta, one-vs-rest', 'Clip')
        """
        if not matrix:
            return self.label, self.summary
        if self.create_matrix is not None:
            return self.matrix_label or self.label, self.matrix_summary or self.summary
        return (
            f"{self.label}, one-vs-rest",
            f"{self.summary} Fitted to each class against the rest.",
        )


CALIBRATORS: Registry[Method] = Registry(
    "calibrator", "calib.calibrators", order=lambda method: (method.simplicity, method.key)
)


def register(key: str, label: str, **declared: Any) -> Callable[[Made], Made]:
    """Register a calibrator of one score per row, or of matrices, under a key.

    `declared` are attributes of `Method`. If a method has both forms, `register_matrix` adds the
    form for matrices.
    """

    def add(made: Made) -> Made:
        # A function that is not a class makes a calibrator of matrices with other defaults.
        of_scores = isinstance(made, type) and issubclass(made, Calibrator)
        made_by: Any = {"create" if of_scores else "create_matrix": made}
        CALIBRATORS.add(key, Method(key, label, **declared, **made_by))
        return made

    return add


def register_matrix(key: str, label: str = "", summary: str = "") -> Callable[[Made], Made]:
    """Register the matrix form of a method that is already registered for scores.

    Default of label and summary: those of the method.
    """

    def add(made: Made) -> Made:
        CALIBRATORS.change(key, create_matrix=made, matrix_label=label, matrix_summary=summary)
        return made

    return add


def score_methods() -> dict[str, Method]:
    """The methods that calibrate one score per row, by key.

    >>> "isotonic" in score_methods(), "vector" in score_methods()
    (True, False)
    """
    return {key: method for key, method in CALIBRATORS.items() if method.create is not None}


def calibrator(key: str, **parameters: Any) -> Calibrator:
    """Make an unfitted calibrator of one score per row.

    Parameters
    ----------
    key : str
        Key of the method in `calib.calibrators.CALIBRATORS`.
    **parameters
        Parameters of the calibrator.

    Raises
    ------
    KeyError
        If no calibrator has that key.
    TypeError
        If the calibrator does not have one of the parameters.
    ValueError
        If the method calibrates only matrices.

    >>> calibrator("platt").fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]).predict([0.5]).round(3)
    array([0.5])
    """
    method = CALIBRATORS[key]
    if method.create is None:
        raise ValueError(
            f"{method.label} calibrates a matrix of one score per class, got one score per "
            f"row. Use multiclass_calibrator({key!r}) for a matrix."
        )
    return made(key, method.create, parameters)


def made(key: str, create: Callable[..., Result], parameters: Mapping[str, Any]) -> Result:
    """Make a calibrator. A parameter that it does not have is refused, with those that it has."""
    names = list(inspect.signature(create).parameters)
    if unknown := [name for name in parameters if name not in names]:
        parts = f"It has {', '.join(names)}." if names else "It has none."
        raise TypeError(f"{key} has no parameter {unknown[0]!r}. {parts}")
    return create(**parameters)


def unfitted(method: str | Calibrator) -> Calibrator:
    """The calibrator of a key, or a copy of one that is given with its parameters."""
    if isinstance(method, str):
        return calibrator(method)
    if not isinstance(method, Calibrator):
        raise TypeError(
            "method must be the key of a calibrator or a calibrator of one score per row, got "
            f"{method!r}."
        )
    return clone(method)
