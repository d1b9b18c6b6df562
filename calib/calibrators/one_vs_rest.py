"""Calibrators of matrices by key: a multiclass method, or a binary method for each class."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.calibrators.base import Calibrator, MatrixCalibrator
from calib.calibrators.forms import EachClass, Identity
from calib.calibrators.registry import CALIBRATORS, made, unfitted
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.class_scores import divide_by_sum


class OneVsRest(MatrixCalibrator):
    """One-vs-rest calibration: a binary calibrator for each class (Lucena 2018, Algorithm 3).

    Each calibrated row is divided by its sum. If that sum is 0, the row keeps its uncalibrated
    scores. The scores of a class without rows are not calibrated before the division.

    Parameters
    ----------
    method : str or Calibrator
        Key of a binary calibrator, or an unfitted calibrator with its parameters.

    Attributes
    ----------
    calibrators_ : list of (Calibrator or None), length m
        The fitted calibrator of each class, or None for a class without rows.

    References
    ----------
    Lucena 2018, "Spline-based probability calibration", Algorithm 3, arXiv:1809.07751.
    Zadrozny, Elkan 2002, "Transforming classifier scores into accurate multiclass probability
    estimates", doi:10.1145/775047.775151.

    Examples
    --------
    >>> scores = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]] * 20
    >>> fitted = OneVsRest("isotonic").fit(scores, [0, 1, 2, 0, 1, 1] * 10)
    >>> fitted.predict([[0.1, 0.1, 0.8]]).round(3)
    array([[0.03 , 0.323, 0.647]])
    """

    def __init__(self, method: str | Calibrator = "isotonic") -> None:
        self.method = method

    def _fit_rows(
        self,
        scores: FloatArray,
        label: IntArray,
        weight: FloatArray | None,
        groups: ArrayLike | None,
    ) -> None:
        self.calibrators_: list[Calibrator | None] = []
        for k in range(scores.shape[1]):
            if k in self.unseen_:
                self.calibrators_.append(None)
                continue
            column = np.ascontiguousarray(scores[:, k])
            # The calibrator of a class counts the evidence of its own rows.
            self.calibrators_.append(unfitted(self.method).fit(column, label == k, weight, groups))

    def _map(self, scores: FloatArray) -> FloatArray:
        calibrated = np.empty_like(scores)
        for k, fitted in enumerate(self.calibrators_):
            column = np.ascontiguousarray(scores[:, k])
            calibrated[:, k] = column if fitted is None else fitted.predict(column)
        return divide_by_sum(calibrated, scores)

    def to_map(self) -> EachClass:
        return EachClass(tuple(Identity() if f is None else f.to_map() for f in self.calibrators_))

    def formula(self) -> str:
        first = next(fitted for fitted in self.calibrators_ if fitted is not None)
        return (
            f"one for each of {self.n_classes_} classes against the rest, then rows divided by "
            f"their sum; the first is {first.formula()}"
        )


def multiclass_calibrator(key: str, **parameters: Any) -> MatrixCalibrator:
    """Make an unfitted calibrator of score matrices.

    Parameters
    ----------
    key : str
        Key of the method in `calib.calibrators.CALIBRATORS`. A binary method is fitted one-vs-rest.
    **parameters
        Parameters of the calibrator.

    Raises
    ------
    KeyError
        If no calibrator has that key.
    TypeError
        If the calibrator does not have one of the parameters.

    Examples
    --------
    >>> scores, y = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.8, 0.1, 0.1]], [0, 1, 2]
    >>> multiclass_calibrator("temperature").fit(scores, y).predict([[0.8, 0.1, 0.1]]).round(3)
    array([[0.667, 0.167, 0.167]])
    """
    create = CALIBRATORS[key].create_matrix
    return made(key, partial(OneVsRest, key) if create is None else create, parameters)
