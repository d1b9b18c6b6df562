"""Polynomials by pieces (steps, lines, cubics), evaluated alike by predictions and exports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline, PPoly

from calib.numerics.arrays import FloatArray, Locked


@dataclass(frozen=True, slots=True, eq=False)
class Pieces(Locked):
    """Piece i is sum over d of coefficients[i, d] (x - centers[i])^d, by Horner's rule.

    Attributes
    ----------
    edges : ndarray of shape (k,)
        Not decreasing: where one piece ends and the next begins.
    closed : {"left", "right"}
        Whether an edge belongs to the piece that begins there ("left") or that ends there.
    centers : ndarray of shape (k + 1,)
    coefficients : ndarray of shape (k + 1, d + 1)
        Constant terms first.
    """

    edges: FloatArray
    closed: Literal["left", "right"]
    centers: FloatArray
    coefficients: FloatArray

    def __call__(self, x: FloatArray) -> FloatArray:
        """The values at x, an array of any length."""
        piece = np.searchsorted(self.edges, x, side="right" if self.closed == "left" else "left")
        value: FloatArray = self.coefficients[piece, -1]
        if self.coefficients.shape[1] > 1:
            z = x - self.centers[piece]
            for d in range(self.coefficients.shape[1] - 2, -1, -1):
                value = value * z + self.coefficients[piece, d]
        return value


def steps(edges: ArrayLike, values: ArrayLike, closed: Literal["left", "right"]) -> Pieces:
    """A constant on each piece.

    Examples
    --------
    >>> import numpy as np
    >>> steps([0.5], [1.0, 2.0], "right")(np.array([0.5, 0.6]))
    array([1., 2.])
    """
    constants = np.array(values, dtype=np.float64)[:, None]
    return Pieces(np.array(edges, dtype=np.float64), closed, np.zeros(len(constants)), constants)


def lines(knots: FloatArray, values: FloatArray) -> Pieces:
    """Straight lines between knots and constants beyond them: the very numbers of ``np.interp``.

    Examples
    --------
    >>> import numpy as np
    >>> lines(np.array([0.0, 1.0]), np.array([1.0, 3.0]))(np.array([-1.0, 0.5, 2.0]))
    array([1., 2., 3.])
    """
    with np.errstate(over="ignore"):
        slope = np.diff(values) / np.diff(knots)
    # Knots that are neighbours among the smallest floats have no score between them.
    slopes = np.concatenate([[0.0], np.where(np.isfinite(slope), slope, 0.0), [0.0]])
    constants = np.concatenate([values[:1], values])
    centers = np.concatenate([knots[:1], knots])
    return Pieces(np.array(knots), "left", centers, np.column_stack([constants, slopes]))


def of_polynomials(edges: FloatArray, coefficients: FloatArray) -> Pieces:
    """Pieces of SciPy's ``PPoly``: all edges, both ends included, and coefficients, highest first.

    The first and the last piece go on beyond the ends.
    """
    return Pieces(
        np.array(edges[1:-1]), "left", np.array(edges[:-1]), np.array(coefficients[::-1].T)
    )


def of_bspline(spline: BSpline) -> Pieces:
    """The same curve in powers, from its first knot to its last.

    Examples
    --------
    >>> import numpy as np
    >>> curve = BSpline(np.array([0, 0, 1, 1.0]), np.array([1.0, 3.0]), 1)
    >>> of_bspline(curve)(np.array([0.0, 0.5, 1.0]))
    array([1., 2., 3.])
    """
    powers, inner = PPoly.from_spline(spline), slice(spline.k, -spline.k)
    return of_polynomials(powers.x[inner], powers.c[:, inner])


def constant_beyond(pieces: Pieces, low: float, high: float) -> Pieces:
    """The same within [low, high], and beyond what it is at that end."""
    ends = pieces(np.array([low, high]))
    table = np.zeros((len(pieces.centers) + 2, pieces.coefficients.shape[1]))
    table[1:-1], table[[0, -1], 0] = pieces.coefficients, ends
    edges = np.concatenate([[low], pieces.edges, [high]])
    return Pieces(edges, pieces.closed, np.concatenate([[low], pieces.centers, [high]]), table)
