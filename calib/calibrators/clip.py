"""Clipping: scores are limited to [p_min, 1 - p_min]."""

from __future__ import annotations

import numpy as np

from calib.calibrators.base import Calibrator, MatrixCalibrator
from calib.calibrators.forms import Clipped, RowsClipped
from calib.calibrators.registry import register, register_matrix
from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray, IntArray, row_blocks
from calib.numerics.transforms import clip_certain

CANDIDATES = (1e-2, 1e-3, 1e-4, 1e-5)


@register(
    "clip",
    "Clip",
    simplicity=5,
    summary="Assumes that only scores close to 0 or 1 are wrong, because they are too extreme.",
    source="Lucena 2018, arXiv:1809.07751",
    aliases="clipping, winsorizing",
)
class Clip(Calibrator):
    """Clipping of scores: min(max(s, p_min), 1 - p_min).

    Parameters
    ----------
    p_min : float or None, default None
        Bound in (0, 0.5). None: the one of 1e-2, 1e-3, 1e-4, 1e-5 with the lowest log loss on the
        fitted rows (the smallest of equally good ones).

    Attributes
    ----------
    p_min_ : float
        Bound in use.

    References
    ----------
    Lucena 2018, "Spline-based probability calibration", arXiv:1809.07751.

    Examples
    --------
    >>> fitted = Clip().fit([0.0, 0.2, 0.7, 1.0], [0, 0, 1, 0])
    >>> fitted.predict([0.0, 0.5, 1.0])
    array([0.01, 0.5 , 0.99])
    """

    def __init__(self, p_min: float | None = None) -> None:
        self.p_min = p_min

    def _fit(self, cells: ScoreCells) -> None:
        if self.p_min is None:
            self.p_min_ = min(reversed(CANDIDATES), key=lambda p_min: _log_loss(cells, p_min))
        elif 0.0 < self.p_min < 0.5:
            self.p_min_ = float(self.p_min)
        else:
            raise ValueError(f"p_min must fulfil 0 < p_min < 0.5, got {self.p_min}.")

    def to_map(self) -> Clipped:
        return Clipped(self.p_min_, 1.0 - self.p_min_)

    def n_parameters(self) -> float:
        return int(self.p_min is None)

    def formula(self) -> str:
        return f"min(max(s, {self.p_min_:g}), 1 - {self.p_min_:g})"

    def knots(self) -> FloatArray:
        """Both bounds."""
        return np.array([self.p_min_, 1.0 - self.p_min_])


def _log_loss(cells: ScoreCells, p_min: float) -> float:
    p = clip_certain(np.clip(cells.score, p_min, 1.0 - p_min))
    return -float(cells.positive @ np.log(p) + cells.negative @ np.log1p(-p))


@register_matrix("clip")
class MatrixClip(MatrixCalibrator):
    """Clipping of a score matrix: min(max(P, p_min), 1 - p_min), divided by the sum of the row.

    Parameters
    ----------
    p_min : float or None, default None
        Bound in (0, 1/m) for m classes, so that the predicted class does not change. None: the one
        of 1e-2, 1e-3, 1e-4, 1e-5 with the lowest log loss on the fitted rows (the smallest of
        equally good ones).

    Attributes
    ----------
    p_min_ : float
        Bound in use.

    References
    ----------
    Lucena 2018, "Spline-based probability calibration", arXiv:1809.07751.

    Examples
    --------
    >>> fitted = MatrixClip().fit([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] * 50, [0, 2] * 50)
    >>> fitted.predict([[1.0, 0.0, 0.0]]).round(4)
    array([[0.9802, 0.0099, 0.0099]])
    """

    keeps_accuracy = True
    needs_two_classes = False

    def __init__(self, p_min: float | None = None) -> None:
        self.p_min = p_min

    def _fit(self, scores: FloatArray, label: IntArray, weight: FloatArray | None) -> None:
        most = 1.0 / scores.shape[1]
        if self.p_min is None:
            candidates = [p_min for p_min in reversed(CANDIDATES) if p_min < most]
            losses = [_log_loss_of_rows(scores, label, weight, p_min) for p_min in candidates]
            self.p_min_ = candidates[int(np.argmin(losses))]
        elif 0.0 < self.p_min < most:
            self.p_min_ = float(self.p_min)
        else:
            raise ValueError(
                f"p_min must fulfil 0 < p_min < {most:.4g} with {scores.shape[1]} classes, "
                f"got {self.p_min}."
            )

    def _map(self, scores: FloatArray) -> FloatArray:
        return _clipped_rows(scores, self.p_min_)

    def to_map(self) -> RowsClipped:
        return RowsClipped(self.p_min_, 1.0 - self.p_min_)

    def formula(self) -> str:
        return f"min(max(P, {self.p_min_:g}), 1 - {self.p_min_:g}), divided by the row's sum"


def _clipped_rows(scores: FloatArray, p_min: float) -> FloatArray:
    clipped = np.clip(scores, p_min, 1.0 - p_min)
    clipped /= clipped.sum(axis=1, keepdims=True)
    return clipped


def _log_loss_of_rows(
    scores: FloatArray, label: IntArray, weight: FloatArray | None, p_min: float
) -> float:
    total = 0.0
    for part in row_blocks(*scores.shape):
        p = _clipped_rows(scores[part], p_min)
        loss = -np.log(p[np.arange(len(p)), label[part]])
        total += float(loss.sum() if weight is None else weight[part] @ loss)
    return total
